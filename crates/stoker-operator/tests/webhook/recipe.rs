//! The commands of `docs/webhooks.md`, run as they are on the page.

use stoker_testkit::page::{Page, Shell, root};

use crate::receiver::plant;
use crate::world::{World, cluster, until};

const SECRET: &str = "5c8b1f0e6f8d4f5b9a0c2f6f1b7f4a3d";

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_page_prints_what_the_page_shows() {
    let world = World::start().await;
    world.sync(plant().repo("https://git.example.com/plant/site.git")).await;
    let kubectl = cluster().kubectl();
    let programs = std::path::Path::new(kubectl.get_program()).parent().unwrap().display();
    let (kubeconfig, namespace) = (cluster().kubeconfig().display(), world.namespace.name());
    let url = format!("http://127.0.0.1:{}{}", world.receiver, world.path("plant"));
    let shell = Shell::new(root()).after(&format!(
        "export KUBECONFIG={kubeconfig} PATH={programs}:$PATH\n\
         NAMESPACE={namespace} SECRET={SECRET} URL={url}"
    ));
    let page = Page::read("docs/webhooks.md");
    shell.follow(page.section("1. Give the GatewaySync a secret"));
    until("the secret of the page counts", async || {
        let answer = world.generic("plant", SECRET, "{}").await;
        (answer.status == 400).then_some(())
    })
    .await;
    let examples = page.section("3. Try it");
    let count = examples.script.matches("curl --silent").count();
    assert_eq!(examples.shown.len(), count, "the page shows what each of them prints");
    shell.follow(examples);
}
