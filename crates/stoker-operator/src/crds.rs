//! `stoker-operator crds print|apply`: the custom resource definitions that this version serves.

use std::io::{self, Write as _};

use clap::Subcommand;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use stoker_api::crd;

/// What to do with the definitions.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Command {
    /// Print them as YAML documents, for `kubectl apply -f -`
    Print,
    /// Apply them to the cluster of the present kubeconfig or service account
    Apply,
}

/// Why the definitions were not printed or applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Standard output was closed.
    #[error("failed to write the definitions")]
    Write(#[source] io::Error),
    /// A definition could not be turned into text.
    #[error("failed to print the definition of {name}")]
    Serialize { name: String, source: serde_json::Error },
    /// The API server refused a definition.
    #[error("failed to apply the definition of {name}")]
    Apply { name: String, source: Box<kube::Error> },
}

const FIELD_MANAGER: &str = "stoker-operator";

/// Prints the definitions. JSON is YAML, and needs no second printer.
pub(crate) fn print() -> Result<(), Error> {
    let mut output = io::stdout().lock();
    for definition in crd::all() {
        let text = serde_json::to_string_pretty(&definition)
            .map_err(|source| Error::Serialize { name: definition.name_any(), source })?;
        writeln!(output, "---\n{text}").map_err(Error::Write)?;
    }
    Ok(())
}

/// Applies the definitions.
pub(crate) async fn apply(client: Client) -> Result<(), Error> {
    let api: Api<CustomResourceDefinition> = Api::all(client);
    for definition in crd::all() {
        let name = definition.name_any();
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        api.patch(&name, &parameters, &Patch::Apply(&definition))
            .await
            .map_err(|source| Error::Apply { name, source: Box::new(source) })?;
    }
    Ok(())
}
