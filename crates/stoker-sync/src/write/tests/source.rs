//! Claims about a source that fails while files are written.

use super::*;

/// A commit whose files are read in a way of its own.
struct Reading<R>(Commit, R);

impl<R> Source for Reading<R>
where
    R: FnMut(&mut Commit, &[ObjectId], &mut Sink<'_>) -> Result<(), crate::source::Error>,
{
    fn root(&mut self) -> Result<ObjectId, crate::source::Error> {
        self.0.root()
    }

    fn list(&mut self, trees: &[ObjectId]) -> Result<Vec<Vec<Entry>>, crate::source::Error> {
        self.0.list(trees)
    }

    fn fetch(&mut self, blobs: &[ObjectId]) -> Result<Vec<u64>, crate::source::Error> {
        self.0.fetch(blobs)
    }

    fn read(
        &mut self,
        blobs: &[ObjectId],
        sink: &mut Sink<'_>,
    ) -> Result<(), crate::source::Error> {
        (self.1)(&mut self.0, blobs, sink)
    }
}

// A16
#[test]
fn a_run_that_is_cancelled_while_it_writes_is_undone() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1"), ("p/b", "2"), ("p/c", "3")]);
    for after in 0..3 {
        let cancel = Cancel::default();
        let mut source =
            Reading(commit.clone(), |commit: &mut Commit, blobs: &[_], sink: &mut Sink<'_>| {
                commit.read(blobs, &mut |index, size, content| {
                    if index == after {
                        cancel.cancel();
                    }
                    sink(index, size, content)
                })
            });
        let mut engine = scratch.engine();
        let plan = engine.plan(&mut source, &request(&commit, ["p:projects"]), &cancel).unwrap();
        let error = engine.write(plan, &mut source, &cancel).err().unwrap();
        assert!(matches!(error, crate::write::Error::Cancelled(_)), "{error:?}");
        assert!(scratch.snapshot("data").is_empty());
    }
}

#[test]
fn a_source_says_itself_why_its_bytes_broke_off() {
    struct Torn;
    impl std::io::Read for Torn {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::UnexpectedEof.into())
        }
    }
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a", "1")]);
    let cancel = Cancel::default();
    let mut source = Reading(commit.clone(), |_: &mut Commit, blobs: &[_], sink: &mut Sink<'_>| {
        assert!(sink(0, 1, &mut Torn).is_break());
        Err(crate::source::Error::Missing { id: blobs[0] })
    });
    let mut engine = scratch.engine();
    let wanted = request(&commit, ["p:projects"]);
    let plan = engine.plan(&mut commit.clone(), &wanted, &cancel).unwrap();
    let error = engine.write(plan, &mut source, &cancel).err().unwrap();
    let is_told =
        matches!(error, crate::write::Error::Read { source: crate::source::Error::Missing { .. } });
    assert!(is_told, "{error:?}");
}
