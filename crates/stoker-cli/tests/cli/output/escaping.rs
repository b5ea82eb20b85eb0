//! No byte that a user, a file or a path contains reaches the terminal as a command.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use crate::kit::world::{Run, World};

/// Claims that no control character was printed, and that this was.
#[track_caller]
fn tells(run: &Run, word: &str) {
    let is_raw = |char: char| char.is_control() && char != '\n';
    assert!(!run.stderr.contains(is_raw) && !run.stdout.contains(is_raw), "{run:?}");
    assert!(!run.stderr.contains('\u{fffd}'), "{run:?}");
    run.says(&[word]);
}

fn sync(world: &World, more: &[&OsStr]) -> Run {
    let words = ["sync", "--repo", "https://nowhere.invalid/a.git", "--ref", "main"];
    let words = words.iter().map(OsStr::new).chain(more.iter().copied());
    world.stoker(words.map(OsStr::to_owned).collect::<Vec<OsString>>())
}

#[test]
fn what_the_command_line_says_is_escaped() {
    let world = World::new();
    let flags: &[(&[&[u8]], &str)] = &[
        (&[b"--data", b"data", b"--map", b"svc:x\x1b[31my"], r"\033[31my"),
        (&[b"--data", b"data", b"-f", b"no\x1b[31m.yaml"], r"\033[31m.yaml"),
        (&[b"--data", b"data", b"--bo\x1b[31mgus"], r"\033[31mgus"),
        (&[b"--map", b"a:b", b"--data", b"data", b"--var", b"a\x1b[31m=1"], "31m"),
        (&[b"--map", b"a:b", b"--data", b"data", b"--timeout", b"\x1b[31m"], "31m"),
        (&[b"--map", b"a:b", b"--data", b"a\xff", b"--store", b"a\xff/x\x1b"], r"\377/x\033"),
    ];
    for (more, word) in flags {
        let more: Vec<&OsStr> = more.iter().map(|word| OsStr::from_bytes(word)).collect();
        tells(&sync(&world, &more).exits(2), word);
    }
}

#[test]
fn a_directory_that_fails_is_named_as_git_would() {
    let world = World::new();
    std::fs::create_dir(world.path("work")).unwrap();
    for (name, word) in [(&b"no\x1b[31m"[..], r#""no\033[31m""#), (b"no\xff", r#""no\377""#)] {
        let words = ["dev", "work", "--once", "--map", ".:projects", "--data"];
        let words = words.iter().map(OsStr::new).chain([OsStr::from_bytes(name)]);
        tells(&world.stoker(words).exits(1), word);
        let words = [OsStr::new("dev"), OsStr::from_bytes(name), OsStr::new("--data=data")];
        tells(&world.stoker(words).exits(2), word);
    }
}

#[test]
fn what_a_file_says_is_escaped() {
    let world = World::new();
    let file = |name: &str, field: &str| {
        format!(
            "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nmetadata: {{name: \"{name}\"}}\n\
             spec: {{\"{field}\": 1, git: {{repo: 'https://nowhere.invalid/a.git', ref: main}}}}\n"
        )
    };
    for yaml in [file(r"x\e[31m", "odd"), file("plant", r"x\e[31m"), file(r"a\nerror: b", "odd")] {
        let path = world.file("sync.yaml", yaml);
        let run = sync(&world, &["--data=data".as_ref(), "-f".as_ref(), path.as_os_str()]).exits(2);
        tells(&run, if run.stderr.contains("error: b") { r"a\nerror: b" } else { r"\033[31m" });
    }
}
