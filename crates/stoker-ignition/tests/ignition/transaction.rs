//! The whole flow as a caller goes through it, under a gateway that scans all the time by itself.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use fake_gateway as fake;
use stoker_ignition::{DataDirectory, Gateway, Halves, Lock, Policy, Preflight, Verification};

use crate::support::{World, write};

const VIEWS: usize = 40;

fn views() -> impl Iterator<Item = String> {
    (0..VIEWS).map(|view| format!("projects/plant/views/{view}/view.json"))
}

/// Temporary files beside their destinations, as the engine makes them.
fn write_temporaries(data: &Path, generation: usize) {
    for view in views() {
        write(data, &view.replace("view.json", ".stoker-view"), &format!("{{\"g\":{generation}}}"));
    }
}

fn rename(data: &Path) {
    for view in views() {
        let temporary = data.join(view.replace("view.json", ".stoker-view"));
        std::fs::rename(temporary, data.join(view)).unwrap();
    }
}

fn sync(gateway: &Gateway, data: &Path, generation: usize) {
    assert!(matches!(
        gateway.preflight(Duration::ZERO, DataDirectory::Synced),
        Ok(Preflight::Scan)
    ));
    gateway.wait_for_designers(Policy::Fail).unwrap();
    write_temporaries(data, generation);
    let halves = Halves::of(views());
    assert!(matches!(gateway.lock(halves), Ok(Lock::Held(_))));
    gateway.check_designers(Policy::Fail).unwrap();
    rename(data);
    let outcome = gateway.scan(halves);
    assert!(outcome.owed().is_none(), "{outcome:?}");
    let expected = BTreeSet::from(["plant".to_owned()]);
    assert!(matches!(gateway.verify(&expected), Verification::Loaded));
}

#[test]
fn a_gateway_that_scans_all_the_time_sees_whole_generations_only() {
    const GENERATIONS: usize = 5;
    let every = Some(Duration::from_millis(1));
    let world = World::with(|options| fake::Options { auto_scan: every, ..options });
    let gateway = world.gateway();
    for generation in 0..GENERATIONS {
        sync(&gateway, &world.data(), generation);
    }
    let seen = world.fake.scans().into_iter().filter(|scan| scan.half == fake::Half::Projects);
    let digests: BTreeSet<String> = seen.map(|scan| scan.digest).collect();
    assert_eq!(digests.len(), GENERATIONS + 1, "what was there before, and each generation");
    assert_eq!(world.fake.loaded().poisoned, []);
}
