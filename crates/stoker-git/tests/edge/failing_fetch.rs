//! Servers and links that fail while files are fetched, again and again.

use std::sync::Arc;

use stoker_git::Access;
use stoker_sync::source::{self, ObjectId, Source};
use stoker_testkit::git::bad::{BadServer, Fault as Wire, Lie};
use stoker_testkit::git::{Oid, Repo, Tree};

use crate::world::{Place, public, walk};

/// More than the small files have, and less than the big one.
const CUT: u64 = 400_000;

struct World {
    commit: Oid,
    server: BadServer,
    place: Place,
}

fn world() -> World {
    let small = (0..8).map(|n| (format!("d{n}/small"), n));
    let tree = Tree::new().noise("big", 99, 1_500_000);
    let tree = small.fold(tree, |tree, (path, seed)| tree.noise(&path, seed, 20_000));
    let (repo, commit) = Repo::with(tree).unwrap();
    repo.config("uploadpack.allowFilter", "true").unwrap();
    repo.config("uploadpack.allowAnySHA1InWant", "true").unwrap();
    let server = BadServer::start(&Arc::new(repo)).unwrap();
    World { commit, server, place: Place::new() }
}

impl World {
    fn access(&self) -> Access {
        public(&self.server.url())
    }

    /// Fetches the small files on a link that is good so far, and returns the big one's id.
    fn fetch_small(&self) -> (Vec<ObjectId>, ObjectId) {
        let mut source = self.place.commit(&self.access(), &self.commit).unwrap();
        let (paths, ids) = walk(&mut source);
        let (big, small): (Vec<_>, Vec<_>) = paths.iter().zip(ids).partition(|p| p.0 == "big");
        let small: Vec<_> = small.into_iter().map(|(_, id)| id).collect();
        source.fetch(&small).unwrap();
        (small, big[0].1)
    }

    /// A poll on a link that breaks after so many bytes, and then with every request.
    fn poll(&self, ids: &[ObjectId]) -> String {
        self.server.break_wire(Wire::close(CUT));
        let mut source = self.place.commit(&self.access(), &self.commit).unwrap();
        let error = source.fetch(ids).unwrap_err();
        format!("{error:?} {:?}", source.take_error())
    }

    /// Without a server: what is not in the store is not to be had.
    fn assert_holds(&self, ids: &[ObjectId]) {
        self.server.break_wire(Wire::close(0));
        let mut source = self.place.commit(&self.access(), &self.commit).unwrap();
        walk(&mut source);
        assert_eq!(source.fetch(ids).unwrap().len(), ids.len());
    }
}

#[test]
fn a_link_that_breaks_in_a_file_costs_one_request_and_nothing_that_came_before() {
    let world = world();
    let (small, big) = world.fetch_small();
    let all: Vec<_> = small.iter().copied().chain([big]).collect();
    for _ in 0..3 {
        let told = world.server.faults();
        let error = world.poll(&all);
        assert!(error.contains("count: 1, source: Unreachable"), "{error}");
        assert_eq!(world.server.faults(), told + 1, "it was tried once");
        world.assert_holds(&small);
    }
    world.server.behave();
    let mut source = world.place.commit(&world.access(), &world.commit).unwrap();
    assert_eq!(source.fetch(&all).unwrap().len(), 9);
}

// A server that does not give out an id is asked for everything, which may not arrive.
#[test]
fn what_a_store_holds_outlives_a_fetch_of_everything_that_breaks_off() {
    let world = world();
    let (small, _) = world.fetch_small();
    for _ in 0..2 {
        world.poll(&[small[0], ObjectId([7; 20])]);
        assert!(world.server.faults() > 0, "the link broke");
        world.assert_holds(&small);
    }
}

#[test]
fn what_a_store_holds_outlives_a_server_that_lies_about_files() {
    let world = world();
    let (small, big) = world.fetch_small();
    for lie in [Lie::WrongChecksum, Lie::TruncatedPack, Lie::GarbagePack, Lie::Garbage] {
        world.server.behave();
        world.server.tell(lie);
        let mut source = world.place.commit(&world.access(), &world.commit).unwrap();
        source.fetch(&[big]).unwrap_err();
        drop(source);
        world.assert_holds(&small);
    }
}

// What the server has lost does not come back with another clone.
#[test]
fn a_file_that_the_server_lost_is_requested_but_the_store_is_not_rebuilt_again() {
    let world = world();
    let (small, big) = world.fetch_small();
    let poll = || {
        let before = world.server.http().requests().len();
        let mut source = world.place.commit(&world.access(), &world.commit).unwrap();
        let error = source.fetch(&[small[0], ObjectId([7; 20])]).unwrap_err();
        assert!(matches!(error, source::Error::Missing { .. }), "{error:?}");
        world.server.http().requests().len() - before
    };
    let first = poll();
    let later = [poll(), poll()];
    assert!(later.iter().all(|count| *count < first && *count <= 4), "{first}, then {later:?}");
    let mut source = world.place.commit(&world.access(), &world.commit).unwrap();
    assert_eq!(source.fetch(&[small[1], big]).unwrap().len(), 2);
}

#[test]
fn a_tree_that_a_rebuild_does_not_help_is_fetched_again_once_per_commit() {
    let world = world();
    world.fetch_small();
    let poll = |tree: u8| {
        let before = world.server.http().requests().len();
        let mut source = world.place.commit(&world.access(), &world.commit).unwrap();
        source.list(&[ObjectId([tree; 20])]).unwrap_err();
        world.server.http().requests().len() - before
    };
    assert!(poll(7) > 0, "the store may be to blame");
    assert_eq!([poll(7), poll(7)], [0, 0]);
    assert!(poll(8) > 0, "that is another tree");
}
