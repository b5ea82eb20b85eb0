//! Refuses directories of `stoker dev` that contain each other.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use stoker_run::{Mapping, RelPath};

use super::Arguments;
use crate::failure::Failure;
use crate::job::{Target, real};
use crate::output::shown;

/// The receiving end, and the parts of the directory that go there.
pub(super) fn target(arguments: &Arguments) -> Result<(Target, Vec<RelPath>), Failure> {
    let (directory, data) = (&arguments.directory, &arguments.target.data);
    if !directory.is_dir() {
        let message = format!("{} is not a directory", shown(directory));
        return Err(Failure::usage(message).hint("name the directory that you edit, such as ."));
    }
    if directory.canonicalize().is_ok_and(|path| data.canonicalize().is_ok_and(|data| path == data))
    {
        return Err(Failure::usage("the working directory and --data are the same directory")
            .hint("name the gateway's own data directory with --data"));
    }
    let target = Target::of_directory(&arguments.target, &arguments.gateway, directory)?;
    let mappings = mappings(&target);
    refuse_overlap(directory, data, &mappings)?;
    Ok((target, mappings.into_iter().map(|mapping| mapping.source).collect()))
}

/// What goes where. A mapping that only a commit could complete has no place in a directory.
fn mappings(target: &Target) -> Vec<Mapping> {
    target.run.mappings(&"0".repeat(40)).unwrap_or_default()
}

/// Refuses files that would be mapped into their own source, again with every scan, or over it.
fn refuse_overlap(directory: &Path, data: &Path, mappings: &[Mapping]) -> Result<(), Failure> {
    let below = |root: &Path, path: &RelPath| real(&root.join(OsStr::from_bytes(path)));
    for mapping in mappings {
        let source = below(directory, &mapping.source);
        let destination = below(data, &mapping.destination);
        if real(data).starts_with(&source) || destination.starts_with(&source) {
            let (data, source) = (shown(data), shown(&source));
            let message = format!("--data {data} lies in {source}, which is mapped into it");
            return Err(Failure::usage(message)
                .hint("map a part that the data directory is not in, or move it: --data DIR"));
        }
        if source.starts_with(&destination) {
            let (source, destination) = (shown(&source), shown(&destination));
            let message = format!("{source} lies in {destination}, where its files are to go");
            return Err(Failure::usage(message)
                .hint("name the directory that you edit, apart from the gateway's own"));
        }
    }
    Ok(())
}
