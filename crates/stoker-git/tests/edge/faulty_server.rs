//! A server that stalls, breaks off, floods and lies, while a commit or its files are fetched.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stoker_git::diagnosis::Fault;
use stoker_git::{Access, Error, Limits};
use stoker_sync::source::{self, ObjectId, Source};
use stoker_testkit::git::bad::{BadServer, Fault as Wire, Lie, pack};
use stoker_testkit::git::{Edit, Oid, Repo, Tree};

use crate::world::{Place, files, filtering, public, walk};

/// More than the small files have, and less than the big one.
const CUT: u64 = 400_000;

struct World {
    repo: Arc<Repo>,
    commit: Oid,
    server: BadServer,
    place: Place,
}

fn world() -> World {
    let (repo, commit) =
        Repo::with(Tree::new().file("a", "1").noise("d/noise", 1, 20_000)).unwrap();
    repo.config("uploadpack.allowFilter", "true").unwrap();
    World::serving(repo, commit)
}

/// One with eight small files and a big one, which can be fetched by id.
fn small_and_big() -> World {
    let tree = Tree::new().noise("big", 99, 1_500_000);
    let small = (0..8).map(|n| (format!("d{n}/small"), n));
    let tree = small.fold(tree, |tree, (path, seed)| tree.noise(&path, seed, 20_000));
    let (repo, commit) = filtering(tree);
    World::serving(repo, commit)
}

impl World {
    fn serving(repo: Repo, commit: Oid) -> Self {
        let repo = Arc::new(repo);
        let server = BadServer::start(&repo).unwrap();
        Self { repo, commit, server, place: Place::new() }
    }

    fn access(&self) -> Access {
        public(&self.server.url())
    }

    /// With a stall timeout of half a second.
    fn hasty(&self) -> Access {
        Access { limits: Limits::within(Duration::from_millis(500)), ..self.access() }
    }

    /// Everything that a first sync does with git.
    fn sync(&self, place: &Place) -> Result<usize, String> {
        self.sync_with(&self.access(), place)
    }

    fn sync_with(&self, access: &Access, place: &Place) -> Result<usize, String> {
        let told = |error: Error| format!("{error:?}");
        place.resolve(access, "main").map_err(told)?;
        let mut source = place.commit(access, &self.commit).map_err(told)?;
        let (_, ids) = walk(&mut source);
        let sizes =
            source.fetch(&ids).map_err(|error| format!("{error:?} {:?}", source.take_error()))?;
        Ok(sizes.len())
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

// B11, R53: wherever the server stops, we stop in time, and go on when it does.
#[test]
fn a_stall_anywhere_is_noticed_and_survived() {
    let world = world();
    world.server.behave();
    world.sync(&Place::new()).unwrap();
    let whole = world.server.bytes_sent();
    for step in 0..10 {
        let place = Place::new();
        world.server.break_wire(Wire::stall(whole * step / 10));
        let started = Instant::now();
        let error = world.sync_with(&world.hasty(), &place).unwrap_err();
        assert!(started.elapsed() < Duration::from_mins(1), "{step}: {:?}", started.elapsed());
        assert!(error.contains("TimedOut") || error.contains("Stalled"), "{step}: {error}");
        world.server.behave();
        assert_eq!(world.sync(&place), Ok(2), "{step}");
    }
}

#[test]
fn a_drip_is_as_good_as_a_stall() {
    let world = world();
    world.server.break_wire(Wire::drip(400, Duration::from_millis(50)));
    let error = world.sync_with(&world.hasty(), &Place::new()).unwrap_err();
    assert!(error.contains("TimedOut") || error.contains("Stalled"), "{error}");
}

#[test]
fn a_broken_connection_is_reported_and_survived() {
    let world = world();
    world.server.behave();
    world.sync(&Place::new()).unwrap();
    let whole = world.server.bytes_sent();
    for fault in [Wire::reset, Wire::close] {
        for step in 0..6 {
            let place = Place::new();
            world.server.break_wire(fault(whole * step / 6));
            world.sync(&place).unwrap_err();
            world.server.behave();
            assert_eq!(world.sync(&place), Ok(2), "{step}");
        }
    }
}

#[test]
fn what_a_store_holds_outlives_a_server_that_lies() {
    let world = world();
    let place = Place::new();
    world.sync(&place).unwrap();
    let next = world.repo.commit(Edit::put(Tree::new().file("n", "n"))).unwrap();
    for lie in [Lie::WrongChecksum, Lie::TruncatedPack, Lie::Garbage] {
        world.server.tell(lie);
        place.commit(&world.access(), &next).unwrap_err();
    }
    // It has nothing to say about a commit that is here.
    let mut source = place.commit(&world.access(), &world.commit).unwrap();
    assert_eq!(files(&mut source).len(), 2);
}

// B10: whatever comes instead of a pack, it is refused, and the store is fine afterwards.
#[test]
fn lies_are_refused_and_leave_no_trace() {
    let world = world();
    let lies = [
        Lie::WrongChecksum,
        Lie::TruncatedPack,
        Lie::GarbagePack,
        Lie::Garbage,
        Lie::Pack(pack::delta_loop()),
        Lie::Pack(pack::delta_bomb(10 << 30)),
    ];
    for lie in lies {
        let place = Place::new();
        let name = format!("{lie:?}").chars().take(40).collect::<String>();
        let started = Instant::now();
        world.server.tell(lie);
        let refused = place.commit(&world.access(), &world.commit);
        assert!(refused.is_err(), "{name}");
        assert!(started.elapsed() < Duration::from_mins(2), "{name}");
        world.server.behave();
        let mut source = place.commit(&world.access(), &world.commit).unwrap();
        assert_eq!(files(&mut source).len(), 2, "{name}");
    }
}

// B7, R8: the tip moves with every request; what was resolved is what is fetched.
#[test]
fn a_tip_that_never_rests_does_not_matter() {
    let world = world();
    world.server.tell(Lie::MovingTip);
    let place = Place::new();
    let access = world.access();
    let resolved = place.resolve(&access, "main").unwrap().commit;
    let resolved = Oid::parse(resolved.as_str()).unwrap();
    let mut source = place.commit(&access, &resolved).unwrap();
    assert_eq!(source.commit().as_str(), resolved.as_str());
    assert!(!files(&mut source).is_empty());
    assert_ne!(world.repo.tip("main").unwrap(), resolved);
}

#[test]
fn a_commit_that_is_advertised_and_then_refused_is_reported() {
    let world = world();
    world.server.tell(Lie::MissingTip);
    let place = Place::new();
    let access = world.access();
    let resolved = place.resolve(&access, "main").unwrap().commit;
    let error = place.commit(&access, &Oid::parse(resolved.as_str()).unwrap()).unwrap_err();
    assert!(matches!(error.fault(), Some(Fault::NotOurRef)), "{error:?}");
}

// B11: progress text without end, and far more refs than anyone has.
#[test]
fn floods_are_bounded() {
    let world = world();
    world.server.tell(Lie::Progress(Some(20_000_000)));
    let access = world.access();
    drop(Place::new().commit(&access, &world.commit).unwrap());
    world.server.tell(Lie::Progress(None));
    let started = Instant::now();
    let error = Place::new().commit(&world.hasty(), &world.commit).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    let is_told = matches!(error.fault(), Some(Fault::TimedOut { .. } | Fault::Stalled));
    assert!(is_told, "{error:?}");
    world.server.tell(Lie::ManyRefs(100_000));
    Place::new().resolve(&access, "main").unwrap();
}

#[test]
fn a_link_that_breaks_in_a_file_costs_one_request_and_nothing_that_came_before() {
    let world = small_and_big();
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
    let world = small_and_big();
    let (small, _) = world.fetch_small();
    for _ in 0..2 {
        world.poll(&[small[0], ObjectId([7; 20])]);
        assert!(world.server.faults() > 0, "the link broke");
        world.assert_holds(&small);
    }
}

#[test]
fn what_a_store_holds_outlives_a_server_that_lies_about_files() {
    let world = small_and_big();
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
    let world = small_and_big();
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
    let world = small_and_big();
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
