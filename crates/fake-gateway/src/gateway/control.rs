//! Changes a stand-in while it runs, and asks what it saw.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Gateway, enter_running};
use crate::auth::Token;
use crate::fault::Fault;
use crate::lock::Hold;
use crate::server::Switch;
use crate::world::{Half, Loaded, Recorded, ScanRecord, State};

impl Gateway {
    /// Goes into `state`. Into RUNNING it seeds the data directory if that is due, and loads it.
    pub fn set(&self, state: State) {
        match state {
            State::Running => enter_running(&self.shared).expect("the seed can be written"),
            State::Down | State::Starting | State::Uncommissioned => {
                self.shared.change(|world| world.state = state);
            }
        }
        for switch in &self.switches {
            let (done, is_done) = channel::<()>();
            // A listener that is gone has dropped its end, too.
            drop(switch.send(Switch { open: state != State::Down, done }));
            for () in is_done {}
        }
    }

    /// Adds a fault; the first that fits a request strikes.
    pub fn fail(&self, fault: Fault) {
        self.shared.change(|world| world.faults.push(fault));
    }

    /// Removes every fault.
    pub fn heal(&self) {
        self.shared.change(|world| world.faults.clear());
    }

    /// Replaces the tokens, as a rotation does.
    pub fn set_tokens(&self, tokens: impl IntoIterator<Item = Token>) {
        self.shared.change(|world| world.tokens = tokens.into_iter().collect());
    }

    /// Opens a designer session and returns its id.
    pub fn open_designer(&self, user: &str, project: &str) -> String {
        self.shared.change(|world| {
            let id = format!("designer-{}", world.next_id);
            world.next_id += 1;
            let session = json!({
                "id": id, "user": user, "project": project, "address": "127.0.0.1",
                "uptime": 1000, "lastcomm": 10, "dormant": false,
            });
            world.designers.insert(id.clone(), session);
            id
        })
    }

    /// Closes a designer session.
    pub fn close_designer(&self, id: &str) {
        self.shared.change(|world| world.designers.remove(id));
    }

    /// Takes the scan lock of `half` as somebody else would.
    pub fn hold_lock(&self, half: Half, hold: Duration) {
        self.shared.change(|world| {
            let hold = Hold::new("somebody else", Instant::now(), hold);
            world.half_mut(half).lock.seize(hold);
        });
    }

    /// Lets the scan lock of `half` go, whoever has it.
    pub fn release_lock(&self, half: Half) {
        self.shared.change(|world| world.half_mut(half).lock.release());
    }

    /// Returns whether the scan lock of `half` is held.
    pub fn is_locked(&self, half: Half) -> bool {
        self.shared.world().half(half).lock.holder(Instant::now()).is_some()
    }

    /// Returns every request so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.world().requests.clone()
    }

    /// Returns `METHOD /path` of every request so far.
    pub fn calls(&self) -> Vec<String> {
        let world = self.shared.world();
        world.requests.iter().map(|call| format!("{} {}", call.method, call.path)).collect()
    }

    /// Returns what is loaded.
    pub fn loaded(&self) -> Loaded {
        self.shared.world().loaded()
    }

    /// Returns every scan that ended, the one at start included.
    pub fn scans(&self) -> Vec<ScanRecord> {
        self.shared.world().scans.clone()
    }

    /// Waits until this many requests to paths that begin with `prefix` have come; returns whether
    /// they have.
    pub fn wait_for_requests(&self, prefix: &str, count: usize, timeout: Duration) -> bool {
        self.shared.wait(timeout, |world| {
            world.requests.iter().filter(|call| call.path.starts_with(prefix)).count() >= count
        })
    }

    /// Waits until this many scans of `half` have ended, the one at start included; returns whether
    /// they have.
    pub fn wait_for_scans(&self, half: Half, count: usize, timeout: Duration) -> bool {
        self.shared.wait(timeout, |world| {
            world.scans.iter().filter(|scan| scan.half == half).count() >= count
        })
    }

    /// Waits until more than `seen` scans have ended, those at start included; returns whether they
    /// have.
    pub fn wait_for_scans_beyond(&self, seen: usize, timeout: Duration) -> bool {
        self.shared.wait(timeout, |world| world.scans.len() > seen)
    }
}
