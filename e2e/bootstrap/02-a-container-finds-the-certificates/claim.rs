//! A container finds the CA file, and the variable that names it.

use super::PUBLIC;

// I1: the file is there when the container starts, and its variables lead to it.
#[test]
fn c02_a_container_finds_the_certificates_and_their_variables() {
    let Some(world) = super::world() else { return };
    let namespace = world.node().cluster().namespace();
    let pod = world.start(&namespace, &include_str!("../pod.yaml").replace("IMAGE", PUBLIC));
    let shell = |script: &str| {
        let output = pod.exec("app", &["sh", "-c", script]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // What the first command of the container saw.
    assert_eq!(pod.logs("app").trim(), "/etc/stoker/ca/bundle.crt /etc/stoker/ca/ca.crt");
    let own = shell("cat $NODE_EXTRA_CA_CERTS");
    assert_eq!(own.trim(), world.certificate.trim());
    let bundle = shell("cat $SSL_CERT_FILE");
    assert!(bundle.starts_with(own.trim()), "the plant's CA is in the bundle");
    let count = bundle.matches("BEGIN CERTIFICATE").count();
    assert!(
        count > 50,
        "{count} certificates: the public roots of the operator's image are missing"
    );
    let written = pod.exec("app", &["touch", "/etc/stoker/ca/x"]);
    assert!(!written.status.success(), "the mount is read-only");
}
