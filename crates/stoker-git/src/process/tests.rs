use super::*;

fn job(script: &str, cancel: &Cancel) -> Result<Output, Error> {
    run(shell(script, cancel))
}

fn shell<'a>(script: &str, cancel: &'a Cancel) -> Job<'a> {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Job::new(command, 1000, Limits::within(Duration::from_mins(1)), cancel)
}

#[test]
fn what_a_command_says_and_how_it_ends_is_told() {
    let output = job("echo out; echo err >&2; exit 3", &Cancel::default()).unwrap();
    assert_eq!(
        (output.status.code(), output.stdout, output.stderr.as_str()),
        (Some(3), b"out\n".to_vec(), "err\n")
    );
}

#[test]
fn input_that_nobody_reads_does_not_hang() {
    let cancel = Cancel::default();
    let job = Job { input: vec![b'x'; 1_000_000], ..shell("exit 0", &cancel) };
    assert!(run(job).unwrap().status.success());
}

// B11: 1 GB of chatter.
#[test]
fn chatter_is_bounded_and_its_end_is_kept() {
    let script = "head -c 50000000 /dev/zero | tr '\\0' 'x' >&2; echo fatal: the end >&2";
    let cancel = Cancel::default();
    let output = job(script, &cancel).unwrap();
    assert!(output.stderr.len() <= 2 * STDERR_HALF);
    assert!(output.stderr.ends_with("fatal: the end\n"));
    let result = job("head -c 2000 /dev/zero", &cancel);
    assert!(matches!(result, Err(Error::TooMuch { limit: 1000 })), "{result:?}");
}

#[test]
fn time_that_is_up_ends_the_whole_group_even_if_it_ignores_requests() {
    let (started, cancel) = (Instant::now(), Cancel::default());
    let limits = Limits::within(Duration::from_millis(300));
    let result = run(Job { limits, ..shell("trap '' TERM; sleep 60 & sleep 60", &cancel) });
    assert!(matches!(result, Err(Error::TimedOut { .. })), "{result:?}");
    assert!(started.elapsed() < Duration::from_secs(50));
}

#[test]
fn a_helper_that_outlives_its_command_is_ended_and_not_waited_for() {
    let started = Instant::now();
    job("sleep 60 & exit 0", &Cancel::default()).unwrap();
    assert!(started.elapsed() < Duration::from_secs(50));
}

#[test]
fn a_cancelled_command_ends() {
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(matches!(job("sleep 60", &cancel), Err(Error::Cancelled)));
}

#[test]
fn a_transfer_beyond_its_limit_ends() {
    let cancel = Cancel::default();
    let job = Job { arrived: Some((&|| 2000, 1000)), ..shell("sleep 60", &cancel) };
    assert!(matches!(run(job), Err(Error::TooMuch { limit: 1000 })));
}

#[test]
fn a_missing_program_is_told() {
    let cancel = Cancel::default();
    let job = Job { command: Command::new("/nowhere/at/all"), ..shell("", &cancel) };
    assert!(matches!(run(job), Err(Error::Start { .. })));
}
