//! Files whose bytes are rendered or patched: computes their content before anything is decided.
//!
//! A file whose blob and values are those of the last sync is not transformed again. If a file of a
//! resource was changed, `resource.json` loses its signature; otherwise the gateway would report a
//! modification that no user made (R51).

use std::collections::HashSet;
use std::convert::Infallible;
use std::io::Read;
use std::ops::ControlFlow;

use crate::hash::BlobHash;
use crate::manifest::record::FileRecord;
use crate::manifest::{Manifest, PathRange};
use crate::manipulate::{self, MOST_BYTES, Manipulation, Transform, Transformer};
use crate::path::RelPath;
use crate::plan::Error;
use crate::plan::draft::{Candidate, Cause, DirDraft};
use crate::reserved::RESOURCE_MANIFEST;
use crate::source::{ObjectId, Source};

/// Returns the directories with a file that would be made from other values now.
pub(crate) fn stale_dirs(manifest: &Manifest, transformer: &Transformer<'_>) -> HashSet<RelPath> {
    let mut stale = HashSet::new();
    if manifest.header().manipulated == 0 {
        return stale;
    }
    let Ok(()) = manifest.walk(PathRange::ALL, |path, record| {
        let dir = RelPath::from_clean(path);
        let mut made = record.files.iter().filter(|file| file.is_manipulated());
        if made.any(|file| !is_fresh(transformer, &dir.join(&file.name), file)) {
            stale.insert(dir);
        }
        Ok::<(), Infallible>(())
    });
    stale
}

/// Returns whether a file would be made from the same values again; its siblings count for
/// themselves, so both forms of a `resource.json` count.
fn is_fresh(transformer: &Transformer<'_>, path: &RelPath, file: &FileRecord) -> bool {
    let plain = transformer.transform(file.mapping, path);
    let unsigned = unsigned(plain.clone(), file.mapping);
    let is_same =
        |transform: &Transform| transformer.inputs(transform, file.inputs.uses) == file.inputs;
    plain.as_ref().is_some_and(is_same) || is_same(&unsigned)
}

fn unsigned(transform: Option<Transform>, mapping: u16) -> Transform {
    let Some(mut transform) = transform else { return Transform::unsigning(mapping) };
    transform.steps.push(Manipulation::Unsign);
    transform
}

/// Whether a candidate has to be made to know what it will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Making,
    Nothing,
}

/// A file to be made: its draft, its place among the candidates, and its blob.
struct Job {
    draft: usize,
    candidate: usize,
    blob: ObjectId,
}

/// Makes what has to be made, and gives every candidate the id that its bytes must have.
pub(crate) fn resolve(
    drafts: &mut [DirDraft],
    transformer: &Transformer<'_>,
    source: &mut dyn Source,
) -> Result<(), Error> {
    let mut jobs = Vec::new();
    for (index, draft) in drafts.iter_mut().enumerate() {
        for (position, file) in draft.candidates.iter_mut().enumerate() {
            let transform = transformer.transform(file.mapping, &draft.path.join(&file.name));
            let need = transform.map(|transform| prepare(file, transform, transformer));
            if need == Some(Need::Making) {
                jobs.push(Job { draft: index, candidate: position, blob: file.blob });
            }
        }
    }
    run(drafts, &jobs, transformer, source)?;
    let mut jobs = Vec::new();
    for (index, draft) in drafts.iter_mut().enumerate() {
        if let Some(position) = signed_resource(draft) {
            let file = &mut draft.candidates[position];
            let transform = transformer.transform(file.mapping, &draft.path.join(&file.name));
            if prepare(file, unsigned(transform, file.mapping), transformer) == Need::Making {
                jobs.push(Job { draft: index, candidate: position, blob: file.blob });
            }
        }
    }
    run(drafts, &jobs, transformer, source)?;
    drafts.iter_mut().for_each(settle);
    Ok(())
}

/// Gives a candidate its transform. What the last sync made from the same inputs is known; the rest
/// is a job.
fn prepare(file: &mut Candidate, transform: Transform, transformer: &Transformer<'_>) -> Need {
    let made = file.record.as_ref().filter(|record| {
        record.blob == file.blob
            && record.is_manipulated()
            && transformer.inputs(&transform, record.inputs.uses) == record.inputs
    });
    let need = if let Some(record) = made {
        file.placed = record.placed;
        file.inputs = record.inputs;
        file.transformed_size = Some(record.stamp.size);
        Need::Nothing
    } else {
        Need::Making
    };
    file.transform = Some(transform);
    need
}

/// Reads the blobs of all jobs in one go and makes them.
fn run(
    drafts: &mut [DirDraft],
    jobs: &[Job],
    transformer: &Transformer<'_>,
    source: &mut dyn Source,
) -> Result<(), Error> {
    let blobs: Vec<ObjectId> = jobs.iter().map(|job| job.blob).collect();
    source.fetch(&blobs).map_err(|source| Error::Fetch { source })?;
    let mut failure = None;
    let read = source.read(&blobs, &mut |index, size, content| {
        let draft = &mut drafts[jobs[index].draft];
        let file = &mut draft.candidates[jobs[index].candidate];
        let path = draft.path.join(&file.name);
        match transform_file(file, &path, transformer, size, content) {
            Ok(()) => ControlFlow::Continue(()),
            Err(source) => {
                failure = Some(Error::Transform { path, source });
                ControlFlow::Break(())
            }
        }
    });
    // A stream that broke off explains whatever its bytes could not be made into.
    read.map_err(|source| Error::Fetch { source })?;
    failure.map_or(Ok(()), Err)
}

fn transform_file(
    file: &mut Candidate,
    path: &RelPath,
    transformer: &Transformer<'_>,
    size: u64,
    content: &mut dyn Read,
) -> Result<(), manipulate::Error> {
    let Some(transform) = &file.transform else { return Ok(()) };
    let mut blob = Vec::new();
    // A stream that breaks off gives other bytes than the blob's: the write will notice.
    drop(content.take(MOST_BYTES).read_to_end(&mut blob));
    if size > MOST_BYTES {
        let is_text = !manipulate::is_binary(&blob);
        if transform.must_change() || is_text {
            return Err(manipulate::Error::TooLarge);
        }
        file.inputs = transformer.inputs(transform, 0);
        return Ok(());
    }
    let made = transformer.apply(transform, path, &blob)?;
    file.inputs = transformer.inputs(transform, made.uses);
    file.placed = BlobHash::of(&made.bytes);
    file.transformed_size = Some(made.bytes.len() as u64);
    Ok(())
}

/// Returns the `resource.json` of a directory in which the bytes of a file were changed.
fn signed_resource(draft: &mut DirDraft) -> Option<usize> {
    let is_changed = |file: &Candidate| file.transform.is_some() && file.placed != file.blob;
    if !draft.candidates.iter().any(is_changed) {
        return None;
    }
    let is_resource = |name: &[u8]| name == RESOURCE_MANIFEST;
    if let Some(kept) = draft.kept.iter().position(|file| is_resource(&file.name)) {
        let record = draft.kept.remove(kept);
        draft.candidates.push(unchanged(record));
    }
    let known = draft.last.as_ref().map(|last| last.files.as_slice()).unwrap_or_default();
    if let Some(same) = draft.same.iter().position(|place| is_resource(&known[*place].name)) {
        let place = draft.same.remove(same);
        draft.candidates.push(unchanged(known[place].clone()));
    }
    draft.candidates.iter().position(|file| is_resource(&file.name))
}

/// Sorts out the candidates that are as the last sync left them after all.
fn settle(draft: &mut DirDraft) {
    let mut candidates = Vec::with_capacity(draft.candidates.len());
    for mut file in std::mem::take(&mut draft.candidates) {
        if file.placed == file.blob {
            file.transform = None;
        }
        let same = file.record.as_ref().filter(|record| {
            record.blob == file.blob
                && record.placed == file.placed
                && record.is_executable == file.is_executable
        });
        match same {
            Some(record) if !file.is_suspect && record.inputs == file.inputs => {
                draft.kept.push(FileRecord { mapping: file.mapping, ..record.clone() });
            }
            same => {
                let is_drift = same.is_some() && file.is_suspect;
                file.cause = if is_drift { Cause::Drift } else { Cause::Commit };
                candidates.push(file);
            }
        }
    }
    candidates.sort_by(|one, other| one.name.cmp(&other.name));
    draft.candidates = candidates;
}

/// Returns a candidate for a file as the last sync left it.
fn unchanged(record: FileRecord) -> Candidate {
    let FileRecord { blob, is_executable, mapping, .. } = record;
    Candidate::new(record.name.clone(), blob, is_executable, mapping, Some(record))
}
