//! Fetches the wanted files that the store does not have.

use stoker_sync::source::ObjectId;

use super::repair::is_not_our_ref;
use super::{CommitSource, Fetched};
use crate::error::Error;
use crate::remote::with_fresh_credentials;
use crate::store::objects::{Header, ObjectKind};
use crate::store::{self, fetch, layout};

/// If this many files are all absent, the others are taken to be absent, too.
const PROBE: usize = 32;
/// Fewer absent files than this are always fetched by id.
const MANY: usize = 1000;

impl CommitSource {
    /// Fetches the absent ones of these files, and returns the size of each file.
    pub(super) fn fetch_blobs(&mut self, distinct: &[ObjectId]) -> Result<Vec<u64>, Error> {
        let mut headers = self.headers(distinct)?;
        // Once for all that is missing, and once more for big files, which come only by id.
        for _ in 0..2 {
            let places = (0..distinct.len()).filter(|place| headers[*place] == Header::Missing);
            let places: Vec<usize> = places.collect();
            if places.is_empty() {
                break;
            }
            let absent: Vec<_> = places.iter().map(|place| distinct[*place]).collect();
            self.fetch_files(&absent)?;
            let found = self.ask(|objects| objects.info(&absent))?;
            for (place, header) in places.into_iter().zip(found) {
                headers[place] = header;
            }
        }
        let size = |(header, id): (Header, &ObjectId)| match header {
            Header::Found { kind: ObjectKind::Blob, size } => Ok(size),
            Header::Found { .. } | Header::Missing => {
                Err(self.store.failed(store::Error::Missing { id: *id }))
            }
        };
        headers.into_iter().zip(distinct).map(size).collect()
    }

    /// Returns the kind and size of each object. If the first ones are all missing, the others are
    /// not looked up: for each missing object git would list the packs again.
    fn headers(&mut self, ids: &[ObjectId]) -> Result<Vec<Header>, Error> {
        let (probe, rest) = ids.split_at(ids.len().min(PROBE));
        let mut headers = self.ask(|objects| objects.info(probe))?;
        if self.fetched == Fetched::Trees && headers.iter().all(|header| *header == Header::Missing)
        {
            headers.resize(ids.len(), Header::Missing);
        } else {
            headers.extend(self.ask(|objects| objects.info(rest))?);
        }
        Ok(headers)
    }

    fn fetch_files(&mut self, absent: &[ObjectId]) -> Result<(), Error> {
        if self.fetched == Fetched::Everything {
            return Ok(());
        }
        let nearly_all = self.fetched == Fetched::Trees
            && absent.len() >= MANY
            && absent.len() as u64 * 2 >= self.seen.files
            && self.seen.trees * 2 >= layout::object_count(&self.store.repository());
        self.objects = None;
        if nearly_all {
            self.fetched = Fetched::SmallFiles;
            return self.run(fetch::whole_again);
        }
        let fetched = with_fresh_credentials(
            &self.store.access,
            &self.store.cancel,
            |session| fetch::files(&self.store, session, absent),
            |source| Error::FetchFiles {
                remote: self.store.access.remote(),
                count: absent.len(),
                source,
            },
        );
        let is_unfetchable = self.unfetchable.is_some_and(|id| absent.contains(&id));
        match fetched {
            // The caller then reports which of them is missing.
            Err(error) if is_not_our_ref(&error) && is_unfetchable => Ok(()),
            Err(error) if is_not_our_ref(&error) => self.fetch_everything(),
            fetched => fetched,
        }
    }
}
