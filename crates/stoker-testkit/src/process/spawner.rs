//! The one thread that spawns, because a parent-death signal fires when its *thread* ends.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{OnceLock, mpsc};
use std::thread;

struct Job {
    command: Command,
    reply: mpsc::Sender<io::Result<Child>>,
}

/// Spawns from the thread that lives as long as the process.
pub(super) fn spawn(mut command: Command) -> io::Result<Child> {
    command.process_group(0);
    let (reply, answer) = mpsc::channel();
    jobs().send(Job { command, reply }).map_err(|_| thread_is_gone())?;
    answer.recv().map_err(|_| thread_is_gone())?
}

fn jobs() -> &'static mpsc::Sender<Job> {
    static JOBS: OnceLock<mpsc::Sender<Job>> = OnceLock::new();
    JOBS.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        let run = move || {
            for mut job in jobs {
                // Whoever asked may have stopped waiting; then the child has no owner and must go.
                if let Err(mpsc::SendError(Ok(mut orphan))) = job.reply.send(job.command.spawn()) {
                    orphan.kill().and_then(|()| orphan.wait()).ok();
                }
            }
        };
        // A failure to start the thread drops the receiver, and every send then says so.
        thread::Builder::new().name("spawner".into()).spawn(run).ok();
        sender
    })
}

fn thread_is_gone() -> io::Error {
    io::Error::other("the spawner thread does not run")
}
