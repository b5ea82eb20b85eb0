//! A server that stalls, breaks off, floods and lies.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stoker_git::diagnosis::Fault;
use stoker_git::{Access, Error, Limits};
use stoker_sync::source::Source;
use stoker_testkit::git::bad::{BadServer, Fault as Wire, Lie, pack};
use stoker_testkit::git::{Edit, Oid, Repo, Tree};

use crate::world::{Place, files, public, walk};

struct World {
    repo: Arc<Repo>,
    commit: Oid,
    server: BadServer,
}

fn world() -> World {
    let tree = Tree::new().file("a", "1").noise("d/noise", 1, 20_000);
    let (repo, commit) = Repo::with(tree).unwrap();
    repo.config("uploadpack.allowFilter", "true").unwrap();
    let repo = Arc::new(repo);
    let server = BadServer::start(&repo).unwrap();
    World { repo, commit, server }
}

impl World {
    fn access(&self) -> Access {
        public(&self.server.url())
    }

    /// Short of patience: what stalls is given up after half a second.
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
