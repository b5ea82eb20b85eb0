//! Resolves refs of real repositories.

use std::fs;

use stoker_api::condition::Reason;
use stoker_api::remedy::Remedy;
use stoker_core::refs::{Unreachable, Warning};
use stoker_git::Error;
use stoker_git::diagnosis::Fault;
use stoker_testkit::git::{Edit, Oid, Repo, Tree};
use stoker_testkit::skip;

use crate::world::{Place, public};

fn file(text: &str) -> Edit {
    Edit::put(Tree::new().file("f", text))
}

/// Two commits on `main`, a branch, tags of every kind, a name that is both.
struct World {
    repo: Repo,
    first: String,
    second: String,
}

fn world() -> World {
    let (repo, first) = Repo::with(file("1")).unwrap();
    let second = repo.commit(file("2")).unwrap();
    repo.git(["branch", "both", first.as_str()]).unwrap();
    repo.git(["tag", "both", second.as_str()]).unwrap();
    repo.git(["tag", "v1.0.0", first.as_str()]).unwrap();
    tag(&repo, "v1.10.0", second.as_str());
    tag(&repo, "nested", "refs/tags/v1.10.0");
    repo.git(["branch", &"c".repeat(40), first.as_str()]).unwrap();
    repo.git(["update-ref", "refs/pull/1/head", first.as_str()]).unwrap();
    World { repo, first: first.to_string(), second: second.to_string() }
}

fn tag(repo: &Repo, name: &str, target: &str) {
    let who = ["-c", "user.name=t", "-c", "user.email=t@example"];
    let [a, b, c, d] = who;
    repo.git([a, b, c, d, "tag", "-a", "-m", "t", name, target]).unwrap();
}

// B6, F13, F26: the same table as in stoker-core, against what git really advertises.
#[test]
fn every_kind_of_ref_resolves_as_git_has_it() {
    let World { repo, first, second } = world();
    let place = Place::new();
    let access = public(&repo.url());
    let short = &first[..7];
    let cases = [
        ("main", "refs/heads/main", &second),
        ("refs/heads/both", "refs/heads/both", &first),
        ("both", "refs/heads/both", &first),
        ("v1.10.0", "refs/tags/v1.10.0", &second),
        ("nested", "refs/tags/nested", &second),
        ("semver:^1", "refs/tags/v1.10.0", &second),
        ("semver:>=1.0, <1.5", "refs/tags/v1.0.0", &first),
        ("refs/pull/1/head", "refs/pull/1/head", &first),
        (&second, &second, &second),
        (short, &first, &first),
    ];
    for (wanted, name, commit) in cases {
        let found = place.resolve(&access, wanted).unwrap_or_else(|e| panic!("{wanted}: {e:?}"));
        assert_eq!((&*found.name, found.commit.as_str()), (name, commit.as_str()), "{wanted}");
    }
    let both = place.resolve(&access, "both").unwrap();
    assert!(matches!(both.warnings[..], [Warning::BranchAndTag { .. }]));
}

#[test]
fn names_and_tips_need_no_store() {
    let World { repo, second, .. } = world();
    let place = Place::new();
    for wanted in ["main", "v1.0.0", "semver:*", &second] {
        place.resolve(&public(&repo.url()), wanted).unwrap();
    }
    assert!(!place.directory().exists());
}

// B8, R56: what a fork left on the server is not ours.
#[test]
fn a_commit_that_no_branch_or_tag_reaches_is_refused_unless_allowed() {
    let World { repo, .. } = world();
    repo.config("uploadpack.allowAnySHA1InWant", "true").unwrap();
    let aside = repo.unreachable(file("evil")).unwrap();
    let place = Place::new();
    let access = public(&repo.url());
    let error = place.resolve(&access, aside.as_str()).unwrap_err();
    assert_eq!(error.reason(), Reason::RefNotFound);
    assert_eq!(error.remedy(), Some(Remedy::AllowUnreachable));
    let allowed = place.resolve_with(&access, aside.as_str(), Unreachable::Allowed).unwrap();
    assert_eq!(allowed.commit.as_str(), aside.as_str());
    assert!(matches!(allowed.warnings[..], [Warning::Unreachable { .. }]));
    place.commit(&access, &aside).unwrap();
}

#[test]
fn an_old_commit_is_found_once_and_then_remembered() {
    let (repo, old) = Repo::with(file("0")).unwrap();
    repo.history("main", (1..20).map(|i| file(&i.to_string()))).unwrap();
    repo.config("uploadpack.allowFilter", "true").unwrap();
    let place = Place::new();
    let access = public(&repo.url());
    place.resolve(&access, &old.as_str()[..9]).unwrap();
    let history = place.directory().join("history.git");
    assert!(history.join("objects/pack").read_dir().unwrap().count() > 0);
    fs::remove_dir_all(&history).unwrap();
    let again = place.resolve(&access, &old.as_str()[..9]).unwrap();
    assert_eq!(again.commit.as_str(), old.as_str());
    assert_eq!(history.join("objects/pack").read_dir().unwrap().count(), 0);
}

#[test]
fn a_tag_on_a_directory_or_a_file_disturbs_no_other_ref() {
    let (repo, old) = Repo::with(Tree::new().file("f", "0").file("d/e/g", "0")).unwrap();
    repo.history("main", (1..20).map(|i| file(&i.to_string()))).unwrap();
    repo.config("uploadpack.allowFilter", "true").unwrap();
    repo.git(["tag", "on-tree", "main^{tree}"]).unwrap();
    repo.git(["tag", "on-file", "main:f"]).unwrap();
    tag(&repo, "annotated", "main~3:d");
    tag(&repo, "on-commit", "main~2");
    let place = Place::new();
    let access = public(&repo.url());
    for _ in 0..2 {
        let found = place.resolve(&access, &old.as_str()[..9]).unwrap();
        assert_eq!(found.commit.as_str(), old.as_str());
        fs::remove_file(place.directory().join("known-commits")).unwrap();
    }
    let none = place.resolve(&access, &"0".repeat(40)).unwrap_err();
    assert_eq!(none.reason(), Reason::RefNotFound);
}

#[test]
fn an_ambiguous_short_id_lists_its_candidates() {
    // Two ids meet in seven digits by chance; commits of tests are always the same, so once found
    // they meet every time.
    let (repo, _) = Repo::with(file("0")).unwrap();
    repo.config("uploadpack.allowFilter", "true").unwrap();
    let commits = repo.history("main", (0..20_400).map(|i| file(&i.to_string()))).unwrap();
    let mut sorted: Vec<_> = commits.iter().map(Oid::as_str).collect();
    sorted.sort_unstable();
    let twins = sorted.windows(2).find(|pair| pair[0][..7] == pair[1][..7]).unwrap();
    let place = Place::new();
    let error = place.resolve(&public(&repo.url()), &twins[0][..7]).unwrap_err();
    let Error::Resolve { source, .. } = &error else { panic!("{error:?}") };
    assert!(source.to_string().contains(twins[0]) && source.to_string().contains(twins[1]));
}

// S9, B5: what is gone is said to be gone.
#[test]
fn missing_refs_and_missing_repositories_are_distinguished() {
    let World { repo, .. } = world();
    let place = Place::new();
    let error = place.resolve(&public(&repo.url()), "develop").unwrap_err();
    assert_eq!(error.reason(), Reason::RefNotFound);
    let error = place.resolve(&public("file:///nowhere/at/all.git"), "main").unwrap_err();
    assert!(matches!(error.fault(), Some(Fault::NotFound { .. })), "{error:?}");
    assert_eq!(error.reason(), Reason::RemoteUnreachable);
    let empty = Repo::empty().unwrap();
    let error = place.resolve(&public(&empty.url()), "main").unwrap_err();
    assert_eq!(error.reason(), Reason::RefNotFound);
}

// F12: the user named the path, so its owner does not matter.
#[test]
fn a_repository_of_another_user_can_be_named_explicitly() {
    let World { repo, second, .. } = world();
    let owned =
        std::process::Command::new("chown").args(["-R", "12345:12345"]).arg(repo.path()).status();
    if !owned.unwrap().success() {
        return skip::record("only root can give files away");
    }
    let place = Place::new();
    let found = place.resolve(&public(&repo.url()), "main").unwrap();
    assert_eq!(found.commit.as_str(), second);
}

#[test]
fn a_repository_with_the_object_format_sha256_is_reported() {
    let (repo, _) = Repo::with(file("1")).unwrap();
    let place = Place::new();
    let other = place.root.path().join("sha256.git");
    let other = other.to_str().unwrap();
    repo.git(["init", "--quiet", "--bare", "--object-format=sha256", other]).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    let tree = repo.git(["-C", other, "hash-object", "-t", "tree", "-w", "/dev/null"]);
    let tree = text(tree.unwrap());
    for (name, value) in [("user.name", "t"), ("user.email", "t@example")] {
        repo.git(["-C", other, "config", name, value]).unwrap();
    }
    let commit = text(repo.git(["-C", other, "commit-tree", "-m", "1", &tree]).unwrap());
    repo.git(["-C", other, "update-ref", "refs/heads/main", &commit]).unwrap();
    let access = public(&format!("file://{other}"));
    let error = place.resolve(&access, "main").unwrap_err();
    assert!(matches!(error.fault(), Some(Fault::ObjectFormat)), "{error:?}");
    assert_eq!(error.reason(), Reason::RefResolutionFailed);
    assert!(matches!(error.remedy(), Some(Remedy::Step(step)) if step.contains("SHA-1")));
    let error = place.commit(&access, &Oid::unknown(1)).unwrap_err();
    assert!(matches!(error.fault(), Some(Fault::ObjectFormat)), "{error:?}");
}
