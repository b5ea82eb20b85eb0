//! A git-sync deployment becomes one of Stoker with the commands that `migrate` prints. No file of
//! the gateway is touched.

use crate::Site;

#[test]
fn c01_a_git_sync_deployment_moves_without_a_changed_byte() {
    let Some(world) = super::world() else { return };
    let site = Site::begin(&world, "site");
    site.namespace.apply(&include_str!("gateway.yaml").replace("REPOSITORY", world.url()));
    site.wait_for_pod_after("");
    let (pod, before) = (site.pod(), site.files());
    assert!(before.len() >= 5, "{before:?}");

    let said = site.migrate(&["--from-configmap=git-sync-env-site", "--map=projects:projects"]);
    assert!(said.contains("dropped GITSYNC_EXECHOOK_COMMAND"), "{said}");
    assert!(said.contains("not set spec.gateway.api"), "{said}");
    site.apply_migrated();
    site.run(said.lines().find_map(|line| line.strip_prefix("next: ")).expect("a command"));
    site.wait_for_pod_after(&pod);

    site.wait_served_by_our_agent();
    assert_eq!(site.files(), before);
    site.wait_for_next_commit();
}
