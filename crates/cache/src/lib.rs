//! The block cache: sharded, lock-free on hits, generic over what it holds.
//!
//! | module | what |
//! |---|---|
//! | `slot` | one entry and the atomic word that is its whole state |
//! | `index` | hash of a key -> slot, read without locks |
//! | `shard` | slots, index, clock hand and lock of a part of the cache |
//! | `ghosts` | hashes of entries evicted unused, remembered for a while |
//! | `budget` | capacity and usage of the whole cache |
//! | `eviction` | eviction: the clock hand goes around all shards |
//! | `shared` | all shards and the capacity; kept alive by entries |
//! | `handle` | pinned values |
//! | `flight` | a missing entry is loaded once |
//! | `reservation` | capacity taken by memory elsewhere |
//! | `account` | memory elsewhere that is counted exactly and reserved in steps |
//! | `cache` | the public interface |
#![warn(missing_docs)]

mod account;
mod budget;
mod cache;
mod eviction;
mod flight;
mod ghosts;
mod handle;
mod index;
mod key;
mod options;
mod reservation;
mod role;
mod shard;
mod shared;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod slot;
mod stats;
mod sync;
#[cfg(all(test, not(shuttle)))]
mod tests;

pub use account::{Account, Held};
pub use cache::{BlockCache, Rejected};
pub use handle::Handle;
pub use key::CacheKey;
pub use options::CacheOptions;
pub use reservation::Reservation;
pub use role::{EntryRole, Priority};
pub use stats::{CacheStats, RoleStats};
