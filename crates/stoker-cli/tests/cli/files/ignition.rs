//! Trees shaped like real Ignition repositories and gateways, and the mistakes that a plant makes
//! with them: nothing that a person or a gateway made is lost, and every refusal says what to do.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use serde_json::Value;
use stoker_testkit::git::ignition;
use stoker_testkit::git::{Edit, Repo, Tree};
use stoker_testkit::tree;

use crate::kit::result::refused;
use crate::kit::world::World;

/// What the git hosting of a project leaves at the top of a repository with one project.
const DOTTED: [(&str, &str); 5] = [
    (".gitignore", "**/.resources/\n"),
    (".gitattributes", "*.bin binary\n"),
    (".editorconfig", "root = true\n"),
    (".github/workflows/ci.yml", "on: push\n"),
    (".github/CODEOWNERS", "* @plant\n"),
];

/// A live gateway's own files, where 8.3 has them.
const OWN: [&str; 10] = [
    ".uuid",
    "redundancy.xml",
    ".ignition-seed-complete",
    "config/ignition/tags/valueStore.idb",
    "config/local/ignition/keystore.p12",
    "config/resources/local/ignition/opc/config.json",
    "config/resources/.resources/cache",
    "projects/.resources/cache",
    "projects/ashford-00/.git/HEAD",
    "projects/ashford-00/.git/objects/00/11",
];

/// A repository of one project: its files lie at the top, beside those of git hosting.
fn one_project() -> Tree {
    let tree = ignition::tree(120, 1);
    let below = tree.iter().filter_map(|(path, entry)| {
        Some((path.strip_prefix(b"projects/ashford-00/")?.to_vec(), entry.clone()))
    });
    let project = below.fold(Tree::new(), |tree, (path, entry)| tree.entry(path, entry));
    DOTTED.iter().fold(project, |tree, (path, text)| tree.file(path, text))
}

/// A data directory of a gateway that has been running for a while.
fn running_gateway() -> World {
    let world = World::new();
    let own = OWN.iter().fold(tree::tree::<&str, &str>([]), |tree, path| tree.file(path, "own"));
    own.write_to(&world.data()).unwrap();
    world
}

fn codes(result: &Value) -> Vec<&str> {
    let warnings = result["warnings"].as_array().unwrap();
    warnings.iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

/// The result of a run that succeeds.
fn json(world: &World, url: &str, more: &[&str]) -> Value {
    world.sync(url, &[&["-o", "json"], more].concat()).exits(0).json()
}

#[track_caller]
fn has_own_files(world: &World) {
    for path in OWN {
        assert_eq!(fs::read_to_string(world.data().join(path)).unwrap(), "own", "{path}");
    }
}

#[test]
fn a_repository_of_one_project_is_copied_with_its_dotted_files() {
    let world = World::new();
    let project = one_project();
    let (repo, _) = Repo::with(project.clone()).unwrap();
    let map = ["--map", ".:projects/line"];
    let result = json(&world, &repo.url(), &map);
    assert_eq!(
        (result["filesAdded"].as_u64(), codes(&result)),
        (Some(project.len() as u64), vec![])
    );
    for (path, text) in DOTTED {
        assert_eq!(world.live().text(format!("projects/line/{path}")), text);
    }
    // The pattern of a directory is enough to leave out all of it.
    let world = World::new();
    json(&world, &repo.url(), &[&map[..], &["--exclude", ".github"]].concat());
    assert!(world.live().get("projects/line/.github").is_none());
    assert!(world.live().get("projects/line/.gitignore").is_some());
}

#[test]
fn the_identity_of_a_gateway_survives_a_repository_that_was_made_from_one() {
    let mut committed = ignition::tree(300, 2);
    for path in OWN.iter().filter(|path| !path.contains(".git")) {
        committed = committed.file(path, "of another gateway");
    }
    let (repo, _) = Repo::with(committed).unwrap();
    // The excludes of a file replace the defaults.
    let file = |world: &World, url: &str| {
        let text = format!(
            "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nmetadata: {{name: g}}\nspec:\n  \
             git: {{repo: {url:?}, ref: main}}\n  sync:\n    defaults: {{excludePatterns: [none]}}\n    \
             profiles:\n      default:\n        mappings:\n        - {{source: config, destination: \
             config}}\n        - {{source: projects, destination: projects}}\n"
        );
        world.file("sync.yaml", text).display().to_string()
    };
    let maps = ["--map", "config:config", "--map", "projects:projects"];
    for more in [&[][..], &["--allow-mass-delete"]] {
        let world = running_gateway();
        let result = json(&world, &repo.url(), &[&maps[..], more].concat());
        assert!(codes(&result).contains(&"IdentityPath"), "{result:#}");
        has_own_files(&world);
        let file = file(&world, &repo.url());
        let words = ["sync", "-f", &file, "--verify", "--data"].map(Into::into);
        let words = words.into_iter().chain([world.data().into_os_string()]);
        world.stoker(words.chain(more.iter().map(Into::into))).exits(0);
        has_own_files(&world);
        assert!(world.live().get("projects/ashford-00/project.json").is_some());
    }
}

#[test]
fn the_name_of_a_gateway_is_set_in_its_local_resources() {
    let world = running_gateway();
    let name = "{\"systemName\": \"{{.GatewayName}}\"}";
    let tree = ignition::tree(40, 3).file("local/config.json", name);
    let (repo, _) = Repo::with(tree).unwrap();
    let place = "config/resources/local/ignition/system-properties";
    let text = format!(
        "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nmetadata: {{name: g}}\nspec:\n  git: \
         {{repo: {:?}, ref: main}}\n  sync:\n    profiles:\n      default:\n        mappings:\n        \
         - {{source: config, destination: config}}\n        - {{source: local, destination: \
         {place}, template: true}}\n",
        repo.url()
    );
    let file = world.file("sync.yaml", text).display().to_string();
    let words = ["sync", "-f", &file, "--gateway-name", "line-4", "--data"].map(Into::into);
    world.stoker(words.into_iter().chain([world.data().into_os_string()])).exits(0);
    let live = world.live();
    assert_eq!(live.text(format!("{place}/config.json")), "{\"systemName\": \"line-4\"}");
    has_own_files(&world);
}

#[test]
fn a_project_that_a_person_made_on_the_gateway_stays_until_that_is_confirmed() {
    let (world, (repo, _)) = (World::new(), Repo::with(ignition::tree(60, 5)).unwrap());
    json(&world, &repo.url(), &[]);
    let made = (0..60).fold(tree::tree::<&str, &str>([]), |tree, n| {
        tree.file(format!("projects/made-here/views/v{n:02}/view.json"), "{}")
    });
    made.write_to(&world.data()).unwrap();
    let result = json(&world, &repo.url(), &[]);
    assert_eq!(
        (codes(&result), &result["status"]),
        (vec!["ForeignFilesKept"], &"unchanged".into())
    );
    let message = result["warnings"][0]["message"].as_str().unwrap();
    let said = "60 files were kept that no sync brought: projects/made-here/views/v00/view.json, ";
    assert!(message.starts_with(said) && message.ends_with("--allow-mass-delete"), "{message}");
    let place = "projects/made-here";
    assert_eq!(made.below(place), world.live().below(place));
    // A few files of litter stay with it, and every other change goes on.
    fs::write(world.data().join("projects/ashford-00/litter"), "l").unwrap();
    repo.commit(Edit::put(Tree::new().file("projects/ashford-00/new.json", "{}"))).unwrap();
    let result = json(&world, &repo.url(), &[]);
    assert_eq!((codes(&result), &result["filesAdded"]), (vec!["ForeignFilesKept"], &1.into()));
    let run = world.sync(&repo.url(), &["--allow-mass-delete"]).exits(0);
    assert!(run.stdout.contains("deleted    61"), "{run:?}");
    assert!(!(run.stderr + &run.stdout).contains("repaired"));
    assert!(world.live().get("projects/made-here").is_none());
    assert_eq!(codes(&json(&world, &repo.url(), &[])), [""; 0]);
}

#[test]
fn a_few_foreign_files_are_deleted_and_reported() {
    let (world, (repo, _)) = (World::new(), Repo::with(ignition::tree(60, 6)).unwrap());
    json(&world, &repo.url(), &[]);
    fs::write(world.data().join("projects/ashford-00/litter"), "l").unwrap();
    let run = world.sync(&repo.url(), &[]).exits(0);
    let said = "projects/ashford-00/litter: was added on the gateway: deleted";
    assert!(run.stderr.contains(said) && !run.stderr.contains("repaired"), "{run:?}");
}

#[test]
fn what_root_brings_belongs_to_the_owner_of_the_data_directory() {
    let (world, (repo, _)) = (World::new(), Repo::with(ignition::tree(60, 9)).unwrap());
    if std::os::unix::fs::chown(world.data(), Some(2003), Some(2003)).is_err() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    json(&world, &repo.url(), &["--map", "projects:projects", "--map", "config:config"]);
    let mut places = vec![world.data()];
    while let Some(place) = places.pop() {
        let meta = fs::symlink_metadata(&place).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (2003, 2003), "{}", place.display());
        if meta.is_dir() {
            places.extend(fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}

#[test]
fn a_file_that_is_mapped_over_a_directory_stops_with_the_slash_in_the_hint() {
    let (world, (repo, _)) = (World::new(), Repo::with(one_project()).unwrap());
    let views =
        "com.inductiveautomation.perspective:projects/p/com.inductiveautomation.perspective";
    for maps in [[views, "project.json:projects/p"], ["project.json:projects/p", views]] {
        let run = world.sync(&repo.url(), &["--map", maps[0], "--map", maps[1], "-o", "json"]);
        refused(run, 1, "Conflict", &["projects/p"]);
        assert_eq!(world.live(), tree::tree::<&str, &str>([]));
    }
    json(&world, &repo.url(), &["--map", views, "--map", "project.json:projects/p/"]);
    assert!(world.live().get("projects/p/project.json").is_some());
}

#[test]
fn a_linked_destination_is_refused_with_the_way_out() {
    let (world, (repo, _)) = (World::new(), Repo::with(ignition::tree(30, 10)).unwrap());
    fs::create_dir(world.path("volume")).unwrap();
    symlink("../volume", world.data().join("projects")).unwrap();
    refused(world.sync(&repo.url(), &["-o", "json"]), 1, "Conflict", &["projects"]);
    let plan = world.words("plan", &repo.url(), &["-o", "json", "--follow", "projects"]);
    assert!(world.stoker(plan).exits(0).json()["filesAdded"].as_u64() > Some(10));
    json(&world, &repo.url(), &["--follow", "projects"]);
    assert!(world.path("volume/ashford-00/project.json").exists());
    let again = json(&world, &repo.url(), &["--follow", "projects"]);
    assert_eq!((&again["status"], codes(&again)), (&"unchanged".into(), vec![]));
    world.sync(&repo.url(), &["--follow", "/etc"]).exits(2);
}

#[test]
fn head_and_a_range_of_versions_are_resolved() {
    let (world, (repo, id)) = (World::new(), Repo::with(ignition::tree(30, 11)).unwrap());
    repo.git(["symbolic-ref", "HEAD", "refs/heads/main"]).unwrap();
    let result = json(&world, &repo.url(), &["--ref", "HEAD"]);
    assert_eq!((&result["commit"], &result["ref"]), (&id.to_string().into(), &"HEAD".into()));
    repo.git(["tag", "v2.1.0", "main"]).unwrap();
    let run = world.sync(&repo.url(), &["--ref", "semver:^2"]).exits(0);
    assert!(run.stdout.contains("refs/tags/v2.1.0"), "{run:?}");
}
