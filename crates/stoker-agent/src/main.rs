//! The agent beside an Ignition gateway.
//!
//! The container's first process is a small supervisor ([`supervise`]). The worker below it
//! ([`worker`]) is the same program: it watches the announcement, syncs and reports. Git runs the
//! program a third way, to be given credentials.
//!
//! Long: most of it is the list of modules.

mod access;
mod announce;
mod announcement;
mod args;
mod decide;
mod deliver;
mod goal;
mod history;
mod link;
mod memory;
mod pod;
mod report;
mod run;
mod startup;
mod supervise;
#[cfg(test)]
mod testing;
mod worker;

use std::process::ExitCode;

use args::Arguments;

fn main() -> ExitCode {
    // Git runs this same program to ask for credentials.
    if let Some(code) = stoker_git::helper::serve() {
        return code;
    }
    match Arguments::parse(std::env::args().skip(1)) {
        Ok(Arguments::Supervise(options)) => supervise::run(&options),
        Ok(Arguments::Work(options)) => worker::run(&options),
        Ok(Arguments::Print(text)) => args::print(text),
        Err(error) => args::refuse(&error),
    }
}
