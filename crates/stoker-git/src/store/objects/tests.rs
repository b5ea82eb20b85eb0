use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use stoker_testkit::git::{Repo, Tree};

use super::*;

/// A repository with many small files, and their ids.
fn many(count: usize) -> (Repo, Vec<ObjectId>) {
    let tree = (0..count).fold(Tree::new(), |tree, i| tree.file(format!("f{i}"), format!("{i:4}")));
    let (repo, _) = Repo::with(tree).unwrap();
    let listing = repo.git(["ls-tree", "--object-only", "main"]).unwrap();
    let lines = listing.trim_ascii_end().split(|byte| *byte == b'\n');
    let ids: Vec<_> = lines.map(|line| ObjectId::parse_hex(line).unwrap()).collect();
    assert_eq!(ids.len(), count);
    (repo, ids)
}

/// Runs `ask`, and ends git after a minute if the two wait for each other.
fn without_deadlock<T>(cancel: &Cancel, ask: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (done, waited) = channel::<()>();
        scope.spawn(move || {
            if waited.recv_timeout(Duration::from_mins(1)) == Err(RecvTimeoutError::Timeout) {
                cancel.cancel();
            }
        });
        let answer = ask();
        drop(done);
        answer
    })
}

// The kernel gives small pipes to a user who has many: pipe(7), /proc/sys/fs/pipe-user-pages-soft.
#[test]
fn pipes_of_one_page_are_enough_for_any_number_of_requests() {
    let (repo, ids) = many(3000);
    let cancel = Cancel::default();
    let mut objects = Objects::start(repo.path(), &cancel).unwrap();
    let sizes = [
        fcntl_setpipe_size(&objects.requests, 4096),
        fcntl_setpipe_size(objects.responses.get_ref(), 4096),
    ];
    assert_eq!(sizes.map(Result::unwrap), [4096; 2]);
    let (headers, contents) = without_deadlock(&cancel, || {
        (objects.info(&ids), objects.whole(&ids, 100, |_, bytes| bytes.to_vec()))
    });
    let found = Header::Found { kind: ObjectKind::Blob, size: 4 };
    assert!(headers.unwrap().into_iter().all(|header| header == found));
    let contents: std::collections::HashSet<_> = contents.unwrap().into_iter().collect();
    assert_eq!(contents.len(), ids.len());
}

// When memory runs out the kernel kills a large process. The store is not damaged by that.
#[test]
fn a_git_that_was_killed_says_nothing_about_the_store() {
    let (repo, _) = Repo::with(Tree::new().noise("big", 1, 4_000_000).file("small", "1")).unwrap();
    let id = |name: &str| {
        ObjectId::parse_hex(repo.git(["rev-parse", name]).unwrap().trim_ascii_end()).unwrap()
    };
    for ids in [vec![id("main:big")], vec![id("main:small"), id("main:big"), id("main:small")]] {
        let mut objects = Objects::start(repo.path(), &Cancel::default()).unwrap();
        let git = rustix::process::Pid::from_child(&objects.child);
        let ended = objects.contents(&ids, &mut |_, header, content| {
            if matches!(header, Header::Found { size: 4_000_000, .. }) {
                content.read_exact(&mut [0; 1000]).unwrap();
                rustix::process::kill_process(git, Signal::KILL).unwrap();
                content.read_to_end(&mut Vec::new()).unwrap_err();
            }
            Ok(ControlFlow::Continue(()))
        });
        let Err(Error::Read { source: Fault::Other { .. } }) = ended else { panic!("{ended:?}") };
        let asked = objects.info(&ids).unwrap_err();
        assert!(matches!(asked, Error::Read { source: Fault::Other { .. } }), "{asked:?}");
    }
}
