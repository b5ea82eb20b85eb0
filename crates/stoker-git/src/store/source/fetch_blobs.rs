//! Files that are wanted: which of them are here, and how the others come.

use stoker_sync::source::ObjectId;

use super::CommitSource;
use super::repair::is_not_our_ref;
use crate::error::Error;
use crate::remote::with_fresh_credentials;
use crate::store::objects::{Header, ObjectKind};
use crate::store::{self, fetch, layout};

/// If the first so many files are all absent, so are the others.
const PROBE: usize = 32;
/// Below this it is not worth to think about fetching everything at once.
const MANY: usize = 1000;

impl CommitSource {
    /// Fetches what is not here of these files, and returns how big each of them is.
    pub(super) fn fetch_blobs(&mut self, distinct: &[ObjectId]) -> Result<Vec<u64>, Error> {
        let mut headers = self.headers(distinct)?;
        // Once for all that is missing, and once more for big files, which are never sent unasked.
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

    /// Asks what each object is. If the first ones are all missing, the others are taken to be,
    /// too: a question for what is not there makes git look for new packs each time.
    fn headers(&mut self, ids: &[ObjectId]) -> Result<Vec<Header>, Error> {
        let (probe, rest) = ids.split_at(ids.len().min(PROBE));
        let mut headers = self.ask(|objects| objects.info(probe))?;
        if !self.has_all && headers.iter().all(|header| *header == Header::Missing) {
            headers.resize(ids.len(), Header::Missing);
        } else {
            headers.extend(self.ask(|objects| objects.info(rest))?);
        }
        Ok(headers)
    }

    fn fetch_files(&mut self, absent: &[ObjectId]) -> Result<(), Error> {
        if self.has_everything {
            return Ok(());
        }
        let nearly_all = !self.has_all
            && absent.len() >= MANY
            && absent.len() as u64 * 2 >= self.seen.files
            && self.seen.trees * 2 >= layout::object_count(&self.store.repository());
        self.objects = None;
        if nearly_all {
            self.has_all = true;
            return self.run(fetch::whole_again);
        }
        let fetched = with_fresh_credentials(
            (&self.store.access, &self.store.cancel),
            |session| fetch::files(&self.store, session, absent),
            |source| Error::FetchFiles {
                remote: self.store.access.remote(),
                count: absent.len(),
                source,
            },
        );
        let is_unfetchable = self.unfetchable.is_some_and(|id| absent.contains(&id));
        match fetched {
            // Then it is told which of them is missing.
            Err(error) if is_not_our_ref(&error) && is_unfetchable => Ok(()),
            Err(error) if is_not_our_ref(&error) => self.fetch_everything(),
            fetched => fetched,
        }
    }
}
