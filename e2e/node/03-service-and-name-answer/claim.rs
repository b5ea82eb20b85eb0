//! A Service answers by its name from a pod, and from the test outside through the node's relay.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use stoker_testkit::node::succeed;

#[test]
fn c03_a_service_answers_by_name_inside_and_by_relay_outside() {
    let Some(node) = super::node() else { return };
    let namespace = node.cluster().namespace();
    namespace.apply(include_str!("pod.yaml"));
    node.pod(&namespace, "server").wait_ready();
    let client = node.pod(&namespace, "client");
    client.wait_ready();

    let name = format!("http://gateway.{}.svc.cluster.local/", namespace.name());
    let script =
        format!("for i in $(seq 50); do wget -q -O - {name} && exit; sleep 0.2; done; exit 1");
    let answer = client.exec("client", &["sh", "-c", &script]);
    assert_eq!(String::from_utf8_lossy(&answer.stdout), "hello from the pod\n");

    let mut service = namespace.kubectl();
    let address =
        succeed(service.args(["get", "service", "gateway", "--output=jsonpath={.spec.clusterIP}"]));
    let mut stream = TcpStream::connect(node.forward(&format!("{address}:80"))).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("hello from the pod\n"), "{text}");
}
