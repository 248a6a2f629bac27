//! Loading a missing entry once, however many threads want it.
//!
//! The first to miss leads: it loads, and the others wait for its result or its error. When the leader panics, the others
//! start over and one of them leads.

use crate::handle::Handle;
use crate::key::CacheKey;
use crate::sync::{Condvar, Mutex};
use ferrock_base::error::{Error, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Loads in the air are kept in this many tables.
const TABLES: usize = 16;

enum State<V> {
    Loading,
    Done(Handle<V>),
    Failed(Error),
    /// The leader panicked.
    Abandoned,
}

struct Flight<V> {
    state: Mutex<State<V>>,
    changed: Condvar,
}

impl<V> Flight<V> {
    /// The result, or `None` when there will be none.
    fn wait(&self) -> Option<Result<Handle<V>>> {
        let mut state = self.state.lock();
        loop {
            match &*state {
                State::Loading => self.changed.wait(&mut state),
                State::Done(handle) => return Some(Ok(handle.clone())),
                State::Failed(error) => return Some(Err(error.clone())),
                State::Abandoned => return None,
            }
        }
    }
}

type Table<V> = Mutex<HashMap<CacheKey, Arc<Flight<V>>>>;

/// All loads in the air.
pub(crate) struct Flights<V> {
    tables: [Table<V>; TABLES],
}

/// The duty of the one that loads. Dropped without a result it tells the waiters to try again.
struct Lead<'a, V> {
    table: &'a Table<V>,
    key: CacheKey,
    flight: Arc<Flight<V>>,
}

impl<V> Lead<'_, V> {
    fn finish(&self, state: State<V>) {
        // Removed first: who comes later looks into the cache again instead of getting an old error.
        self.table.lock().remove(&self.key);
        let mut current = self.flight.state.lock();
        if matches!(*current, State::Loading) {
            *current = state;
            self.flight.changed.notify_all();
        }
    }
}

impl<V> Drop for Lead<'_, V> {
    fn drop(&mut self) {
        if matches!(*self.flight.state.lock(), State::Loading) {
            self.finish(State::Abandoned);
        }
    }
}

impl<V> Flights<V> {
    pub(crate) fn new() -> Self {
        Self { tables: std::array::from_fn(|_| Mutex::new(HashMap::new())) }
    }

    /// The result of `load`, run by this thread or by another one at the same time. `recheck` looks whether a load ended
    /// between the caller's miss and now.
    pub(crate) fn load(
        &self,
        key: &CacheKey,
        recheck: impl Fn() -> Option<Handle<V>>,
        load: impl FnOnce() -> Result<Handle<V>>,
    ) -> Result<Handle<V>> {
        let table = &self.tables[key.hash() as usize % TABLES];
        let lead = loop {
            let waiting_for = match table.lock().entry(*key) {
                Entry::Occupied(flight) => flight.get().clone(),
                Entry::Vacant(place) => {
                    let flight = Arc::new(Flight { state: Mutex::new(State::Loading), changed: Condvar::default() });
                    place.insert(flight.clone());
                    break Lead { table, key: *key, flight };
                }
            };
            if let Some(result) = waiting_for.wait() {
                return result;
            }
        };
        let result = recheck().map_or_else(load, Ok);
        lead.finish(match &result {
            Ok(handle) => State::Done(handle.clone()),
            Err(error) => State::Failed(error.clone()),
        });
        result
    }
}
