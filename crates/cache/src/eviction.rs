//! Eviction. One clock hand goes around the whole cache: a few slots of one shard, then a few of the next.
//!
//! Because the hand goes around, instead of evicting from the shard that is inserted into, an entry may be larger than
//! a shard's share of the capacity: the other shards make room, and small entries beside the large one age no faster
//! than elsewhere. Keys are spread by a hash, so shards have about as many entries each, and equal turns are equal
//! ages.

use crate::shard::Extent;
use crate::shared::{Effort, Garbage, Shared};
use crate::slot::MOST_PASSES;
use crate::stats::Event;
use crate::sync::Ordering;

/// Slots passed in a shard before the hand moves to the next one.
const TURN: usize = 64;
/// Without a strict limit the hand gives up after this many entries in use for each entry it evicted or aged: a cache
/// full of pinned entries must not make every insert a walk over all of them.
const EFFORT_CAP: usize = 64;
/// How often the hand may go around: hits meanwhile add passes to entries that it has aged.
const MOST_ROUNDS: usize = MOST_PASSES + 2;

impl<V> Shared<V> {
    /// Evicts entries that are not in use until `wanted` bytes are freed. Returns how many were.
    pub(crate) fn evict(&self, wanted: usize, effort: Effort) -> usize {
        let mut freed = 0;
        // `quiet`: slots passed since an entry was evicted or aged. A quiet pass over all slots means that every entry
        // is in use.
        let (mut quiet, mut steps, mut referenced, mut moved) = (0usize, 0usize, 0usize, 0usize);
        let mut turns = 0;
        // Once set, the walk visits whole shards, one after the other, without the shared hand: of two threads that
        // take turns with it, each could see only every other shard and miss the entries of the rest.
        let mut next_whole = None;
        while freed < wanted {
            let (number, extent) = match &mut next_whole {
                None => (self.hand.fetch_add(1, Ordering::Relaxed), Extent::Turn(TURN)),
                Some(next) => {
                    *next += 1;
                    (*next, Extent::Whole)
                }
            };
            let shard = &self.shards()[number % self.shards().len()];
            let mut garbage = Garbage::new();
            let swept = shard.sweep(extent, wanted - freed, &mut garbage);
            let evicted = garbage.len();
            self.drop_evicted(garbage);
            freed += swept.freed;
            steps += swept.steps;
            referenced += swept.referenced;
            moved += swept.aged + evicted;
            quiet = if swept.aged + evicted > 0 { 0 } else { quiet + 1 };
            turns += 1;
            if effort == Effort::Bounded && referenced > EFFORT_CAP * (moved + 1) {
                break;
            }
            // Short turns that find nothing may have missed the rest of their shards: then once around in whole passes.
            if quiet >= self.shards().len() {
                if extent == Extent::Whole {
                    break;
                }
                next_whole = Some(number % self.shards().len());
                (quiet, steps, turns) = (0, 0, 0);
                continue;
            }
            if steps > MOST_ROUNDS * self.budget.slots() && turns > MOST_ROUNDS * self.shards().len() {
                break;
            }
        }
        freed
    }

    pub(crate) fn drop_evicted(&self, garbage: Garbage<V>) {
        for entry in &garbage {
            self.counters.count(Event::Eviction, entry.role);
        }
        drop(garbage);
    }
}
