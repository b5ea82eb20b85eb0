//! A user without an entry in passwd, and files that belong to another user.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Edit, Repo, Tree};
use stoker_testkit::skip;

use crate::kit::world::{Run, STOKER, World, plant, plant_files};

/// A uid that no passwd knows.
const STRANGER: u32 = 65432;

struct Stranger {
    world: World,
    repo: Repo,
    _server: HttpServer,
    url: String,
}

impl Stranger {
    fn or_skip() -> Option<Self> {
        if !rustix::process::getuid().is_root() {
            skip::record("only root can become another user");
            return None;
        }
        let (world, repo) = (World::new(), plant());
        let server = HttpServer::start().unwrap();
        let url = server.mount("plant", &repo);
        fs::set_permissions(world.root(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["data", "tmp"] {
            chown(world.path(name), Some(STRANGER), Some(STRANGER)).unwrap();
        }
        Some(Self { world, repo, _server: server, url })
    }

    fn sync(&self, more: &[&str]) -> Run {
        let id = STRANGER.to_string();
        let become_one = ["--reuid", &id, "--regid", &id, "--clear-groups", "--", STOKER];
        let mut words = become_one.map(Into::into).to_vec();
        words.extend(self.world.words("sync", &self.url, more));
        let mut command = self.world.command("setpriv", words);
        command.env_remove("HOME").env_remove("XDG_CACHE_HOME");
        Run::ended(command)
    }
}

#[test]
fn a_user_without_a_name_and_a_home_can_sync() {
    let Some(stranger) = Stranger::or_skip() else { return };
    stranger.sync(&[]).exits(0);
    assert_eq!(stranger.world.live(), plant_files());
    let run = stranger.sync(&["-o", "json"]).exits(0);
    assert_eq!(run.json()["status"], "unchanged");
    let store = stranger.world.path("tmp").join(format!("stoker-{STRANGER}"));
    let mode = fs::metadata(&store).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "nobody else gets at the store");
}

// The gateway may run as another user, and own what it saved.
#[test]
fn a_file_of_another_user_is_replaced_where_its_mode_should_change() {
    let Some(stranger) = Stranger::or_skip() else { return };
    let oven = "projects/oven/project.json";
    let live = stranger.world.data().join(oven);
    stranger.sync(&[]).exits(0);
    chown(&live, Some(2003), Some(2003)).unwrap();
    let content = fs::read(&live).unwrap();
    let executable = Tree::new().executable(oven, &content);
    stranger.repo.commit_to("main", Edit::put(executable)).unwrap();
    let run = stranger.sync(&["-o", "json"]).exits(0);
    assert_eq!(run.json()["filesModified"], 1);
    let looks = |mode: u32| {
        let found = fs::metadata(&live).unwrap();
        assert_eq!((found.mode() & 0o7777, found.uid()), (mode, STRANGER));
        assert_eq!(fs::read(&live).unwrap(), content);
    };
    looks(0o755);
    // The same for drift, and for a file that can't even be read.
    for wrong in [0o666, 0o600] {
        chown(&live, Some(2003), Some(2003)).unwrap();
        fs::set_permissions(&live, fs::Permissions::from_mode(wrong)).unwrap();
        stranger.sync(&[]).exits(0);
        looks(0o755);
    }
}

// Not to be taken for a volume without permissions.
#[test]
fn a_lock_file_that_another_user_opened_to_all_hides_no_drift() {
    let Some(stranger) = Stranger::or_skip() else { return };
    stranger.sync(&[]).exits(0);
    let (live, lock) = (stranger.world.data().join("projects/oven/project.json"), ".stoker/lock");
    let lock = stranger.world.data().join(lock);
    chown(&lock, Some(2003), Some(2003)).unwrap();
    for path in [&lock, &live] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
    }
    stranger.sync(&[]).exits(0);
    assert_eq!(fs::metadata(&live).unwrap().mode() & 0o7777, 0o644);
    stranger.sync(&[]).exits(0);
}
