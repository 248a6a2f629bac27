//! Which reads a table file counts, for `read_triggered_compaction_threshold`.
//!
//! A read is *collapsible* at a file if the file had no value for it, so that it would have cost less without the file:
//!
//! | read | in a file of | is collapsible when |
//! |---|---|---|
//! | lookup of a key | any level | the file had nothing of the key, by its filter or not; operands without a base; a deletion |
//! | placement of an iterator, or a step | level 1 and below | the entry where it ends is a deletion or an operand |
//!
//! Of lookups and placements one of 1024 is taken at random, of steps, which cost less, one of 65,536, and each that is
//! taken counts as 1024. These are RocksDB's rules and numbers. Where the option is 0 nothing is taken or counted.
//!
//! Each thread draws how many reads come before the next one that is taken: a read counts down, and a program whose
//! reads have a period does not have the same ones taken again and again.

use ferrock_base::internal_key::ParsedInternalKey;
use ferrock_base::random::Random;
use ferrock_base::types::ValueType;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a read that is taken counts as.
pub const READS_PER_SAMPLE: u64 = 1024;
/// Of so many steps of iterators one is taken.
const STEPS_PER_SAMPLE: u64 = READS_PER_SAMPLE * 64;

/// Takes one read of `interval` on average.
#[derive(Debug)]
struct Sampler {
    random: Random,
    left: u64,
    interval: u64,
}

impl Sampler {
    fn new(seed: u64, interval: u64) -> Self {
        let mut random = Random::new(seed);
        // As if the thread had begun long ago.
        let left = random.below(interval);
        Self { random, left, interval }
    }

    fn takes(&mut self) -> bool {
        let is_taken = self.left == 0;
        self.left = if is_taken { self.random.below(2 * self.interval - 1) } else { self.left - 1 };
        is_taken
    }
}

fn seed() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(0);
    THREADS.fetch_add(1, Ordering::Relaxed)
}

thread_local! {
    static LOOKUPS: RefCell<Sampler> = RefCell::new(Sampler::new(seed(), READS_PER_SAMPLE));
    static STEPS: RefCell<Sampler> = RefCell::new(Sampler::new(seed(), STEPS_PER_SAMPLE));
}

/// Decides of the lookup of a key, or the placement of an iterator.
pub(crate) fn takes_lookup() -> bool {
    LOOKUPS.try_with(|sampler| sampler.borrow_mut().takes()).unwrap_or(false)
}

/// Decides of a step of an iterator.
pub(crate) fn takes_step() -> bool {
    STEPS.try_with(|sampler| sampler.borrow_mut().takes()).unwrap_or(false)
}

/// True for the entry of a key that a compaction may drop, or join with another.
pub(crate) fn is_collapsible(key: &[u8]) -> bool {
    let value_type = ParsedInternalKey::parse(key).map(|key| key.value_type);
    matches!(
        value_type,
        Ok(ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp | ValueType::Merge)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_read_of_an_interval_is_taken_and_not_always_the_same() {
        for seed in 0..20 {
            let mut sampler = Sampler::new(seed, 100);
            let taken: Vec<u64> = (0..100_000).filter(|_| sampler.takes()).collect();
            assert!((900..1100).contains(&taken.len()), "seed {seed}: {}", taken.len());
            let of_one_turn = |turn: u64| taken.iter().filter(|at| *at % 4 == turn).count();
            assert!((0..4).all(|turn| (170..330).contains(&of_one_turn(turn))), "seed {seed}");
        }
    }
}
