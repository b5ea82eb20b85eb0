//! Every command that people and CI run on this repository.

#![expect(clippy::print_stdout, reason = "what these commands print is for a terminal")]

mod bench;
mod chart;
mod check;
mod cli;
mod cluster;
mod debian;
mod e2e;
mod error_text;
mod fuzz;
mod generate;
mod image;
mod manifests;
mod promises;
mod release;
mod sizes;
mod step;
mod test;
mod tool;

fn main() -> std::process::ExitCode {
    match cli::run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
