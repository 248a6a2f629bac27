//! Loads a missing entry once, however many threads miss it.
//!
//! The first thread that misses is the leader: it loads, and the others wait for its result or its error. If the leader
//! panics, the others start over and one of them becomes the leader.

use crate::handle::Handle;
use crate::key::CacheKey;
use crate::sync::{Condvar, Mutex};
use ferrock_base::error::{Error, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The loads in flight are spread over so many tables.
const TABLES: usize = 16;

enum LoadState<V> {
    Loading,
    Done(Handle<V>),
    Failed(Error),
    /// The leader panicked.
    Abandoned,
}

struct Flight<V> {
    state: Mutex<LoadState<V>>,
    changed: Condvar,
}

impl<V> Flight<V> {
    /// Waits for the result; `None` if the leader panicked.
    fn wait(&self) -> Option<Result<Handle<V>>> {
        let mut state = self.state.lock();
        loop {
            match &*state {
                LoadState::Loading => self.changed.wait(&mut state),
                LoadState::Done(handle) => return Some(Ok(handle.clone())),
                LoadState::Failed(error) => return Some(Err(error.clone())),
                LoadState::Abandoned => return None,
            }
        }
    }
}

type Table<V> = Mutex<HashMap<CacheKey, Arc<Flight<V>>>>;

/// All loads in flight.
pub(crate) struct Flights<V> {
    tables: [Table<V>; TABLES],
}

/// Held by the loading thread. Dropping it without a result makes the waiting threads try again.
struct Lead<'a, V> {
    table: &'a Table<V>,
    key: CacheKey,
    flight: Arc<Flight<V>>,
}

impl<V> Lead<'_, V> {
    fn finish(&self, state: LoadState<V>) {
        // Removed first, so that later lookups search the cache again instead of getting an old error.
        self.table.lock().remove(&self.key);
        let mut current = self.flight.state.lock();
        if matches!(*current, LoadState::Loading) {
            *current = state;
            self.flight.changed.notify_all();
        }
    }
}

impl<V> Drop for Lead<'_, V> {
    fn drop(&mut self) {
        if matches!(*self.flight.state.lock(), LoadState::Loading) {
            self.finish(LoadState::Abandoned);
        }
    }
}

impl<V> Flights<V> {
    pub(crate) fn new() -> Self {
        Self { tables: std::array::from_fn(|_| Mutex::new(HashMap::new())) }
    }

    /// Returns the result of `load`, run by this thread or by another one at the same time. `recheck` looks up the
    /// entry again, in case a load ended between the caller's miss and now.
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
                    let flight =
                        Arc::new(Flight { state: Mutex::new(LoadState::Loading), changed: Condvar::default() });
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
            Ok(handle) => LoadState::Done(handle.clone()),
            Err(error) => LoadState::Failed(error.clone()),
        });
        result
    }
}
