//! Requests from tests to the node: kill a component, start it again, suspend it, resume it.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::cluster::Components;

/// The socket's name in the cluster's directory.
const SOCKET: &str = "control.sock";

/// What a test may ask of a node, by component name.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// SIGKILL, as an out-of-memory killer would.
    Kill(String),
    /// Start it as it was started first.
    Start(String),
    /// SIGSTOP: it keeps its connections and does not respond.
    Suspend(String),
    /// SIGCONT, after that.
    Resume(String),
}

impl Request {
    /// Sends the request and waits until it was carried out.
    pub(crate) fn send(&self, directory: &Path) -> io::Result<()> {
        let stream = UnixStream::connect(directory.join(SOCKET))?;
        writeln!(&stream, "{}", serde_json::to_string(self)?)?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        match answer.trim() {
            "done" => Ok(()),
            problem => Err(io::Error::other(problem.to_owned())),
        }
    }
}

/// Serves requests for ever. As first process of its namespace it is also the one that orphans fall
/// to: containers' leftovers are reaped here.
pub(super) fn serve(directory: &Path, mut components: Components) -> anyhow::Result<()> {
    let listener = UnixListener::bind(directory.join(SOCKET))?;
    thread::spawn(|| {
        loop {
            if rustix::process::wait(rustix::process::WaitOptions::empty()).is_err() {
                thread::sleep(std::time::Duration::from_millis(100)); // no child at the moment
            }
        }
    });
    // On this thread, because a component lives only as long as the thread that started it.
    for stream in listener.incoming() {
        answer(&stream?, &mut components).ok();
    }
    Ok(())
}

fn answer(stream: &UnixStream, components: &mut Components) -> io::Result<()> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let result = match serde_json::from_str::<Request>(&line)? {
        Request::Kill(name) => components.kill(&name),
        Request::Start(name) => components.start_again(&name),
        Request::Suspend(name) => components.signal(&name, Signal::STOP),
        Request::Resume(name) => components.signal(&name, Signal::CONT),
    };
    let mut stream = stream;
    match result {
        Ok(()) => writeln!(stream, "done"),
        Err(error) => writeln!(stream, "{}", crate::chain(&error).replace('\n', " ")),
    }
}
