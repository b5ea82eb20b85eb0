//! The kubelet makes an `emptyDir` writable for everyone, and with an `fsGroup` gives it to that
//! group. The object store lives in both, for a user without a passwd entry.

use super::Setup;

// A11: any user, with and without an fsGroup.
#[test]
fn c01_a_first_sync_ends_with_and_without_an_fs_group() {
    let Some(world) = super::World::begin() else { return };
    for security in ["{runAsUser: 2003}", "{runAsUser: 2003, runAsGroup: 2003, fsGroup: 2003}"] {
        let namespace = world.node.cluster().namespace();
        world.start_synced(&namespace, &Setup { security, ..Setup::default() });
    }
}
