//! The program as a user runs it: the real binary, real git, the simulated gateway, real faults.
//!
//! | folder | subject |
//! |---|---|
//! | `kit` | what the tests share: a machine, a gateway, strace, assertions; no tests |
//! | `commands` | `watch`, `dev` and `demo`, and where a command runs |
//! | `crash` | runs that are killed or whose system calls fail, and the run after them |
//! | `credentials` | which credential is used, for which host, and that none is ever shown |
//! | `errors` | what each error says, with its exit code and its hint: one table, `errors/expected/` |
//! | `files` | what arrives in the data directory, what is refused, and what is left alone |
//! | `gateway` | scans, the scan lock, and gateways that are away or silent |
//! | `output` | table, JSON and YAML; streams, escaping, warnings |
//! | `volumes` | full disks, SMB shares, mounts below the data directory, other users |

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod kit {
    pub(crate) mod background;
    pub(crate) mod manifest;
    pub(crate) mod mount;
    pub(crate) mod result;
    pub(crate) mod run;
    pub(crate) mod site;
    pub(crate) mod strace;
    pub(crate) mod update;
    pub(crate) mod world;
}

mod commands {
    mod dev;
    mod follow;
    mod listen;
    mod page;
    mod surroundings;
}

mod crash {
    mod failing_calls;
    mod killed;
    mod recovery;
    mod with_gateway;
    mod writer_thread;
}

mod credentials {
    mod never_shown;
    mod precedence;
    mod secrets;
    mod silent;
    mod trust;
}

mod errors {
    mod command_line;
    mod files;
    mod repository;
    mod table;
}

mod files {
    mod content;
    mod hostile;
    mod ignition;
    mod manifest;
    mod unchanged;
}

mod gateway {
    mod scan;
    mod scan_lock;
    mod waiting;
}

mod output {
    mod escaping;
    mod format;
    mod streams;
    mod warnings;
}

mod volumes {
    mod full_disk;
    mod full_store;
    mod other_user;
    mod second_volume;
    mod smb;
}
