//! Whole runs against the reference model: random commits, mappings, excludes, prior states, drift.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stoker_text::glob::Excludes;

use crate::Request;
use crate::request::{DriftCheck, Mapping, Presence, Prune};
use crate::source::Kind;
use crate::testing::model::{self, World, are_nested};
use crate::testing::{Commit, Files, Live, Scratch, map, sync, unlimited};

#[derive(Debug, Clone)]
enum Happening {
    Sync { files: Files, mappings: Vec<Mapping>, excludes: usize },
    Write { path: String, content: u8 },
    Delete { number: prop::sample::Index },
}

const EXCLUDES: [&[&str]; 6] = [
    &[],
    &["**/b"],
    &["projects/a/"],
    &["a/**", "**/c"],
    &["**/resource.json", "x/{a,b}/"],
    &["a/", "b", "c/*"],
];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c", "resource.json", "a-b", ".resources", "local"])
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

fn files() -> impl Strategy<Value = Files> {
    let kind = prop::sample::select(vec![
        Kind::File,
        Kind::File,
        Kind::File,
        Kind::Executable,
        Kind::Symlink,
        Kind::Submodule,
    ]);
    let top = prop::sample::select(vec!["s", "t", "projects", "a"]);
    prop::collection::vec((top, path(), kind, 0..4u8), 0..14).prop_map(|entries| {
        let mut files = Files::new();
        for (top, path, kind, content) in entries {
            let path = format!("{top}/{path}").into_bytes();
            // One name is a file or a directory, never both.
            if !files.keys().any(|other| are_nested(other, &path)) {
                files.insert(path, (kind, vec![b'0' + content]));
            }
        }
        files
    })
}

fn mapping() -> impl Strategy<Value = Mapping> {
    let source = prop::sample::select(vec!["s", "t", "s/a", "projects", "a/b", ".", "t/c", "a"]);
    let destination = prop::sample::select(vec![
        "projects",
        "projects/a",
        "config",
        "config/resources",
        "x",
        "x/a/b",
        ".",
        "x/c",
        "projects/b/c",
    ]);
    (source, destination, any::<bool>(), any::<bool>()).prop_map(
        |(source, destination, optional, own)| {
            let mut mapping = map(&format!("{source}:{destination}"));
            if optional {
                mapping.presence = Presence::Optional;
            }
            if own {
                mapping.prune = Prune::OwnOnly;
            }
            mapping
        },
    )
}

/// A mapping whose source must be there: of an absent one the last files are kept.
fn required() -> impl Strategy<Value = Mapping> {
    mapping().prop_map(|mapping| Mapping { presence: Presence::Required, ..mapping })
}

fn happening() -> impl Strategy<Value = Happening> {
    let top = prop::sample::select(vec!["projects", "config", "x", "db", "config/resources/local"]);
    prop_oneof![
        4 => (files(), prop::collection::vec(mapping(), 1..4), 0..EXCLUDES.len())
            .prop_map(|(files, mappings, excludes)| Happening::Sync { files, mappings, excludes }),
        2 => (top, path(), 0..4u8)
            .prop_map(|(top, path, content)| Happening::Write { path: format!("{top}/{path}"), content }),
        1 => any::<prop::sample::Index>().prop_map(|number| Happening::Delete { number }),
    ]
}

/// Makes the next commit: a file is changed, added, or removed where it was there already.
fn evolve(files: &mut Files, edit: Files) {
    for (path, file) in edit.into_iter().take(4) {
        if files.get(&path).is_some_and(|(kind, _)| *kind == file.0) {
            files.remove(&path);
            continue;
        }
        files.retain(|other, _| !are_nested(other, &path));
        files.insert(path, file);
    }
}

fn requested(files: &Files, mappings: &[Mapping], excludes: usize, check: DriftCheck) -> Request {
    let commit = format!("{files:?}");
    let excludes = Excludes::parse(EXCLUDES[excludes].iter().copied()).unwrap();
    Request { excludes, drift_check: check, ..unlimited(Request::new(commit, mappings.to_vec())) }
}

fn live(scratch: &Scratch) -> BTreeMap<Vec<u8>, (Vec<u8>, bool)> {
    let file = |(path, live): (Vec<u8>, Live)| match live {
        Live::File { content, is_executable } => Some((path, (content, is_executable))),
        Live::Link(_) | Live::Dir => None,
    };
    scratch.files("data").into_iter().filter_map(file).collect()
}

fn delete(scratch: &Scratch, world: &mut World, number: prop::sample::Index) {
    let all: Vec<_> = world.live.keys().cloned().collect();
    if all.is_empty() {
        return;
    }
    let path = number.get(&all);
    scratch.remove([b"data/", path.as_slice()].concat());
    world.live.remove(path);
    // The model knows no directories, and those of the gateway's own are in the way.
    if crate::reserved::reserved_for(path, crate::compose::Case::Matters).is_some() {
        scratch.remove_empty_above(path);
    }
}

/// Lets something happen to the disk and to the model, and holds one against the other.
fn happen(
    scratch: &Scratch,
    world: &mut World,
    happening: &Happening,
    check: DriftCheck,
) -> Result<(), TestCaseError> {
    match happening {
        Happening::Write { path, content } => {
            let path = path.as_bytes().to_vec();
            let is_free = !world.live.keys().any(|other| are_nested(other, &path));
            if is_free && !scratch.is_dir("data", &path) {
                scratch.write([b"data/", path.as_slice()].concat(), [b'0' + content]);
                let is_executable =
                    world.live.get(&path).is_some_and(|(_, executable)| *executable);
                world.live.insert(path, (vec![b'0' + content], is_executable));
            }
        }
        Happening::Delete { number } => delete(scratch, world, *number),
        Happening::Sync { files, mappings, excludes } => {
            let request = requested(files, mappings, *excludes, check);
            let commit = Commit::from_files(files);
            let done = sync(scratch, &commit, &request);
            match model::sync(world, files, &request) {
                Ok(after) => {
                    prop_assert!(done.is_ok(), "refused: {:?}", done.unwrap_err());
                    *world = after;
                    let again = sync(scratch, &commit, &request).unwrap();
                    let changes = again.added.count + again.modified.count + again.deleted.count;
                    prop_assert_eq!(changes, 0, "applied twice: {:?}", again);
                    let known = scratch.engine().view().files();
                    prop_assert_eq!(known, world.ours.len() as u64, "files that are ours");
                }
                Err(model::Refused) => prop_assert!(done.is_err(), "should be refused"),
            }
        }
    }
    prop_assert_eq!(&live(scratch), &world.live);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4000, ..ProptestConfig::default() })]

    // A12, A14: what the model says is what the disk has, whatever came before.
    #[test]
    fn every_run_leaves_what_the_model_says(happenings in prop::collection::vec(happening(), 1..14)) {
        let scratch = Scratch::new();
        scratch.write("data/config/local/key", "identity");
        let mut world = World::default();
        world.live.insert(b"config/local/key".to_vec(), (b"identity".to_vec(), false));
        for happening in &happenings {
            happen(&scratch, &mut world, happening, DriftCheck::Stat)?;
        }
    }

    // Equal trees are not compared again; the result must still be the model's.
    #[test]
    fn runs_that_follow_each_other_leave_what_the_model_says(
        first in files(),
        edits in prop::collection::vec(files(), 1..6),
        mappings in prop::collection::vec(mapping(), 1..4),
        excludes in 0..EXCLUDES.len(),
        foreign in prop::collection::vec(path(), 0..3),
    ) {
        let scratch = Scratch::new();
        let mut world = World::default();
        for path in foreign {
            let write = Happening::Write { path: format!("projects/{path}"), content: 9 };
            happen(&scratch, &mut world, &write, DriftCheck::Touched)?;
        }
        let mut files = first;
        for edit in edits {
            let sync = Happening::Sync { files: files.clone(), mappings: mappings.clone(), excludes };
            happen(&scratch, &mut world, &sync, DriftCheck::Touched)?;
            evolve(&mut files, edit);
        }
    }

    // Whatever way led there, what is ours is what the last commit holds.
    #[test]
    fn many_runs_leave_what_the_last_alone_would(
        first in files(),
        edits in prop::collection::vec(files(), 1..6),
        mappings in prop::collection::vec(required(), 1..4),
        excludes in 0..EXCLUDES.len(),
        check in prop::sample::select(vec![DriftCheck::Touched, DriftCheck::Stat]),
    ) {
        let scratch = Scratch::new();
        let mut files = first;
        for edit in edits {
            let request = requested(&files, &mappings, excludes, check);
            let commit = Commit::from_files(&files);
            if sync(&scratch, &commit, &request).is_ok() {
                let fresh = Scratch::new();
                sync(&fresh, &commit, &request).unwrap();
                prop_assert_eq!(live(&scratch), live(&fresh));
            }
            evolve(&mut files, edit);
        }
    }
}
