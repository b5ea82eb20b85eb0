//! A server of the test, outside the node, answers a pod at the node's address, and only while it is
//! exposed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;

#[test]
fn c06_a_server_outside_answers_a_pod_while_it_is_exposed() {
    let Some(node) = super::node() else { return };
    let namespace = node.cluster().namespace();
    namespace.apply(include_str!("pod.yaml"));
    let client = node.pod(&namespace, "client");
    client.wait_ready();

    let exposed = node.expose(serve());
    let url = format!("http://{}/", exposed.address());
    let get = ["wget", "-q", "-O", "-", &url];
    for _ in 0..3 {
        let answer = client.exec("client", &get);
        assert_eq!(String::from_utf8_lossy(&answer.stdout), "hello from outside\n", "{answer:?}");
    }
    drop(exposed);
    assert!(!client.exec("client", &get).status.success(), "it is no longer exposed");
}

fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let request = BufReader::new(&stream).lines().map_while(Result::ok);
            request.take_while(|line| !line.is_empty()).for_each(drop);
            let answer = b"HTTP/1.0 200 OK\r\nContent-Length: 19\r\n\r\nhello from outside\n";
            (&stream).write_all(answer).unwrap();
        }
    });
    address
}
