//! Stores in a volume of a pod: an `emptyDir` that everyone may write to, and a budget of bytes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use stoker_api::condition::Reason;
use stoker_api::word::Commit;
use stoker_git::store::{self, Location};
use stoker_git::{Access, Cancel, CommitSource, Error, Store};
use stoker_testkit::git::{Edit, Oid, Repo, Tree};
use tempfile::TempDir;

use crate::store::{pairs, sample};
use crate::world::{files, filtering, pack_bytes, public, walk};

/// A directory as the kubelet makes it; owned by another user where we may give it away.
fn volume(mode: u32) -> TempDir {
    let volume = TempDir::with_prefix("stoker-volume-").unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(volume.path(), Some(4711), Some(2003)).unwrap();
    }
    fs::set_permissions(volume.path(), Permissions::from_mode(mode)).unwrap();
    volume
}

fn plant(files: &[(&str, u64)]) -> (Repo, Oid) {
    let tree = Tree::new().file("projects/a", "1");
    let tree = files.iter().fold(tree, |tree, (path, seed)| tree.noise(path, *seed, 300_000));
    filtering(tree)
}

fn open(location: &Location, access: &Access, commit: &Oid) -> Result<CommitSource, Error> {
    Store::open(location, access.clone(), &Cancel::default(), Duration::ZERO)?
        .commit(&Commit::parse(commit.as_str()).unwrap(), &[])
}

fn fetch_all(location: &Location, repo: &Repo, commit: &Oid) -> Result<usize, Error> {
    use stoker_sync::source::{self, Source as _};
    let mut source = open(location, &public(&repo.url()), commit)?;
    let (_, ids) = walk(&mut source);
    match source.fetch(&ids) {
        Ok(sizes) => Ok(sizes.len()),
        Err(source::Error::Failed) => Err(source.take_error().unwrap()),
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn a_store_lives_in_a_volume_that_everyone_may_write_to() {
    let (repo, commit) = Repo::with(sample()).unwrap();
    for mode in [0o777, 0o2777] {
        let volume = volume(mode);
        let location = Location::in_volume(volume.path(), "store");
        for _ in 0..2 {
            let mut source = open(&location, &public(&repo.url()), &commit).unwrap();
            assert_eq!(files(&mut source)[0], pairs(&[("a.txt", "a")])[0]);
        }
        let made = fs::metadata(location.directory()).unwrap();
        assert_eq!(made.mode() & 0o777, 0o700, "{mode:o}");
        // The rule for a directory that a user names is as strict as before.
        let strict = Store::open(
            location.directory(),
            public(&repo.url()),
            &Cancel::default(),
            Duration::ZERO,
        );
        let Err(Error::Store { source: store::Error::NotOurs { path }, .. }) = strict else {
            panic!("{strict:?}")
        };
        assert_eq!(path, volume.path());
    }
}

#[test]
fn a_directory_in_a_volume_that_others_may_write_to_is_refused() {
    let (repo, commit) = Repo::with(sample()).unwrap();
    let volume = volume(0o777);
    let location = Location::in_volume(volume.path(), "store");
    fs::create_dir(location.directory()).unwrap();
    fs::set_permissions(location.directory(), Permissions::from_mode(0o777)).unwrap();
    let error = open(&location, &public(&repo.url()), &commit).unwrap_err();
    assert!(
        matches!(error, Error::Store { source: store::Error::NotOurs { .. }, .. }),
        "{error:?}"
    );
}

#[test]
fn old_packs_make_way_when_the_budget_is_used_up() {
    let (repo, first) = plant(&[("projects/one", 1)]);
    let volume = volume(0o777);
    let location = Location::in_volume(volume.path(), "store").limited_to(500_000);
    assert_eq!(fetch_all(&location, &repo, &first).unwrap(), 2);
    let second = repo.commit(Edit::put(Tree::new().noise("projects/one", 2, 300_000))).unwrap();
    assert_eq!(fetch_all(&location, &repo, &second).unwrap(), 2);
    let bytes = pack_bytes(location.directory());
    assert!((300_000..500_000).contains(&bytes), "{bytes}");
}

#[test]
fn a_commit_that_is_larger_than_the_budget_is_store_full_and_leaves_no_half_pack() {
    let (repo, commit) = plant(&[("projects/one", 1), ("projects/two", 2)]);
    let volume = volume(0o777);
    let location = Location::in_volume(volume.path(), "store").limited_to(400_000);
    // With a store that is empty, and with one that the first run left.
    for _ in 0..2 {
        let error = fetch_all(&location, &repo, &commit).unwrap_err();
        assert_eq!(error.reason(), Reason::StoreFull, "{error:?}");
        assert!(error.fault().unwrap().to_string().contains("400000"), "{error:?}");
        assert!(pack_bytes(location.directory()) < 100_000);
    }
    let roomy = Location::in_volume(volume.path(), "store").limited_to(2_000_000);
    assert_eq!(fetch_all(&roomy, &repo, &commit).unwrap(), 3);
}

#[test]
fn an_idle_store_makes_way_for_another_in_the_same_volume_and_one_in_use_does_not() {
    let (repo, commit) = plant(&[("projects/one", 1)]);
    let (other, other_commit) = plant(&[("projects/two", 2)]);
    let volume = volume(0o777);
    let at = |name| Location::in_volume(volume.path(), name).limited_to(310_000);
    assert_eq!(fetch_all(&at("one"), &repo, &commit).unwrap(), 2);
    let in_use = open(&at("one"), &public(&repo.url()), &commit).unwrap();
    let error = fetch_all(&at("two"), &other, &other_commit).unwrap_err();
    assert_eq!(error.reason(), Reason::StoreFull);
    assert!(pack_bytes(&volume.path().join("one")) > 300_000);
    drop(in_use);
    assert_eq!(fetch_all(&at("two"), &other, &other_commit).unwrap(), 2);
    assert_eq!(pack_bytes(&volume.path().join("one")), 0);
}
