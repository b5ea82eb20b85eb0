//! Which commands and manifests of the documentation the claims of this suite do not run.

/// Pages whose commands another test runs: all sections, or those that are named; and that test.
pub(crate) const ELSEWHERE: &[(&str, &[&str], &str)] = &[
    ("docs/quickstart.md", &[], "e2e/quickstart/01-the-page-works/claim.rs"),
    ("charts/stoker-operator/README.md", &["stoker-operator"], "e2e/guides/suite.rs"),
    ("docs/install.md", &["Without Helm", "Remove it"], "e2e/install/08-without-helm/claim.rs"),
    (
        "docs/webhooks.md",
        &["1. Give the GatewaySync a secret", "3. Try it"],
        "crates/stoker-operator/tests/webhook/recipe.rs",
    ),
    ("docs/status.md", &[], "crates/stoker-operator/tests/controller/tell.rs"),
    (
        "docs/cli.md",
        &["Which files, to which place"],
        "crates/stoker-cli/tests/cli/commands/page.rs",
    ),
    ("docs/guides/templates.md", &[], "crates/stoker-cli/tests/cli/commands/page.rs"),
    (
        "docs/reference/cli.md",
        &[
            "`stoker sync`",
            "`stoker watch`",
            "`stoker plan`",
            "`stoker dev`",
            "`stoker demo`",
            "`stoker completions`",
        ],
        "crates/stoker-cli/tests/cli/commands/page.rs",
    ),
    (
        "docs/guides/removing.md",
        &["The files on a gateway"],
        "e2e/guides/01-a-gateway-in-service/claim.rs",
    ),
    (
        "docs/reference/cli.md",
        &["`stoker bootstrap`"],
        "e2e/guides/02-installations-come-and-go/claim.rs",
    ),
    ("docs/reference/cli.md", &["`stoker migrate`"], "e2e/guides/04-before-a-change/claim.rs"),
    ("docs/guides/verifying.md", &["Signature and checksums"], "xtask/src/release.rs"),
];

/// Sections whose commands no test runs, and why.
pub(crate) const NOT_RUN: &[(&str, &str, &str)] = &[
    ("docs/webhooks.md", "GitHub", "creates a webhook on github.com"),
    ("docs/guides/verifying.md", "Build it again", "compiles a whole release, for an hour"),
    ("docs/development/testing.md", "Testing", "runs the tests themselves"),
    ("docs/benchmarks.md", "Benchmarks", "measures for minutes; nothing depends on the result"),
    ("docs/benchmarks.md", "On a cluster", "measures for minutes; nothing depends on the result"),
    ("docs/benchmarks.md", "A fleet", "measures for minutes; nothing depends on the result"),
];

/// Blocks that are values of the chart.
pub(crate) const VALUES: &[(&str, &str)] =
    &[("docs/guides/air-gap.md", "Air gap"), ("docs/status.md", "Defaults for all GatewaySyncs")];

/// Blocks that are a part of an object, and of which.
pub(crate) const PARTS: &[(&str, &str, &str)] = &[
    ("docs/injection.md", "Injection", "annotations of any pod"),
    ("docs/webhooks.md", "Kargo", "a step of a Stage of Kargo"),
];

/// The test that runs the commands of a section, if it is not one of this suite.
pub(crate) fn elsewhere(page: &str, title: &str) -> Option<&'static str> {
    let mut found = ELSEWHERE.iter().filter(|(path, titles, _)| {
        *path == page && (titles.is_empty() || titles.contains(&title))
    });
    found.next().map(|(_, _, test)| *test)
}

/// Why no test runs the commands of a section.
pub(crate) fn reason(page: &str, title: &str) -> Option<&'static str> {
    let found = NOT_RUN.iter().find(|(path, heading, _)| (*path, *heading) == (page, title));
    found.map(|(_, _, reason)| *reason)
}
