//! Every corpus, and variations of it, on stable.
//!
//! `cargo xtask test --long` varies each corpus for a minute.
#![expect(clippy::unwrap_used, reason = "all of this file is test code")]

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fastrand::Rng;
use stoker_fuzz::{TARGETS, Target, mutate};

/// Variations per target in the usual run.
const FEW: usize = 2000;
const LONG: Duration = Duration::from_mins(1);

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let path = directory().join("corpus").join(target.name);
    let files = fs::read_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", path.display());
    files.into_iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Runs a target; an input that makes it panic is kept beside those that libFuzzer finds.
fn attempt(target: &Target, input: &[u8]) {
    if catch_unwind(|| (target.run)(input)).is_ok() {
        return;
    }
    let directory = directory().join("artifacts").join(target.name);
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join(format!("found-{}", input.len()));
    fs::write(&file, input).unwrap();
    panic!("{} panics on {}", target.name, file.display());
}

fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let corpus = corpus(target);
    for input in &corpus {
        attempt(target, input);
    }
    let is_long = std::env::var_os("STOKER_LONG").is_some();
    // A gate asks the same questions each time.
    let mut random = if is_long { Rng::new() } else { Rng::with_seed(20_261_116) };
    let begun = Instant::now();
    for number in 0.. {
        if if is_long { begun.elapsed() > LONG } else { number == FEW } {
            return;
        }
        attempt(target, &mutate::vary(&corpus, &mut random));
    }
}

macro_rules! targets {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                replay(stringify!($name));
            }
        )+

        #[test]
        fn every_target_is_replayed_and_has_a_program_for_libfuzzer() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),+]);
            let manifest = fs::read_to_string(directory().join("Cargo.toml")).unwrap();
            for name in names {
                let path = format!("fuzz_targets/{name}.rs");
                assert!(manifest.contains(&path), "fuzz/Cargo.toml lacks {path}");
                let program = fs::read_to_string(directory().join(path)).unwrap();
                assert!(program.contains(&format!("stoker_fuzz::run({name:?}, ")), "{program}");
            }
        }
    };
}

// D5, E5, I1: the promise about hostile bodies.
targets! {
    admission_review
    annotations
    bootstrap_annotations
    bootstrap_review
    image_reference
    payload_argocd
    payload_azuredevops
    payload_bitbucket
    payload_flux
    payload_generic
    payload_gitea
    payload_github
    payload_gitlab
    payload_kargo
    payload_scan
}
