//! The commands of `docs/webhooks.md`, run as they are on the page.

use std::process::Command;

use crate::receiver::plant;
use crate::world::{World, cluster, until};

const PAGE: &str = include_str!("../../../../docs/webhooks.md");
const SECRET: &str = "5c8b1f0e6f8d4f5b9a0c2f6f1b7f4a3d";

/// A command of the page, and the output that the page shows below it.
#[derive(Debug, Default)]
struct Example {
    script: String,
    output: Option<String>,
}

/// Returns the blocks marked `sh`, each with the block marked `json` that follows it.
fn examples() -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut blocks = PAGE.split("\n```");
    blocks.next();
    for block in blocks.step_by(2) {
        let (mark, text) = block.split_once('\n').unwrap();
        match mark {
            "sh" => examples.push(Example { script: text.to_owned(), output: None }),
            "json" => examples.last_mut().unwrap().output = Some(text.trim().to_owned()),
            _ => (),
        }
    }
    examples
}

impl World {
    fn run(&self, script: &str) -> String {
        let url = format!("http://127.0.0.1:{}{}", self.receiver, self.path("plant"));
        let kubectl = cluster().kubectl();
        let programs = std::path::Path::new(kubectl.get_program()).parent().unwrap().to_owned();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", script]).env("URL", url).env("SECRET", SECRET);
        bash.env("NAMESPACE", self.namespace.name()).env("KUBECONFIG", cluster().kubeconfig());
        bash.env("PATH", format!("{}:{path}", programs.display()));
        let output = bash.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        assert!(output.status.success(), "{script}\n{}", text(&output.stderr));
        text(&output.stdout)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_page_prints_what_the_page_shows() {
    let world = World::start().await;
    world.sync(plant().repo("https://git.example.com/plant/site.git")).await;
    let examples = examples();
    let with_curl = examples.iter().filter(|it| it.script.contains("curl")).count();
    assert_eq!((with_curl, PAGE.matches("curl --").count()), (5, 5), "every curl is an example");
    for Example { script, output } in examples {
        let Some(expected) = output else {
            world.run(&script);
            until("the secret of the page counts", async || {
                let answer = world.generic("plant", SECRET, "{}").await;
                (answer.status == 400).then_some(())
            })
            .await;
            continue;
        };
        assert_eq!(world.run(&script), expected, "{script}");
    }
}
