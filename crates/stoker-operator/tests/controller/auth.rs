//! Claims about credentials: tokens, SSH keys and host keys.

use std::fs;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use stoker_api::condition::ConditionType;
use stoker_api::names::Annotation;
use stoker_testkit::git::Repo;
use stoker_testkit::git::github::GitHubApp;
use stoker_testkit::git::http::{Auth, HttpServer};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::object::secret;
use stoker_testkit::proxy::{EventFault, Fault, FaultProxy, Match, Verb};

use crate::world::{World, cluster, eventually, is_true, quiet_sync, version};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_awaited_used_and_rotated() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    server.require(Auth::Basic("x-access-token".into(), "one".into()));
    let world = World::start().await;
    let sync = quiet_sync("plant", &server.mount("plant", &repo)).token("git");
    world.sync(sync.spec(|spec| spec.git.allow_insecure_http = Some(true))).await;
    let missing = world.until_reason("plant", ConditionType::RefResolved, "SecretNotFound").await;
    assert_eq!(missing.message, "spec.git.auth.token.secretRef: there is no Secret \"git\"");
    assert_eq!(server.requests().len(), 0, "no remote query is made");
    world.until_reason("plant", ConditionType::Ready, "SecretNotFound").await;
    world.secret(&secret("git", [("token", "wrong")])).await;
    world.until_reason("plant", ConditionType::RefResolved, "AuthenticationFailed").await;
    world.secret(&secret("git", [("token", "one")])).await;
    world.until_announced("plant", &first).await;
    server.require(Auth::Basic("x-access-token".into(), "two".into()));
    let second = repo.commit(version("2")).unwrap();
    world.secret(&secret("git", [("token", "two")])).await;
    world.until_announced("plant", &second).await;
}

// F04: the key of the gateway's API has nothing to do with git.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_api_key_does_not_keep_a_public_ref_from_being_resolved() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo)).api_key("absent")).await;
    world.until_announced("plant", &first).await;
    let sync = world.until("plant", "the ref is resolved", |status| {
        is_true(status, ConditionType::RefResolved)
    });
    for condition in sync.await.status.unwrap().conditions {
        assert_ne!(condition.reason, "SecretNotFound", "{}", condition.message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_a_github_app_reaches_the_agents_and_is_used_again() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let app = GitHubApp::start().unwrap();
    let mut world = World::start().await;
    world.secret(&secret("app", [("private-key.pem", app.private_key())])).await;
    let ids = (app.app_id().parse().unwrap(), app.installation_id().parse().unwrap());
    let sync = quiet_sync("plant", &app.mount("plant", &repo)).github_app(ids, "app");
    let sync = sync.spec(|spec| {
        spec.git.allow_insecure_http = Some(true);
        let auth = spec.git.auth.as_mut().unwrap();
        auth.github_app.as_mut().unwrap().api_base_url = Some(app.api_url());
    });
    world.sync(sync).await;
    world.until_announced("plant", &first).await;
    let handed = eventually("agents have the token", || async {
        let found = world.api::<Secret>().get_opt("stoker-github-token-plant").await.unwrap()?;
        Some(String::from_utf8(found.data?.remove("token")?.0).unwrap())
    })
    .await;
    assert_eq!(app.tokens(), 1);
    assert!(!handed.is_empty());
    world.restart();
    let second = repo.commit(version("2")).unwrap();
    world.until_announced("plant", &second).await;
    assert_eq!(app.tokens(), 1, "a controller that starts again uses the token that is there");
    app.revoke();
    let third = repo.commit(version("3")).unwrap();
    world.recheck("plant").await;
    world.until_announced("plant", &third).await;
    eventually("agents have the new token", || async {
        let found = world.api::<Secret>().get("stoker-github-token-plant").await.unwrap();
        let token = String::from_utf8(found.data?.remove("token")?.0).unwrap();
        (token != handed).then_some(())
    })
    .await;
}

// F6: the right to write Secrets is bound where a GitHub App needs it, and only while it does.
#[tokio::test(flavor = "multi_thread")]
async fn the_right_to_write_tokens_comes_and_goes_with_the_github_app() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let app = GitHubApp::start().unwrap();
    let flags = ["--token-writer-role=token-writer", "--service-account=stoker"];
    let world = World::with(&flags).await;
    world.secret(&secret("app", [("private-key.pem", app.private_key())])).await;
    let url = app.mount("plant", &repo);
    let ids = (app.app_id().parse().unwrap(), app.installation_id().parse().unwrap());
    world
        .sync(quiet_sync("plant", &url).github_app(ids, "app").spec(|spec| {
            spec.git.allow_insecure_http = Some(true);
            let auth = spec.git.auth.as_mut().unwrap();
            auth.github_app.as_mut().unwrap().api_base_url = Some(app.api_url());
        }))
        .await;
    world.until_announced("plant", &first).await;
    let bindings = world.api::<RoleBinding>();
    let bound = eventually("the right is bound", || async {
        bindings.get_opt("stoker-token-plant").await.unwrap()
    })
    .await;
    assert_eq!((&*bound.role_ref.kind, &*bound.role_ref.name), ("ClusterRole", "token-writer"));
    let subject = &bound.subjects.unwrap()[0];
    assert_eq!(subject.name, "stoker");
    assert_eq!(subject.namespace.as_deref(), Some(world.namespace.name()));
    assert!(bound.metadata.owner_references.is_some(), "it goes with the GatewaySync");
    world.patch("plant", json!({ "spec": { "git": { "auth": null } } })).await;
    eventually("the right is taken back", || async {
        bindings.get_opt("stoker-token-plant").await.unwrap().is_none().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_github_app_that_gets_no_token_says_so() {
    let (repo, _) = Repo::with(version("1")).unwrap();
    let app = GitHubApp::start().unwrap();
    let other = GitHubApp::start().unwrap();
    let world = World::start().await;
    world.secret(&secret("app", [("private-key.pem", other.private_key())])).await;
    let ids = (app.app_id().parse().unwrap(), app.installation_id().parse().unwrap());
    let sync = quiet_sync("plant", &app.mount("plant", &repo)).github_app(ids, "app");
    let sync = sync.spec(|spec| {
        spec.git.allow_insecure_http = Some(true);
        let auth = spec.git.auth.as_mut().unwrap();
        auth.github_app.as_mut().unwrap().api_base_url = Some(app.api_url());
    });
    world.sync(sync).await;
    let kind = ConditionType::RefResolved;
    let found = world.until_reason("plant", kind, "GitHubAppExchangeFailed").await;
    assert!(
        found.message.contains("401") && !found.message.contains("/proc/"),
        "{}",
        found.message
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ssh_key_with_known_hosts_is_verified() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = tokio::task::spawn_blocking(SshServer::start).await.unwrap().unwrap();
    let world = World::start().await;
    let key = fs::read_to_string(server.user_key(Kind::Ed25519)).unwrap();
    let hosts = fs::read_to_string(server.known_hosts()).unwrap();
    world.secret(&secret("key", [("ssh-privatekey", &*key)])).await;
    world.secret(&secret("hosts", [("known_hosts", &*hosts)])).await;
    let sync = quiet_sync("plant", &server.url(&repo)).ssh_key("key", Some("hosts"));
    world.sync(sync).await;
    assert_eq!(world.until_announced("plant", &first).await.known_hosts, None);
    let kind = ConditionType::SshHostKeyVerification;
    world.until_reason("plant", kind, "HostKeyVerificationEnabled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_key_that_is_seen_first_is_pinned_until_it_is_forgotten() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = tokio::task::spawn_blocking(SshServer::start).await.unwrap().unwrap();
    let world = World::start().await;
    let key = fs::read_to_string(server.user_key(Kind::Ed25519)).unwrap();
    world.secret(&secret("key", [("ssh-privatekey", &*key)])).await;
    world.sync(quiet_sync("plant", &server.url(&repo)).ssh_key("key", None)).await;
    let metadata = world.until_announced("plant", &first).await;
    let pinned = metadata.known_hosts.expect("the host key is pinned with the first commit");
    assert!(pinned.starts_with("[127.0.0.1]:"), "{pinned}");
    let kind = ConditionType::SshHostKeyVerification;
    world.until_reason("plant", kind, "HostKeyTrustedOnFirstUse").await;
    server.change_host_keys().unwrap();
    repo.commit(version("2")).unwrap();
    world.recheck("plant").await;
    let refused =
        world.until_reason("plant", ConditionType::RefResolved, "RemoteUnreachable").await;
    assert!(refused.message.contains("host key"), "{}", refused.message);
    let third = repo.commit(version("3")).unwrap();
    world.annotate("plant", Annotation::ForgetHostKey, "true").await;
    let metadata = world.until_announced("plant", &third).await;
    assert_ne!(metadata.known_hosts.as_ref(), Some(&pinned));
    eventually("the annotation is cleared", || async {
        let annotations = world.get("plant").await.metadata.annotations.unwrap_or_default();
        (!annotations.contains_key(Annotation::ForgetHostKey.as_str())).then_some(())
    })
    .await;
}

// E2, R60
#[tokio::test(flavor = "multi_thread")]
async fn the_condition_of_the_receiver_says_whether_a_push_event_can_be_taken() {
    let (repo, _) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let world = World::start().await;
    world.sync(quiet_sync("plant", &url)).await;
    let ready = ConditionType::WebhookReady;
    assert_eq!(world.until_reason("plant", ready, "NoSecret").await.status, "False");
    world.secret(&secret("push", [("other", "x")])).await;
    world.patch("plant", json!({"spec": {"webhook": {"secretRef": {"name": "push"}}}})).await;
    let missing = world.until_reason("plant", ready, "SecretNotFound").await;
    assert!(missing.message.contains("or its key"), "{}", missing.message);
    world.secret(&secret("push", [("hmac-key", "x")])).await;
    assert_eq!(world.until_reason("plant", ready, "ListenerActive").await.status, "True");
    let open = World::with(&["--receiver-insecure"]).await;
    open.sync(quiet_sync("plant", &url)).await;
    assert_eq!(open.until_reason("plant", ready, "Insecure").await.status, "False");
}

// The receiver may run in another process (`webhook.separate`).
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_file_of_the_operator_counts_once_it_is_filled() {
    let (repo, _) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let world = World::with(&["--receiver-hmac-file", path]).await;
    world.sync(quiet_sync("plant", &url)).await;
    world.until_reason("plant", ConditionType::WebhookReady, "NoSecret").await;
    fs::write(path, "secret").unwrap();
    world.patch("plant", json!({"metadata": {"annotations": {"touched": "yes"}}})).await;
    world.until_reason("plant", ConditionType::WebhookReady, "ListenerActive").await;
}

/// Makes a GatewaySync `plant` with a GitHub App whose key is in the Secret `app`.
async fn sync_with_app(world: &World, app: &GitHubApp, repo: &Repo) {
    world.secret(&secret("app", [("private-key.pem", app.private_key())])).await;
    let ids = (app.app_id().parse().unwrap(), app.installation_id().parse().unwrap());
    let sync = quiet_sync("plant", &app.mount("plant", repo)).github_app(ids, "app");
    let sync = sync.spec(|spec| {
        spec.git.allow_insecure_http = Some(true);
        let auth = spec.git.auth.as_mut().unwrap();
        auth.github_app.as_mut().unwrap().api_base_url = Some(app.api_url());
    });
    world.sync(sync).await;
}

/// Waits until agents have a token that is not for these credentials, and returns for which it is.
async fn token_for(world: &World, before: Option<&str>) -> String {
    eventually("agents have a token", || async {
        let found = world.api::<Secret>().get_opt("stoker-github-token-plant").await.unwrap()?;
        let mark = found.metadata.annotations?.remove(Annotation::TokenFor.as_str())?;
        (Some(&*mark) != before).then_some(mark)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_of_a_token_is_written_again_when_it_is_deleted_or_changed() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let app = GitHubApp::start().unwrap();
    let world = World::start().await;
    sync_with_app(&world, &app, &repo).await;
    world.until_announced("plant", &first).await;
    token_for(&world, None).await;
    let api = world.api::<Secret>();
    let handed = api.get("stoker-github-token-plant").await.unwrap();
    api.delete("stoker-github-token-plant", &DeleteParams::default()).await.unwrap();
    eventually("the Secret is there again", || async {
        let found = api.get_opt("stoker-github-token-plant").await.unwrap()?;
        (found.metadata.uid != handed.metadata.uid && found.data == handed.data).then_some(())
    })
    .await;
    let patch = Patch::Merge(json!({ "data": { "token": null } }));
    api.patch("stoker-github-token-plant", &PatchParams::default(), &patch).await.unwrap();
    eventually("the token is there again", || async {
        (api.get("stoker-github-token-plant").await.unwrap().data == handed.data).then_some(())
    })
    .await;
    assert_eq!(app.tokens(), 1);
}

// F3: what a rotated key gets is not kept for those who still have the old one.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_kept_for_the_credentials_that_got_it() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let app = GitHubApp::start().unwrap();
    let world = World::with(&["--secret-access=get"]).await;
    sync_with_app(&world, &app, &repo).await;
    world.until_announced("plant", &first).await;
    let before = token_for(&world, None).await;
    // The same key, and another Secret all the same: both get tokens.
    let rotated = format!("{}\n\n", app.private_key());
    world.secret(&secret("app", [("private-key.pem", &*rotated)])).await;
    app.revoke();
    let second = repo.commit(version("2")).unwrap();
    world.recheck("plant").await;
    world.until_announced("plant", &second).await;
    token_for(&world, Some(&before)).await;
    assert_eq!(app.tokens(), 1, "since the first was revoked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_push_events_that_can_not_be_read_does_not_count_as_missing() {
    let (repo, _) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let mut world = World::behind(&proxy, &[]).await;
    world.secret(&secret("push", [("hmac-key", "x")])).await;
    let refused = proxy.fault(Match::verb(Verb::Get).resource("secrets"), Fault::Status(500));
    world.restart();
    world.sync(quiet_sync("plant", &server.mount("plant", &repo)).webhook("push")).await;
    let ready = ConditionType::WebhookReady;
    let unread = world.until_reason("plant", ready, "Progressing").await;
    assert_eq!(unread.status, "Unknown");
    refused.lift();
    world.annotate("plant", Annotation::RecheckAt, "2026-01-01T00:00:00Z").await;
    assert_eq!(world.until_reason("plant", ready, "ListenerActive").await.status, "True");
    // Neither does what was read before.
    let refused = proxy.fault(Match::verb(Verb::Get).resource("secrets"), Fault::Status(500));
    world.secret(&secret("push", [("hmac-key", "y")])).await;
    refused.until_hits(1).await;
    world.gateway("ignition-0", "plant").await;
    let sync = world.until("plant", "the gateway is found", |status| {
        status.gateways.is_some_and(|count| count.discovered == 1)
    });
    assert!(is_true(&sync.await.status.unwrap(), ready));
}

// Where it was deleted while there was no watch, the list that follows shows it.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_deleted_while_the_watch_fails_is_missed_at_once() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let mut world = World::behind(&proxy, &[]).await;
    world.restart();
    world.secret(&secret("git", [("token", "x")])).await;
    let sync = quiet_sync("plant", &server.mount("plant", &repo)).token("git");
    world.sync(sync.spec(|spec| spec.git.allow_insecure_http = Some(true))).await;
    world.until_announced("plant", &first).await;
    let watches = Match::verb(Verb::Watch).resource("secrets");
    proxy.until_watches(&watches, 1).await;
    let gone = proxy.fault(watches, Fault::Event(EventFault::Gone)).times(1);
    world.api::<Secret>().delete("git", &DeleteParams::default()).await.unwrap();
    gone.until_hits(1).await;
    world.until_reason("plant", ConditionType::RefResolved, "SecretNotFound").await;
}
