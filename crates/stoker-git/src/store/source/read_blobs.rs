//! Reads the contents of files. If the store fails in the middle, it is rebuilt and reading
//! goes on.

use std::ops::ControlFlow;

use stoker_sync::source::{ObjectId, Sink};

use super::{CommitSource, distinct};
use crate::error::Error;
use crate::store::objects::{Header, ObjectKind};
use crate::store::{self, layout};

impl CommitSource {
    /// Passes the files to the sink. If the store fails, the rest is fetched into a rebuilt store.
    pub(super) fn stream(&mut self, blobs: &[ObjectId], sink: &mut Sink<'_>) -> Result<(), Error> {
        let mut seen = 0;
        let streamed = match self.stream_rest(blobs, &mut seen, sink) {
            Err(error) if self.may_rebuild(&error) && !is_torn(&error) => {
                let rest = distinct(&blobs[seen..]);
                let again = |source: &mut Self| {
                    source.fetch_trees()?;
                    source.fetch_blobs(&rest)
                };
                let brought = self.rebuild(again);
                self.or_after_emptying(brought, again)?;
                self.stream_rest(blobs, &mut seen, sink)
            }
            streamed => streamed,
        };
        if streamed.as_ref().is_err_and(is_torn) {
            // The sink already has a part of that file, so only the next run can read it again,
            // from an emptied store. This error is returned even if that fails.
            drop(layout::invalidate(&self.store.directory));
        }
        streamed
    }

    fn stream_rest(
        &mut self,
        blobs: &[ObjectId],
        seen: &mut usize,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let first = *seen;
        let flow = self.ask(|objects| {
            objects.contents(&blobs[first..], &mut |index, header, content| match header {
                Header::Found { kind: ObjectKind::Blob, size } => {
                    *seen = first + index + 1;
                    Ok(sink(first + index, size, content))
                }
                Header::Found { .. } | Header::Missing => {
                    Err(store::Error::Missing { id: blobs[first + index] })
                }
            })
        })?;
        if flow == ControlFlow::Break(()) {
            self.objects = None;
        }
        Ok(())
    }
}

fn is_torn(error: &Error) -> bool {
    matches!(error, Error::Store { source: store::Error::Torn { .. }, .. })
}
