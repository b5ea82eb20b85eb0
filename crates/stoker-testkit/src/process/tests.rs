use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use super::*;

fn shell(script: &str) -> Guarded {
    let mut command = command("sh").unwrap();
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
    Guarded::spawn(command).unwrap()
}

fn first_line(guarded: &mut Guarded) -> (String, BufReader<ChildStdout>) {
    let mut reader = BufReader::new(guarded.take_stdout().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    (line, reader)
}

/// Says whether everybody who could write into the pipe is gone, soon.
fn is_abandoned(pipe: &mut BufReader<ChildStdout>) -> bool {
    let soon = Timespec { tv_sec: 10, tv_nsec: 0 };
    let mut closed = [PollFd::new(pipe.get_ref(), PollFlags::HUP)];
    poll(&mut closed, Some(&soon)).unwrap() == 1 && pipe.read(&mut [0]).unwrap() == 0
}

#[test]
fn output_and_exit_code_are_those_of_the_program() {
    let mut guarded = shell("echo hello; exit 7");
    let (line, _) = first_line(&mut guarded);
    assert_eq!((line.as_str(), guarded.wait().unwrap().code()), ("hello\n", Some(7)));
}

#[test]
fn a_child_survives_the_thread_that_asked_for_it() {
    let mut guarded = std::thread::spawn(|| shell("read line; echo unreachable; sleep 1000"))
        .join()
        .unwrap_or_else(|_| panic!("the thread ended well"));
    // The shell reads end-of-file at once and goes on to say so: it was not killed with the thread.
    assert_eq!(first_line(&mut guarded).0, "unreachable\n");
    assert_eq!(guarded.try_wait().unwrap(), None);
}

#[test]
fn kill_ends_grandchildren_that_left_the_process_group() {
    let mut guarded = shell("setsid sh -c 'echo started; exec sleep 1000' & wait");
    // The grandchild holds the pipe too.
    let (_, mut pipe) = first_line(&mut guarded);
    guarded.kill().unwrap();
    assert!(is_abandoned(&mut pipe));
}

#[test]
fn drop_kills() {
    let mut guarded = shell("echo started; exec sleep 1000");
    let (_, mut pipe) = first_line(&mut guarded);
    drop(guarded);
    assert!(is_abandoned(&mut pipe));
}

#[test]
fn signals_reach_the_program_itself() {
    let mut guarded =
        shell("trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
    let (_, mut pipe) = first_line(&mut guarded);
    guarded.signal(Signal::TERM).unwrap();
    let mut line = String::new();
    pipe.read_line(&mut line).unwrap();
    assert_eq!((line.as_str(), guarded.wait().unwrap().code()), ("caught\n", Some(3)));
}

#[test]
fn a_command_without_the_fence_is_refused() {
    let refused = Guarded::spawn(Command::new("true")).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn a_program_that_is_not_installed_is_named() {
    let missing = command("no-such-program").unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    assert!(missing.to_string().contains("no-such-program"));
}
