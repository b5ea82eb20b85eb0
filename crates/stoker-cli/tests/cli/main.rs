//! The program as a user runs it: the real binary, real git, a stand-in gateway, real faults.

mod canary;
mod crash;
mod document;
mod fault;
mod follow;
mod front;
mod refusal;
mod world;
