//! Smaller histories that still fail.

use super::{Change, History, Step};

impl History {
    /// The smallest history found that still `fails`, until that says `None`: whole chunks of steps go first, then
    /// changes of batches, then bytes of values and moves of walks.
    #[must_use]
    pub fn shrink(self, fails: &mut dyn FnMut(&Self) -> Option<bool>) -> Self {
        let mut best = self;
        let mut attempt = |best: &mut Self, smaller: Self| -> Option<bool> {
            if !smaller.keeps_contract() {
                return Some(false);
            }
            let fails = fails(&smaller)?;
            if fails {
                *best = smaller;
            }
            Some(fails)
        };
        loop {
            let before = best.clone();
            let mut chunk = best.0.len().div_ceil(2).max(1);
            loop {
                let mut start = 0;
                while start < best.0.len() {
                    let mut smaller = best.clone();
                    smaller.0.drain(start..(start + chunk).min(best.0.len()));
                    match attempt(&mut best, smaller) {
                        None => return best,
                        Some(true) => {}
                        Some(false) => start += chunk,
                    }
                }
                if chunk == 1 {
                    break;
                }
                chunk = chunk.div_ceil(2);
            }
            for at in 0..best.0.len() {
                for simpler in simpler(&best.0[at]) {
                    let mut smaller = best.clone();
                    smaller.0[at] = simpler;
                    match attempt(&mut best, smaller) {
                        None => return best,
                        Some(true) => break,
                        Some(false) => {}
                    }
                }
            }
            if best == before {
                return best;
            }
        }
    }
}

/// The step with a little less in it.
fn simpler(step: &Step) -> Vec<Step> {
    match step {
        Step::Write(changes) => {
            let mut found: Vec<Step> = Vec::new();
            for at in 0..changes.len() {
                let mut fewer = changes.clone();
                if changes.len() > 1 {
                    fewer.remove(at);
                    found.push(Step::Write(fewer.clone()));
                    fewer.clone_from(changes);
                }
                if let Change::Put(_, _, value) | Change::Entity(_, _, value) | Change::Merge(_, _, value) =
                    &mut fewer[at]
                    && value.1 > 1
                {
                    value.1 /= 2;
                    found.push(Step::Write(fewer));
                }
            }
            found
        }
        Step::Walk { moves, .. } | Step::Tail { moves, .. } if !moves.is_empty() => {
            let mut shorter = step.clone();
            if let Step::Walk { moves, .. } | Step::Tail { moves, .. } = &mut shorter {
                moves.truncate(moves.len() / 2);
            }
            vec![shorter]
        }
        Step::Many(family, snapshot, keys) if keys.len() > 1 => {
            let halves = keys.chunks(keys.len().div_ceil(2));
            halves.map(|half| Step::Many(*family, *snapshot, half.to_vec())).collect()
        }
        Step::Across(snapshot, keys) if keys.len() > 1 => {
            let halves = keys.chunks(keys.len().div_ceil(2));
            halves.map(|half| Step::Across(*snapshot, half.to_vec())).collect()
        }
        _ => Vec::new(),
    }
}
