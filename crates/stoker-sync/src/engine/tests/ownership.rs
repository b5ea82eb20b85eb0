//! Claims about what is ours to delete, and what never is.

use super::*;

// F18: also below a destination that is nested, and with files that no sync brought.
#[test]
fn files_that_left_the_commit_go_with_their_empty_directories() {
    for to in ["projects", "projects/site/views"] {
        let scratch = Scratch::new();
        let map = format!("p:{to}");
        let old = Commit::of([("p/a/b/c/one", "1"), ("p/a/two", "2")]);
        sync(&scratch, &old, &request(&old, [&*map])).unwrap();
        scratch.write(format!("data/{to}/a/x/y/orphan"), "f");
        let new = Commit::of([("p/a/two", "2")]);
        let wanted = checking(request(&new, [&*map]), DriftCheck::Stat);
        let report = sync(&scratch, &new, &wanted).unwrap();
        let gone = ["a/b/c/one", "a/x/y/orphan"].map(|path| format!("{to}/{path}"));
        assert_eq!(strings(&report.deleted.paths), gone);
        assert!(scratch.exists(format!("data/{to}/a/two")));
        for path in ["a/b", "a/x"] {
            assert!(!scratch.exists(format!("data/{to}/{path}")), "{to}/{path}");
        }
    }
}

// R15: a trailing slash means nothing.
#[test]
fn orphans_go_from_managed_directories_and_from_nowhere_else() {
    let scratch = Scratch::new();
    scratch.write("data/projects/a/foreign/x", "f");
    scratch.write("data/db/live.db", "d");
    scratch.write("data/redundancy.xml", "r");
    let commit = Commit::of([("p/a/v", "1")]);
    sync(&scratch, &commit, &request(&commit, ["p:projects/"])).unwrap();
    assert!(!scratch.exists("data/projects/a/foreign"));
    assert_eq!(scratch.read("data/db/live.db"), "d");
    assert_eq!(scratch.read("data/redundancy.xml"), "r");
}

#[test]
fn the_data_root_is_never_pruned() {
    let scratch = Scratch::new();
    scratch.write("data/db/live.db", "d");
    let old = Commit::of([("a", "1"), ("projects/x", "2")]);
    sync(&scratch, &old, &request(&old, [".:."])).unwrap();
    let new = Commit::of([("a", "1")]);
    sync(&scratch, &new, &request(&new, [".:."])).unwrap();
    assert!(scratch.exists("data/db/live.db") && !scratch.exists("data/projects"));
}

// F14: a file of the root owns nothing beside it, neither when it comes nor when it goes.
#[test]
fn a_file_mapped_to_the_root_deletes_nothing_beside_it() {
    let scratch = Scratch::new();
    for path in ["db/live.db", "projects/own/project.json", "other.json"] {
        scratch.write(format!("data/{path}"), "gateway's");
    }
    let commit = Commit::of([(".versions.json", "1"), ("p/line/x", "1")]);
    let before = scratch.files("data");
    for check in [DriftCheck::Touched, DriftCheck::Stat, DriftCheck::Content] {
        let wanted = request(&commit, [".versions.json:.versions.json"]);
        sync(&scratch, &commit, &checking(wanted, check)).unwrap();
        let mut with_ours = scratch.files("data");
        assert!(with_ours.remove(&b".versions.json"[..]).is_some());
        assert_eq!(with_ours, before, "{check:?}");
    }
    sync(&scratch, &commit, &request(&commit, ["p/line:projects/line"])).unwrap();
    let mut after = scratch.files("data");
    assert!(after.remove(&b"projects/line/x"[..]).is_some());
    assert_eq!(after, before);
}

#[test]
fn without_pruning_only_our_own_files_go() {
    let scratch = Scratch::new();
    scratch.write("data/projects/foreign", "f");
    let careful = |commit: &Commit| {
        let mut request = request(commit, ["p:projects"]);
        request.mappings[0].prune = Prune::OwnOnly;
        request
    };
    let old = Commit::of([("p/a", "1"), ("p/b", "2")]);
    sync(&scratch, &old, &careful(&old)).unwrap();
    let new = Commit::of([("p/a", "1")]);
    sync(&scratch, &new, &careful(&new)).unwrap();
    assert!(scratch.exists("data/projects/foreign") && !scratch.exists("data/projects/b"));
}

// R41
#[test]
fn a_removed_mapping_takes_its_files_with_it() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1"), ("c/b", "2"), ("one.txt", "3")]);
    sync(&scratch, &commit, &request(&commit, ["p:projects", "c:config/x", "one.txt:etc/one"]))
        .unwrap();
    sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap();
    assert!(scratch.exists("data/projects/a"));
    assert!(!scratch.exists("data/config/x/b") && !scratch.exists("data/etc/one"));
}

// R17, A14
#[test]
fn identity_and_cache_are_untouchable_even_if_git_holds_them() {
    let scratch = Scratch::new();
    let kept =
        ["config/local/key", "config/resources/local/k", "config/.resources/c", "redundancy.xml"];
    for path in kept {
        scratch.write(format!("data/{path}"), "gateway's own");
    }
    let commit = Commit::of([
        ("config/local/key", "git"),
        ("config/a", "git"),
        ("config/.resources/c", "git"),
        ("projects/p", "git"),
        ("redundancy.xml", "git"),
    ]);
    let maps = ["config:config", "projects:projects", "redundancy.xml:redundancy.xml"];
    let report = sync(&scratch, &commit, &request(&commit, maps)).unwrap();
    for path in kept {
        assert_eq!(scratch.read(format!("data/{path}")), "gateway's own", "{path}");
    }
    let paths: Vec<_> = report.warnings.iter().map(|warning| warning.path.to_string()).collect();
    assert_eq!(paths, ["config/local", "redundancy.xml", "config/.resources"]);
    assert_eq!(codes(&report), ["IdentityPath", "IdentityPath", "RuntimeFilesInGit"]);
}

// R17: no file of ours takes the place of a directory that holds one, empty or not.
#[test]
fn a_directory_of_the_gateways_own_is_in_the_way_though_it_is_empty() {
    for (map, own) in [
        ("p:config", "config/local"),
        ("p:config", "config/resources/local"),
        ("p:projects/a", "projects/a/.resources"),
    ] {
        let scratch = Scratch::new();
        scratch.make_dir(format!("data/{own}"));
        let commit = Commit::of([("p", "file")]);
        sync(&scratch, &commit, &request(&commit, [map])).unwrap_err();
        assert!(scratch.exists(format!("data/{own}")), "{own}");
    }
}

// A10
#[test]
fn orphans_in_a_directory_that_becomes_a_file_go_with_it() {
    let dir = Commit::of([("p/q/a/x", "dir"), ("p/b", "1")]);
    let file = Commit::of([("p/q/a", "file"), ("p/b", "1")]);
    for check in [DriftCheck::Touched, DriftCheck::Stat, DriftCheck::Content] {
        let scratch = Scratch::new();
        sync(&scratch, &dir, &request(&dir, ["p:projects"])).unwrap();
        scratch.write("data/projects/q/a/orphan", "o");
        scratch.write("data/projects/q/a/below/orphan", "o");
        let wanted = checking(request(&file, ["p:projects"]), check);
        let report = sync(&scratch, &file, &wanted).unwrap();
        let gone = ["projects/q/a/below/orphan", "projects/q/a/orphan", "projects/q/a/x"];
        assert_eq!(strings(&report.deleted.paths), gone, "{check:?}");
        assert_eq!(scratch.read("data/projects/q/a"), "file");
        assert!(!scratch.exists("data/.sync-staging"));
    }
}

// A13
#[test]
fn orphans_that_may_not_go_keep_a_directory_from_becoming_a_file() {
    let dir = Commit::of([("p/a/x", "dir"), ("p/b", "1")]);
    let file = Commit::of([("p/a", "file"), ("p/b", "1")]);
    let scratch = Scratch::new();
    sync(&scratch, &dir, &request(&dir, ["p:projects"])).unwrap();
    for number in 0..60 {
        scratch.write(format!("data/projects/a/{number}"), "foreign");
    }
    let before = scratch.state();
    let wanted = request(&file, ["p:projects"]);
    let refused = sync(&scratch, &file, &wanted).unwrap_err();
    assert!(refused.to_string().contains("projects/a"), "too many at once: {refused}");
    let mut spared = unlimited(wanted.clone());
    spared.mappings[0].prune = Prune::OwnOnly;
    let refused = sync(&scratch, &file, &spared).unwrap_err();
    assert!(refused.to_string().contains("projects/a"), "not ours to delete: {refused}");
    assert_eq!(scratch.state(), before);
    sync(&scratch, &file, &unlimited(wanted)).unwrap();
    assert_eq!(scratch.read("data/projects/a"), "file");
}

#[test]
fn excluded_files_are_neither_written_nor_deleted_and_are_forgotten() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1"), ("p/keep.txt", "2"), ("p/tmp/x", "3")]);
    let plain = request(&commit, ["p:projects"]);
    sync(&scratch, &commit, &plain).unwrap();
    scratch.write("data/projects/tmp/foreign", "f");
    let excluding = Request {
        excludes: stoker_text::glob::Excludes::parse(["keep.txt", "projects/tmp/"]).unwrap(),
        ..plain.clone()
    };
    sync(&scratch, &commit, &checking(excluding.clone(), DriftCheck::Stat)).unwrap();
    for path in ["keep.txt", "tmp/x", "tmp/foreign"] {
        assert!(scratch.exists(format!("data/projects/{path}")), "{path}");
    }
    let new = Commit::of([("p/a", "1")]);
    let excluding = Request { commit: "2".into(), ..excluding };
    sync(&scratch, &new, &excluding).unwrap();
    assert!(scratch.exists("data/projects/keep.txt") && scratch.exists("data/projects/tmp/x"));
}

// The store of tag values of a real 8.3 gateway, and clones that people work in.
#[test]
fn identity_files_stay_wherever_they_are_and_whatever_is_excluded() {
    let kept = [
        "config/ignition/tags/valueStore.idb",
        "config/local/keystore.p12",
        "config/resources/local/ignition/opc/config.json",
        "projects/a/.git/HEAD",
        "projects/a/.git/objects/00/11",
        "projects/a/.resources/x",
        "projects/.resources/x",
        ".uuid",
        "redundancy.xml",
        ".ignition-seed-complete",
    ];
    let old = Commit::of([("config/ignition/tags/t.json", "1"), ("projects/a/v", "1")]);
    let new = Commit::of([
        ("config/ignition/tags/t.json", "2"),
        ("config/ignition/tags/valueStore.idb", "git"),
        ("config/resources/local/ignition/opc/config.json", "git"),
        ("projects/a/v", "2"),
    ]);
    for maps in [&["config:config", "projects:projects"][..], &[".:."]] {
        for check in [DriftCheck::Touched, DriftCheck::Stat, DriftCheck::Content] {
            let scratch = Scratch::new();
            for path in kept {
                scratch.write(format!("data/{path}"), "own");
            }
            for commit in [&old, &new] {
                let mut wanted = checking(unlimited(request(commit, [])), check);
                wanted.mappings = maps.iter().map(|text| map(text)).collect();
                // A profile's own patterns replace the defaults.
                wanted.excludes = stoker_text::glob::Excludes::parse(["none"]).unwrap();
                sync(&scratch, commit, &wanted).unwrap();
                sync(&scratch, commit, &wanted).unwrap();
            }
            for path in kept {
                assert_eq!(
                    scratch.read(format!("data/{path}")),
                    "own",
                    "{path} {maps:?} {check:?}"
                );
            }
            assert_eq!(scratch.read("data/projects/a/v"), "2");
        }
    }
}

// `systemName` of each gateway is set this way.
#[test]
fn a_mapping_into_local_resources_owns_the_files_that_it_brings() {
    let scratch = Scratch::new();
    let place = "data/config/resources/local/ignition";
    scratch.write(format!("{place}/system-properties/resource.json"), "gateway's");
    scratch.write(format!("{place}/opc/config.json"), "gateway's");
    let maps = ["c:config", "local:config/resources/local/ignition/system-properties"];
    let commit = |name: &str| {
        Commit::of([
            ("c/resources/local/ignition/opc/config.json", "git"),
            ("c/resources/core/x", "1"),
            ("local/config.json", name),
            ("local/old.json", "1"),
        ])
    };
    let report = sync(&scratch, &commit("a"), &request(&commit("a"), maps)).unwrap();
    assert_eq!(codes(&report), ["IdentityPath"]);
    let next = Commit::of([("c/resources/core/x", "1"), ("local/config.json", "b")]);
    let wanted = checking(request(&next, maps), DriftCheck::Stat);
    let report = sync(&scratch, &next, &wanted).unwrap();
    let gone = ["config/resources/local/ignition/system-properties/old.json"];
    assert_eq!(strings(&report.deleted.paths), gone);
    assert_eq!(scratch.read(format!("{place}/system-properties/config.json")), "b");
    assert_eq!(scratch.read(format!("{place}/system-properties/resource.json")), "gateway's");
    assert_eq!(scratch.read(format!("{place}/opc/config.json")), "gateway's");
    // Without the mapping it is the gateway's identity again: it stays.
    sync(&scratch, &next, &unlimited(request(&next, ["c:config"]))).unwrap();
    assert_eq!(scratch.read(format!("{place}/system-properties/config.json")), "b");
}

// `--map project.json:projects/p`, with the slash forgotten.
#[test]
fn a_file_mapped_over_a_directory_of_another_mapping_is_a_conflict() {
    let commit = Commit::of([("views/v", "1"), ("project.json", "{}"), ("all/p/views/v", "1")]);
    for maps in [
        ["views:projects/p/views", "project.json:projects/p"],
        ["project.json:projects/p", "views:projects/p/views"],
        ["all:projects", "project.json:projects/p"],
        ["project.json:projects/p", "all:projects"],
    ] {
        let scratch = Scratch::new();
        scratch.write("data/projects/keep", "k");
        let refused = refusal(sync(&scratch, &commit, &request(&commit, maps)));
        let plan::Error::Compose { source: compose::Error::FileOverDirectory { path, file } } =
            refused
        else {
            panic!("{refused:?}")
        };
        assert_eq!(strings(&[path, file]), ["projects/p", "project.json"]);
        assert!(!scratch.exists("data/projects/p") && scratch.exists("data/projects/keep"));
    }
    let scratch = Scratch::new();
    let maps = ["views:projects/p/views", "project.json:projects/p/project.json"];
    sync(&scratch, &commit, &request(&commit, maps)).unwrap();
    assert!(scratch.exists("data/projects/p/views/v"));
}

// As root, new files belong to the owner of the data directory.
#[test]
fn what_root_makes_gets_the_owner_of_the_data_directory() {
    let scratch = Scratch::new();
    scratch.make_dir("data");
    if !scratch.chown("data", 2003, 2004) {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let old = Commit::of([("p/a/b/view.json", "1"), ("p/a/resource.json", "{}")]);
    let new = Commit::of([("p/a/b/view.json", "2"), ("p/a/resource.json", "{}"), ("p/new/x", "3")]);
    for commit in [&old, &new] {
        sync(&scratch, commit, &request(commit, ["p:projects"])).unwrap();
        for path in ["projects", "projects/a", "projects/a/b/view.json", ".stoker", ".stoker/lock"]
        {
            assert_eq!(scratch.owner(format!("data/{path}")), (2003, 2004), "{path}");
        }
    }
    assert_eq!(scratch.owner("data/projects/new/x"), (2003, 2004));
    assert_eq!(scratch.mode("data/projects/new/x"), 0o644);
}
