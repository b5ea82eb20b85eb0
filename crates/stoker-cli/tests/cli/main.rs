//! The program as a user runs it: the real binary, real git, a stand-in gateway, real faults.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod bare;
mod bounds;
mod canary;
mod corpus;
mod crash;
mod credential;
mod delivery;
mod dev;
mod document;
mod fault;
mod follow;
mod format;
mod full;
mod gateway;
mod hostile;
mod lands;
mod listen;
mod look;
mod many;
mod mount;
mod owed;
mod place;
mod recovery;
mod refusal;
mod release;
mod remedy;
mod room;
mod served;
mod share;
mod site;
mod stall;
mod stranger;
mod terminal;
mod told;
mod trace;
mod trust;
mod unfit;
mod untouched;
mod update;
mod usage;
mod volume;
mod waiting;
mod wording;
mod world;
