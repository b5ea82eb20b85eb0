//! Answers that are not what the repository holds.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Response, header};
use axum::middleware::{Next, from_fn_with_state};
use futures::{StreamExt, stream};
use tokio::task::spawn_blocking;

use super::rewrite::{self, PackAnswer};
use crate::git::noise::Noise;
use crate::git::packet;
use crate::git::{Edit, Oid, Repo, Tree};

const REFS_PER_CHUNK: u64 = 500;
const PROGRESS: &[u8] = b"remote is still counting its objects, please wait            \r";

/// Something that the server says and that is not so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lie {
    /// `main` is at a commit that the server then refuses to send.
    MissingTip,
    /// Before every request `main` gets a new commit, really: what was resolved is already old.
    MovingTip,
    /// The pack's checksum is wrong.
    WrongChecksum,
    /// The pack ends in its middle, the answer in good order.
    TruncatedPack,
    /// Behind the pack's head there are no objects.
    GarbagePack,
    /// The pack is this one.
    Pack(Vec<u8>),
    /// Every answer is noise.
    Garbage,
    /// Before the pack comes this much progress text, or text without end.
    Progress(Option<u64>),
    /// The list of refs has this many more.
    ManyRefs(u64),
}

/// The lie of the moment, and the repository that it is about.
#[derive(Debug)]
pub(super) struct Liar {
    // The server owns it: a connection that is still being closed must not keep its files.
    repo: Weak<Repo>,
    lie: Mutex<Option<Lie>>,
    told: AtomicUsize,
}

/// Puts the liar in front of a router.
pub(super) fn layer(router: Router, liar: Arc<Liar>) -> Router {
    router.layer(from_fn_with_state(liar, answer))
}

impl Liar {
    pub(super) fn new(repo: &Arc<Repo>) -> Self {
        let repo = Arc::downgrade(repo);
        Self { repo, lie: Mutex::new(None), told: AtomicUsize::new(0) }
    }

    pub(super) fn tell(&self, lie: Option<Lie>) {
        *self.lie.lock().unwrap_or_else(PoisonError::into_inner) = lie;
    }

    pub(super) fn told(&self) -> usize {
        self.told.load(Ordering::Relaxed)
    }

    fn lie(&self) -> Option<Lie> {
        self.lie.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self) {
        self.told.fetch_add(1, Ordering::Relaxed);
    }

    fn tip(&self) -> Option<Oid> {
        self.repo.upgrade()?.tip("main").ok()
    }

    /// The count is in the file, so that no two tips are equal.
    fn move_tip(&self) {
        let Some(repo) = self.repo.upgrade() else { return };
        let number = self.told.fetch_add(1, Ordering::Relaxed);
        let edit = Edit::put(Tree::new().file("moving-tip", number.to_string()));
        // A repository that can't be written to shows in the test that counts its commits.
        repo.commit(edit).ok();
    }
}

async fn answer(State(liar): State<Arc<Liar>>, request: Request, next: Next) -> Response<Body> {
    let Some(lie) = liar.lie() else { return next.run(request).await };
    if lie == Lie::MovingTip {
        let mover = Arc::clone(&liar);
        spawn_blocking(move || mover.move_tip()).await.ok();
        return next.run(request).await;
    }
    let asker = Arc::clone(&liar);
    let tip = spawn_blocking(move || asker.tip()).await.ok().flatten();
    let (mut head, body) = next.run(request).await.into_parts();
    if !head.status.is_success() {
        return Response::from_parts(head, body);
    }
    let Ok(truth) = axum::body::to_bytes(body, usize::MAX).await else {
        return Response::default();
    };
    head.headers.remove(header::CONTENT_LENGTH);
    let body = match twist(&lie, &truth, tip.as_ref()) {
        Some(body) => {
            liar.count();
            body
        }
        None => truth.into(),
    };
    Response::from_parts(head, body)
}

/// Returns what is said instead, or `None` where the lie has nothing to do with this answer.
fn twist(lie: &Lie, truth: &Bytes, tip: Option<&Oid>) -> Option<Body> {
    let pack = || PackAnswer::parse(truth);
    let changed = match lie {
        Lie::MovingTip => return None,
        Lie::MissingTip => missing(truth, tip?)?,
        Lie::WrongChecksum => pack()?.with_wrong_checksum().to_bytes(),
        Lie::TruncatedPack => pack()?.truncated().to_bytes(),
        Lie::GarbagePack => pack()?.with_garbage().to_bytes(),
        Lie::Pack(other) => pack()?.with_pack(other.clone()).to_bytes(),
        Lie::Garbage => Noise::new(2).bytes(4096),
        Lie::Progress(limit) => return Some(chatter(&pack()?, *limit)),
        Lie::ManyRefs(count) => return many_refs(truth, *count, tip?),
    };
    Some(changed.into())
}

fn missing(truth: &[u8], tip: &Oid) -> Option<Vec<u8>> {
    let changed = rewrite::replace_id(truth, tip, &Oid::unknown(0x0bad_c0de));
    (changed != truth).then_some(changed)
}

/// Streams progress between the lines and the pack, a chunk at a time, as fast as the client reads.
fn chatter(answer: &PackAnswer, limit: Option<u64>) -> Body {
    let text = PROGRESS.repeat(packet::MOST / PROGRESS.len() - 1);
    let mut chunk = Vec::new();
    for packet in packet::sideband(2, &text) {
        packet.write(&mut chunk);
    }
    let chunk = Bytes::from(chunk);
    let count = limit.map_or(usize::MAX, |bytes| {
        usize::try_from(bytes.div_ceil(text.len() as u64)).unwrap_or(usize::MAX)
    });
    let once = |bytes: Vec<u8>| stream::iter([Bytes::from(bytes)]);
    let chunks = stream::repeat(chunk).take(count);
    let all = once(answer.head()).chain(chunks).chain(once(answer.tail()));
    Body::from_stream(all.map(Ok::<_, Infallible>))
}

fn many_refs(truth: &[u8], count: u64, target: &Oid) -> Option<Body> {
    let (open, end) = rewrite::open_ref_list(truth)?;
    let target = target.clone();
    let chunks = stream::iter(0..count.div_ceil(REFS_PER_CHUNK)).map(move |chunk| {
        let first = chunk * REFS_PER_CHUNK;
        let last = count.min(first + REFS_PER_CHUNK);
        (first..last).flat_map(|number| rewrite::invented_ref(number, &target)).collect::<Bytes>()
    });
    let once = |bytes: Vec<u8>| stream::iter([Bytes::from(bytes)]);
    let all = once(open).chain(chunks).chain(once(end));
    Some(Body::from_stream(all.map(Ok::<_, Infallible>)))
}
