//! Which GatewaySyncs are to be looked at, and when.
//!
//! # Promises
//! A key is worked on by one worker at a time. A key that is woken while it is worked on is worked
//! on again after that. However often a key is woken, it waits once. What is urgent comes first, in
//! the order in which it was woken, also where it waited already.

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
    /// Keys that come before those that are ready. What is in here, or in `ready`, and does not wait
    /// any more was taken already.
    urgent: VecDeque<Key>,
    ready: VecDeque<Key>,
    waiting: HashSet<Key>,
    running: HashSet<Key>,
    woken: HashMap<Key, Place>,
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
                    if !state.waiting.is_empty() {
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
        if let Some(place) = state.woken.remove(key) {
            state.wake(key.clone(), place);
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Back,
    Front,
}

impl State {
    fn wake(&mut self, key: Key, place: Place) {
        if self.running.contains(&key) {
            let woken = self.woken.entry(key).or_insert(place);
            *woken = place.max(*woken);
            return;
        }
        let is_new = self.waiting.insert(key.clone());
        match place {
            Place::Front => self.urgent.push_back(key),
            Place::Back if is_new => self.ready.push_back(key),
            Place::Back => {}
        }
    }

    fn take(&mut self) -> Option<Key> {
        let key = loop {
            let key = self.urgent.pop_front().or_else(|| self.ready.pop_front())?;
            if self.waiting.remove(&key) {
                break key;
            }
        };
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
    async fn urgent_keys_come_first_and_once_also_where_they_waited_already() {
        let queue = Queue::default();
        for name in ["running", "a", "b", "c"] {
            queue.wake(key(name));
        }
        assert_eq!(queue.next().await, key("running"));
        for name in ["running", "c", "new"] {
            queue.wake_first(key(name));
        }
        queue.wake(key("running"));
        assert_eq!(queue.next().await, key("c"));
        queue.done(&key("running"), Next::Rest);
        for name in ["new", "running", "a", "b"] {
            assert_eq!(queue.next().await, key(name));
        }
        let silent = tokio::time::timeout(Duration::from_mins(10), queue.next()).await;
        assert!(silent.is_err(), "{silent:?}");
    }
}
