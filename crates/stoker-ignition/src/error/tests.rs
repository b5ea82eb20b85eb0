//! Every error has a reason of its own kind and a next step.

use std::time::Duration;

use super::*;

fn call() -> Call {
    Call("GET http://gateway:8088/x".to_owned())
}

// G1: mapped to distinct reasons.
#[test]
fn what_a_user_must_tell_apart_has_its_own_reason_and_its_own_next_step() {
    let within = Duration::from_secs(1);
    let source = || io::Error::other("x");
    let errors = [
        Error::Unauthorized { call: call() },
        Error::Forbidden { call: call() },
        Error::NotFound { call: call() },
        Error::NeedsCommissioning { call: call() },
        Error::Redirected { call: call(), status: 302, to: None },
        Error::TooManyRequests { call: call() },
        Error::Starting { call: call() },
        Error::ServerFault { call: call(), status: 500 },
        Error::NotJson { call: call() },
        Error::TooLarge { call: call(), limit: 1 },
        Error::TimedOut { call: call(), within },
        Error::ConnectionLost { call: call() },
        Error::ConnectionRefused { call: call() },
        Error::Unreachable { call: call(), source: source() },
        Error::TlsMismatch { call: call() },
        Error::Untrusted { call: call(), why: "x" },
        Error::NoKey,
        Error::UnusableKey { path: "k".into(), why: "x" },
        Error::Cancelled,
    ];
    let reasons: std::collections::HashSet<_> =
        errors.iter().map(|error| error.reason().as_str()).collect();
    let remedies: std::collections::HashSet<_> =
        errors.iter().map(|error| format!("{:?}", error.remedy())).collect();
    assert_eq!((reasons.len(), remedies.len()), (errors.len(), errors.len()));
}

// R43: 401 or 403 before any file is written.
#[test]
fn a_key_that_is_not_taken_writes_nothing_and_is_not_tried_again_blindly() {
    for error in
        [Error::Unauthorized { call: call() }, Error::Forbidden { call: call() }, Error::NoKey]
    {
        assert_eq!(error.consequence(), Consequence::WriteNothing);
        assert_eq!(error.retry(), Retry::NextPeriod);
    }
}

#[test]
fn a_gateway_that_is_away_does_not_keep_files_from_landing() {
    for error in [
        Error::ConnectionRefused { call: call() },
        Error::Starting { call: call() },
        Error::NotFound { call: call() },
    ] {
        assert_eq!(error.consequence(), Consequence::ScanOwed);
    }
}

#[test]
fn a_time_is_told_as_people_say_it() {
    let cases = [
        (Duration::from_nanos(996_255_674), "996 ms"),
        (Duration::from_micros(999_900), "1 s"),
        (Duration::from_millis(1_499), "1 s"),
        (Duration::from_millis(9_996), "10 s"),
        (Duration::from_mins(1), "60 s"),
    ];
    for (within, told) in cases {
        let error = Error::TimedOut { call: call(), within };
        assert!(error.to_string().ends_with(&format!("within {told}")), "{error}");
    }
}
