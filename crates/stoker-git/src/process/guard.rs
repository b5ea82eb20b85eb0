//! Watches a child and ends its process group.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

/// Waits up to `within` for the child to exit, without reaping it.
pub(crate) fn exited(child: &Child, within: Duration) -> io::Result<bool> {
    let pidfd = pidfd_open(pid_of(child), PidfdFlags::empty())?;
    let mut watched = [PollFd::new(&pidfd, PollFlags::IN)];
    let timeout = Timespec::try_from(within).map_err(io::Error::other)?;
    match poll(&mut watched, Some(&timeout)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Ends the child and everything in its group, and returns the child's status.
///
/// The group is signalled before the child is reaped: until then its number can't be reused. Git
/// removes its temporary files on SIGTERM, so that comes first while the child lives.
pub(crate) fn end_group(child: &mut Child, grace: Duration) -> io::Result<ExitStatus> {
    let group = pid_of(child);
    let deadline = Instant::now() + grace;
    if !exited(child, Duration::ZERO)? {
        signal(group, Signal::TERM)?;
        while Instant::now() < deadline && !exited(child, Duration::from_millis(20))? {}
    }
    signal(group, Signal::KILL)?;
    child.wait()
}

fn signal(group: Pid, signal: Signal) -> io::Result<()> {
    match kill_process_group(group, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// A child that a second thread watches; the handle stays valid even if the child is reaped.
#[derive(Debug)]
pub(crate) struct Watched(OwnedFd);

impl Watched {
    pub(crate) fn of(child: &Child) -> io::Result<Self> {
        Ok(Self(pidfd_open(pid_of(child), PidfdFlags::empty())?))
    }

    /// Waits for the child's exit, and kills it once `is_over` returns true.
    pub(crate) fn end_when(self, is_over: &dyn Fn() -> bool) {
        while !is_over() {
            let mut watched = [PollFd::new(&self.0, PollFlags::IN)];
            let tick = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            if !matches!(poll(&mut watched, Some(&tick)), Ok(0) | Err(rustix::io::Errno::INTR)) {
                return;
            }
        }
        // It may have ended by itself in the meantime.
        pidfd_send_signal(&self.0, Signal::KILL).unwrap_or_default();
    }
}
