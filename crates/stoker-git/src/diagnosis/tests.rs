use super::*;

fn fault(stderr: &str) -> Fault {
    of_text(stderr, Transport::Https)
}

// Sentences of git 2.39 and 2.47, curl with GnuTLS and OpenSSL, and OpenSSH 9, as they were met.
const SENTENCES: &[(&str, Fault)] = &[
    // For a 401, too, git has sentences without the number.
    (
        "fatal: Authentication failed for 'https://h/r.git/'",
        Fault::Authentication { status: Some(401) },
    ),
    (
        "fatal: could not read Username for 'https://h': terminal prompts disabled",
        Fault::Authentication { status: Some(401) },
    ),
    (
        "fatal: unable to access 'https://h/': The requested URL returned error: 403",
        Fault::Authentication { status: Some(403) },
    ),
    (
        "Host key verification failed.\nfatal: Could not read from remote repository.",
        Fault::HostKey,
    ),
    ("fatal: repository 'https://h/r.git/' not found", Fault::NotFound { status: Some(404) }),
    (
        "remote: Not Found\nfatal: unable to access 'https://h/': The requested URL returned error: 503",
        Fault::Server { status: 503 },
    ),
    (
        "fatal: unable to access 'https://h/': Could not resolve host: h",
        Fault::Unreachable { detail: "the host name is unknown" },
    ),
    (
        "fatal: unable to access 'https://h/': Failed to connect to h port 443 after 0 ms: Connection refused",
        Fault::Unreachable { detail: "connection refused" },
    ),
    (
        "ssh: connect to host h port 22: No route to host\nfatal: Could not read from remote repository.",
        Fault::Unreachable { detail: "no route" },
    ),
    (
        "error: RPC failed; curl 18 transfer closed\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output",
        Fault::Unreachable { detail: "the connection broke" },
    ),
    (
        "fatal: error reading section header 'packfile'",
        Fault::Unreachable { detail: "the connection broke" },
    ),
    ("fatal: pack is corrupted (SHA1 mismatch)\nfatal: index-pack failed", Fault::Damaged),
    ("fatal: remote error: upload-pack: not our ref 1234", Fault::NotOurRef),
    ("fatal: mismatched algorithms: client sha1; server sha256", Fault::ObjectFormat),
    ("error: Server does not allow request for unadvertised object 1234", Fault::NotOurRef),
    (
        "error: object 12: treeNotSorted: not properly sorted\nfatal: fsck error in packed object\nfatal: index-pack failed",
        Fault::Damaged,
    ),
    ("fatal: write error: No space left on device", Fault::DiskFull),
    ("fatal: Unable to create '/s/repo.git/shallow.lock': File exists.", Fault::Store),
    (
        "git: 'remote-https' is not a git command. See 'git --help'.",
        Fault::NotInstalled { program: "git-remote-https" },
    ),
    (
        "stoker: cannot run ssh: No such file or directory (os error 2)",
        Fault::NotInstalled { program: "ssh" },
    ),
    (
        "No user exists for uid 1234\nfatal: Could not read from remote repository.",
        Fault::NoPasswdEntry,
    ),
];

#[test]
fn sentences_have_one_meaning_each() {
    for (stderr, expected) in SENTENCES {
        assert_eq!(fault(stderr), *expected, "{stderr}");
    }
}

#[test]
fn a_refusal_by_ssh_has_no_status() {
    let said =
        "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.";
    assert_eq!(of_text(said, Transport::Ssh), Fault::Authentication { status: None });
}

// Sentences of GnuTLS, of OpenSSL 3.0 and of OpenSSL 3.2.
#[test]
fn plain_text_behind_https_is_not_a_certificate() {
    for said in [
        "gnutls_handshake() failed: An unexpected TLS packet was received.",
        "error:0A00010B:SSL routines::wrong version number",
        "OpenSSL/3.2.1: error:0A0000C6:SSL routines::packet length too long",
    ] {
        let stderr = format!("fatal: unable to access 'https://h:8080/': {said}");
        assert_eq!(fault(&stderr), Fault::NoTls, "{said}");
        assert!(matches!(of_text(&stderr, Transport::Http), Fault::Other { .. }), "{said}");
    }
}

#[test]
fn tls_has_its_own_words() {
    let said = "fatal: unable to access 'https://h/': server certificate verification failed. CAfile: none CRLfile: none";
    let Fault::Tls { detail, flaw: Flaw::Untrusted } = fault(said) else { panic!() };
    assert!(detail.contains("certificate verification failed"), "{detail}");
}

// F1: what a server says may be what it was sent.
#[test]
fn what_a_server_says_is_never_shown() {
    let said = [
        "remote: your token canary is bad\nfatal: something new",
        "fatal: remote error: canary",
        "fatal: protocol error: bad line length character: canary",
        "canary without a prefix",
    ];
    for stderr in said {
        assert!(!fault(stderr).to_string().contains("canary"), "{stderr}");
    }
    assert_eq!(fault(said[0]), Fault::Other { detail: "something new".into() });
    assert_eq!(fault("fatal: a\u{1b}[31mb").to_string(), "git failed: a[31mb");
}

#[test]
fn the_owner_of_a_dubious_repository_is_named() {
    let said = "fatal: detected dubious ownership in repository at '/'\nTo add an exception…";
    assert_eq!(fault(said), Fault::DubiousOwnership { path: "/".into(), owner: Some(0) });
    assert!(fault(said).to_string().contains("uid 0"));
}
