//! Git LFS pointers among the files of a plan: a stand-in on a gateway is a broken resource.
//!
//! The write refuses them as it meets them. Whoever only looks asks here.

use std::io::Read as _;
use std::ops::ControlFlow;

use super::{Plan, Put};
use crate::lfs;
use crate::source::{ObjectId, Source};
use crate::write;

impl Plan {
    /// Refuses a plan with a pointer in it, as its write would. Reads small files only.
    pub fn refuse_pointers(&self, source: &mut dyn Source) -> Result<(), write::Error> {
        let may_be = |put: &&Put| put.recipe.is_none() && lfs::may_be(put.size);
        let puts: Vec<&Put> = self.work.puts.iter().filter(may_be).collect();
        let blobs: Vec<ObjectId> = puts.iter().map(|put| put.blob).collect();
        let mut paths = Vec::new();
        let read = source.read(&blobs, &mut |index, size, content| {
            let mut bytes = Vec::new();
            // What breaks off is no pointer; the write will notice that it broke off.
            drop(content.take(size.min(lfs::SIZE)).read_to_end(&mut bytes));
            if lfs::is_pointer(&bytes) {
                paths.push(puts[index].path.clone());
            }
            ControlFlow::Continue(())
        });
        if !paths.is_empty() {
            paths.sort();
            return Err(write::Error::LfsPointers { paths });
        }
        read.map_err(|source| write::Error::Read { source })
    }
}
