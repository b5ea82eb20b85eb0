//! Every command that people and CI run on this repository.

fn main() {}
