//! What is fuzzed: one function per parser that meets bytes of strangers.
//!
//! The same functions run in three places: `fuzz/` gives them to libFuzzer, a test replays the
//! corpora below `fuzz/corpus` on stable, and the same test varies them at random ([`mutate`]).
//! A function panics where something does not hold that must hold for any input.

mod admission;
mod bootstrap;
pub mod mutate;
mod payload;

use stoker_api::condition::Requester;

/// A function that takes any bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: the directory of its corpus and the program below `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// The function.
    pub run: fn(&[u8]),
}

/// Everything that is fuzzed.
pub const TARGETS: &[Target] = &[
    Target { name: "admission_review", run: admission::review },
    Target { name: "annotations", run: admission::annotations },
    Target { name: "bootstrap_annotations", run: bootstrap::annotations },
    Target { name: "bootstrap_review", run: bootstrap::review },
    Target { name: "image_reference", run: bootstrap::image },
    Target { name: "payload_argocd", run: |input| payload::read(Requester::Argocd, None, input) },
    Target {
        name: "payload_azuredevops",
        run: |input| payload::read(Requester::Azuredevops, None, input),
    },
    Target {
        name: "payload_bitbucket",
        run: |input| payload::read(Requester::Bitbucket, Some("x-event-key"), input),
    },
    Target {
        name: "payload_flux",
        run: |input| payload::read(Requester::Flux, Some("gotk-component"), input),
    },
    Target { name: "payload_generic", run: |input| payload::read(Requester::Generic, None, input) },
    Target {
        name: "payload_gitea",
        run: |input| payload::read(Requester::Gitea, Some("x-gitea-event"), input),
    },
    Target {
        name: "payload_github",
        run: |input| payload::read(Requester::Github, Some("x-github-event"), input),
    },
    Target {
        name: "payload_gitlab",
        run: |input| payload::read(Requester::Gitlab, Some("x-gitlab-event"), input),
    },
    Target { name: "payload_kargo", run: |input| payload::read(Requester::Kargo, None, input) },
    Target { name: "payload_scan", run: payload::scan },
];

/// Runs a target.
///
/// # Panics
/// If there is no target of this name, or if the target found something.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("the name is one of TARGETS").run)(input);
}
