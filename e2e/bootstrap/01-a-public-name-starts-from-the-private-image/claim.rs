//! A pod that names a public image starts from the image that only exists under the private name.

use super::{PRIVATE, PUBLIC};

// I1, K13: the kubelet starts what the webhook wrote; the pod's owner never heard of the registry.
#[test]
fn c01_a_public_name_starts_from_the_private_image() {
    let Some(world) = super::world() else { return };
    let namespace = world.node().cluster().namespace();
    let pod = world.start(&namespace, &include_str!("../pod.yaml").replace("IMAGE", PUBLIC));
    let image = pod.field("{.status.containerStatuses[0].image}");
    assert_eq!(image, PRIVATE);
    assert_eq!(pod.field("{.spec.imagePullSecrets[0].name}"), "plant-registry");
    let kept = pod.field("{.metadata.annotations.stoker\\.io/original-images}");
    assert!(kept.contains(PUBLIC), "{kept}");
    let said = pod.exec("app", &["echo", "it runs"]);
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "it runs");
}
