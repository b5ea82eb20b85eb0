//! The file engine and `stoker sync`, against git and rsync.

mod change;
mod drift;
mod first;
mod memory;
mod noop;
mod plant;
mod reference;
mod site;
mod volume;
mod world;

use std::process::ExitCode;

use clap::Parser as _;
use stoker_bench::place;
use stoker_bench::suite::Flags;

use world::World;

fn main() -> anyhow::Result<ExitCode> {
    let flags = Flags::parse();
    place::move_to_tmpfs()?;
    world::run(&flags)
}
