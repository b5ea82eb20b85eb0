//! Which GatewaySyncs are to be looked at, and when.
//!
//! # Promises
//! A key is worked on by one worker at a time. A key that is woken while it is worked on is worked
//! on again right after. However often a key is woken, it waits once.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::Next;
use super::cache::Key;

/// The queue. Workers call [`Queue::next`] and [`Queue::done`].
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    ready: VecDeque<Key>,
    waiting: HashSet<Key>,
    running: HashSet<Key>,
    woken: HashSet<Key>,
    due: BTreeSet<(Instant, Key)>,
    times: HashMap<Key, Instant>,
}

impl Queue {
    /// Has the key worked on as soon as a worker is free.
    pub(crate) fn wake(&self, key: Key) {
        self.lock().wake(key, Place::Back);
        self.changed.notify_one();
    }

    /// Has the key worked on before those that wait already.
    pub(crate) fn wake_first(&self, key: Key) {
        self.lock().wake(key, Place::Front);
        self.changed.notify_one();
    }

    /// Waits for a key to work on.
    pub(crate) async fn next(&self) -> Key {
        loop {
            let soonest = {
                let mut state = self.lock();
                state.promote(Instant::now());
                if let Some(key) = state.take() {
                    if !state.ready.is_empty() {
                        self.changed.notify_one();
                    }
                    return key;
                }
                state.due.first().map(|(time, _)| *time)
            };
            match soonest {
                Some(time) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(time) => {}
                        () = self.changed.notified() => {}
                    }
                }
                None => self.changed.notified().await,
            }
        }
    }

    /// Says that a worker is done with a key.
    pub(crate) fn done(&self, key: &Key, next: Next) {
        let mut state = self.lock();
        state.running.remove(key);
        if let Next::After(delay) = next {
            state.schedule(key.clone(), Instant::now() + delay);
        }
        if state.woken.remove(key) {
            state.wake(key.clone(), Place::Back);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Drops everything, for workers that start anew.
    pub(crate) fn clear(&self) {
        *self.lock() = State::default();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere can't leave a collection half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Front,
    Back,
}

impl State {
    fn wake(&mut self, key: Key, place: Place) {
        if self.running.contains(&key) {
            self.woken.insert(key);
            return;
        }
        if self.waiting.insert(key.clone()) {
            match place {
                Place::Front => self.ready.push_front(key),
                Place::Back => self.ready.push_back(key),
            }
        }
    }

    fn take(&mut self) -> Option<Key> {
        let key = self.ready.pop_front()?;
        self.waiting.remove(&key);
        if let Some(time) = self.times.remove(&key) {
            self.due.remove(&(time, key.clone()));
        }
        self.running.insert(key.clone());
        Some(key)
    }

    fn schedule(&mut self, key: Key, time: Instant) {
        if let Some(before) = self.times.insert(key.clone(), time) {
            self.due.remove(&(before, key.clone()));
        }
        self.due.insert((time, key));
    }

    fn promote(&mut self, now: Instant) {
        while let Some((time, key)) = self.due.first().cloned().filter(|(time, _)| *time <= now) {
            self.due.remove(&(time, key.clone()));
            self.times.remove(&key);
            self.wake(key, Place::Back);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(name: &str) -> Key {
        Key::new("ns", name)
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_once_and_is_worked_on_by_one_worker() {
        let queue = Queue::default();
        queue.wake(key("a"));
        queue.wake(key("a"));
        queue.wake(key("b"));
        assert_eq!(queue.next().await, key("a"));
        queue.wake(key("a"));
        assert_eq!(queue.next().await, key("b"));
        queue.done(&key("a"), Next::Rest);
        assert_eq!(queue.next().await, key("a"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_returns_when_it_is_due_and_sooner_when_it_is_woken() {
        let queue = Queue::default();
        queue.wake(key("a"));
        queue.next().await;
        queue.done(&key("a"), Next::After(Duration::from_mins(1)));
        let started = Instant::now();
        assert_eq!(queue.next().await, key("a"));
        assert_eq!(started.elapsed().as_secs(), 60);
        queue.done(&key("a"), Next::After(Duration::from_mins(1)));
        queue.wake(key("a"));
        assert_eq!(queue.next().await, key("a"));
        queue.done(&key("a"), Next::Rest);
        let silent = tokio::time::timeout(Duration::from_mins(10), queue.next()).await;
        assert!(silent.is_err(), "an early visit replaces the later one");
    }

    #[tokio::test(start_paused = true)]
    async fn urgent_keys_come_first() {
        let queue = Queue::default();
        queue.wake(key("a"));
        queue.wake_first(key("b"));
        assert_eq!(queue.next().await, key("b"));
    }
}
