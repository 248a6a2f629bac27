//! The share of a table's lookups that find nothing, and decisions in that proportion.
//!
//! The share moves toward each outcome by a 32nd of the distance, so that some tens of lookups change it and a single
//! one does not. Concurrent updates may be lost, which costs only precision.

use std::sync::atomic::{AtomicU32, Ordering};

/// A share of 1, in fixed point.
const ONE: u32 = 1 << 16;
/// Each outcome has the weight `1 / 2^WEIGHT_SHIFT`.
const WEIGHT_SHIFT: u32 = 5;

/// A moving average of outcomes, and the credit carried over between draws.
#[derive(Debug)]
pub(crate) struct FilterMissRate {
    share: AtomicU32,
    /// Sum of the shares drawn; a draw is won whenever the sum passes a multiple of `ONE`.
    credit: AtomicU32,
}

impl Default for FilterMissRate {
    /// Before the first outcome every key counts as absent.
    fn default() -> Self {
        Self { share: AtomicU32::new(ONE), credit: AtomicU32::new(ONE / 2) }
    }
}

impl FilterMissRate {
    /// Learns the outcome of a lookup.
    #[inline]
    pub(crate) fn note(&self, was_absent: bool) {
        let share = self.share.load(Ordering::Relaxed);
        let moved = if was_absent {
            share + (ONE - share).div_ceil(1 << WEIGHT_SHIFT)
        } else {
            share - share.div_ceil(1 << WEIGHT_SHIFT)
        };
        if moved != share {
            self.share.store(moved, Ordering::Relaxed);
        }
    }

    /// True in the proportion of the share: of `n` draws in a row `n` times the share are won, evenly spread.
    #[inline]
    pub(crate) fn draw(&self) -> bool {
        let share = self.share.load(Ordering::Relaxed);
        let before = self.credit.fetch_add(share, Ordering::Relaxed);
        before % ONE + share >= ONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_outcomes_and_reaches_both_ends() {
        let rate = FilterMissRate::default();
        assert!((0..100).all(|_| rate.draw()), "nothing known: every filter is read");
        (0..400).for_each(|_| rate.note(false));
        assert_eq!(rate.share.load(Ordering::Relaxed), 0);
        assert!(!(0..1000).any(|_| rate.draw()));
        (0..400).for_each(|_| rate.note(true));
        assert_eq!(rate.share.load(Ordering::Relaxed), ONE);
        assert!((0..1000).all(|_| rate.draw()));
    }

    #[test]
    fn draws_are_won_in_proportion() {
        let rate = FilterMissRate::default();
        rate.share.store(ONE / 4, Ordering::Relaxed);
        let won: Vec<bool> = (0..4000).map(|_| rate.draw()).collect();
        assert_eq!(won.iter().filter(|&&won| won).count(), 1000);
        assert!(won.chunks(4).all(|four| four.iter().filter(|&&won| won).count() == 1));
    }

    #[test]
    fn mixed_outcomes_settle_between() {
        let rate = FilterMissRate::default();
        for lookup in 0..2000 {
            rate.note(lookup % 2 == 0);
        }
        let settled = rate.share.load(Ordering::Relaxed);
        assert!((ONE * 9 / 20..ONE * 11 / 20).contains(&settled), "{settled}");
    }
}
