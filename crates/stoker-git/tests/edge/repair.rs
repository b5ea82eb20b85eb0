//! A store in the hands of killed runs and other runs.

use std::fs;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use stoker_git::diagnosis::Fault;
use stoker_git::{Error, Store, store};
use stoker_sync::source::{self, ObjectId, Source};
use stoker_testkit::git::{Edit, Repo, Tree};

use crate::store::{pairs, sample};
use crate::world::{Place, files, opened, public, walk};

// R7: a store that was made for another URL counts for nothing.
#[test]
fn a_changed_url_starts_a_new_store() {
    let (one, first) = Repo::with(sample()).unwrap();
    let (other, second) = Repo::with(Tree::new().file("x", "x")).unwrap();
    let place = Place::new();
    drop(place.commit(&public(&one.url()), &first).unwrap());
    let mut source = place.commit(&public(&other.url()), &second).unwrap();
    assert_eq!(files(&mut source), pairs(&[("x", "x")]));
    drop(source);
    let error = place.commit(&public(&other.url()), &first).unwrap_err();
    assert!(matches!(error.fault(), Some(Fault::NotOurRef)), "{error:?}");
}

// A2, R52: whatever a killed git leaves, the next run goes on by itself.
#[test]
fn stale_locks_and_torn_files_are_swept() {
    let (repo, commit) = Repo::with(sample()).unwrap();
    let place = Place::new();
    let access = public(&repo.url());
    drop(place.commit(&access, &commit).unwrap());
    let git = place.directory().join("repo.git");
    let debris = [
        "shallow.lock",
        "config.lock",
        "HEAD.lock",
        "packed-refs.lock",
        "index.lock",
        "refs/stoker/commit.lock",
        "objects/info/commit-graph.lock",
        "objects/pack/tmp_pack_x1",
        "objects/pack/tmp_idx_x1",
        "objects/pack/pack-1234.pack",
        "objects/pack/pack-5678.idx",
        "objects/pack/pack-5678.keep",
    ];
    for name in debris {
        fs::write(git.join(name), "torn").unwrap();
    }
    let next = repo.commit(Edit::put(Tree::new().file("n", "n"))).unwrap();
    let mut source = place.commit(&access, &next).unwrap();
    assert_eq!(files(&mut source).len(), 5);
    for name in debris {
        assert!(!git.join(name).exists(), "{name}");
    }
}

// A7 for stores: the second waits, and then says who holds it.
#[test]
fn one_store_serves_one_process_at_a_time() {
    let (repo, _) = Repo::with(sample()).unwrap();
    let place = Place::new();
    let access = public(&repo.url());
    let held = place.open(&access).unwrap();
    let open = || Store::open(&place.directory(), access.clone(), &place.cancel, Duration::ZERO);
    let error = open().unwrap_err();
    let Error::Store { source: store::Error::Locked { holder }, .. } = error else {
        panic!("{error:?}")
    };
    assert!(holder.to_string().contains(&format!("pid {}", std::process::id())), "{holder}");
    drop(held);
    open().unwrap();
}

#[test]
fn a_cancelled_run_ends_as_cancelled() {
    let (_repo, place, mut source) = opened(Repo::with(sample()).unwrap());
    let (_, ids) = walk(&mut source);
    source.fetch(&ids).unwrap();
    place.cancel.cancel();
    let read = source.read(&ids, &mut |_, _, bytes| {
        while bytes.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        ControlFlow::Continue(())
    });
    drop(read);
    // Whoever ends git does so in a moment.
    let asked = Instant::now();
    let refused = loop {
        match source.list(&[ObjectId::EMPTY_TREE]) {
            Ok(_) => assert!(asked.elapsed() < Duration::from_secs(20), "it goes on"),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, source::Error::Cancelled), "{refused:?}");
}
