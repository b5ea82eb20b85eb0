//! What can be seen of the data directory while the remote is asked.

use stoker_core::refs::Resolution;
use stoker_sync::request::Look;
use stoker_sync::{Foresight, Request, View};

use super::Setting;

/// Asks for a commit, and looks at the live files meanwhile: most often it is the one that is
/// there.
pub(crate) fn look_while<E>(
    setting: Setting<'_>,
    ask: impl FnOnce() -> Result<Resolution, E>,
) -> (Result<Resolution, E>, Option<Foresight>) {
    let Some((view, request)) = prepare(setting) else { return (ask(), None) };
    view.look_while((&request, setting.cancel), ask, |answer| {
        answer.as_ref().is_ok_and(|found| found.commit.to_string() == request.commit)
    })
}

/// Whatever is in the way is told by the run itself.
fn prepare(setting: Setting<'_>) -> Option<(View, Request)> {
    let target = setting.target;
    if target.look != Look::Stat || target.profile.paused {
        return None;
    }
    let view = View::open(&target.data.data).ok()?;
    let request = target.request(view.commit()?).ok()?;
    Some((view, request))
}
