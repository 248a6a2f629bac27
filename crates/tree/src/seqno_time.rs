//! When sequence numbers were written: samples in memory, and their share in every table.
//!
//! ```text
//! writes        1..10    11..20    21..30          a pair says: by this time this number was the newest
//! pairs         10→500   20→600    30→700
//!
//! last number by 599 → 10        newest time before number 21 → 600
//! ```
//!
//! A family with `preserve_internal_time_seconds` keeps the sequence numbers of entries that may be younger, so that
//! the times of its tables still say when they were written. The property `rocksdb.seqno.time.map` of a table has the
//! pairs that its numbers need; a compaction joins those of its inputs. As in RocksDB nothing of it is in the MANIFEST:
//! what only logs have is as old as the open that read them.
//!
//! Pairs ascend in both members. Of pairs with one number the older time stays, of those with one time the newer
//! number, and where a clock went back the later pair counts: the errors are all towards taking entries for younger.

use ferrock_base::SequenceNumber;
use ferrock_format::properties::SeqnoTimePair;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Pairs that a table has at most.
pub const PAIRS_PER_TABLE: usize = 100;
/// Samples over the time that one family asks for.
pub const PAIRS_PER_FAMILY: u64 = 100;
/// Pairs in memory at most, however different the times are that families ask for.
pub const MOST_PAIRS: u64 = PAIRS_PER_FAMILY * 10;

/// Pairs in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeqnoToTimeMapping {
    pairs: Vec<SeqnoTimePair>,
}

impl SeqnoToTimeMapping {
    /// Pairs in any order, brought into theirs.
    #[must_use]
    pub fn of_pairs(mut pairs: Vec<SeqnoTimePair>) -> Self {
        pairs.sort_unstable();
        let mut merged: Vec<SeqnoTimePair> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            if !merged.last_mut().is_some_and(|last| merge(last, pair)) {
                merged.push(pair);
            }
        }
        Self { pairs: merged }
    }

    /// Numbers up to `seqno` from 1 on, evenly over the time until `now`: what a new database gives data that is
    /// imported with the times of long ago.
    #[must_use]
    pub fn spread(seqno: SequenceNumber, from: u64, now: u64) -> Self {
        let last = seqno.0.max(1);
        let span = u128::from(now.saturating_sub(from));
        let at = |number: u64| {
            let part = span * u128::from(number - 1) / u128::from((last - 1).max(1));
            SeqnoTimePair { seqno: SequenceNumber(number), time: from.saturating_add(u64::try_from(part).unwrap_or(0)) }
        };
        Self { pairs: (1..=last).map(at).collect() }
    }

    /// The pairs.
    #[must_use]
    pub fn pairs(&self) -> &[SeqnoTimePair] {
        &self.pairs
    }

    /// Adds the newest number of now. Number 0, which stands for any old one, is none.
    pub fn append(&mut self, pair: SeqnoTimePair) {
        if pair.seqno.0 == 0 {
            return;
        }
        if self.pairs.last().is_some_and(|last| pair.seqno < last.seqno) {
            return;
        }
        if !self.pairs.last_mut().is_some_and(|last| merge(last, pair)) {
            self.pairs.push(pair);
            return;
        }
        // The clock may have gone back beyond more than the last one.
        let from = self.pairs.iter().position(|other| other.time >= pair.time).unwrap_or(self.pairs.len());
        if from + 1 < self.pairs.len() {
            let tail = self.pairs.split_off(from);
            self.pairs.extend(Self::of_pairs(tail).pairs);
        }
    }

    /// Forgets what is older than `now` less `span`, but for the newest pair of it.
    pub fn keep_span(&mut self, now: u64, span: u64) {
        let Some(cutoff) = now.checked_sub(span) else { return };
        let old = self.pairs.partition_point(|pair| pair.time <= cutoff);
        self.pairs.drain(..old.saturating_sub(1));
    }

    /// Thins the pairs out to `capacity`, 2 at least: the next to go is always that which leaves the shortest time
    /// between its neighbours, of equal ones the oldest. The first and the last stay.
    pub fn keep_count(&mut self, capacity: usize) {
        let capacity = capacity.max(2);
        let Some(surplus) = self.pairs.len().checked_sub(capacity).filter(|surplus| *surplus > 0) else { return };
        let count = self.pairs.len();
        let (mut before, mut after): (Vec<usize>, Vec<usize>) =
            (0..count).map(|at| (at.saturating_sub(1), at + 1)).unzip();
        let gap = |before: usize, after: usize| self.pairs[after].time - self.pairs[before].time;
        let mut next: BinaryHeap<Reverse<(u64, usize)>> =
            (1..count - 1).map(|at| Reverse((gap(at - 1, at + 1), at))).collect();
        let mut is_gone = vec![false; count];
        let mut left = surplus;
        while left > 0 {
            let Some(Reverse((found, at))) = next.pop() else { break };
            let now = gap(before[at], after[at]);
            if now != found {
                // Neighbours went since it was looked at.
                next.push(Reverse((now, at)));
                continue;
            }
            is_gone[at] = true;
            (before[after[at]], after[before[at]]) = (before[at], after[at]);
            left -= 1;
        }
        let mut gone = is_gone.into_iter();
        self.pairs.retain(|_| !gone.next().unwrap_or(false));
    }

    /// The pairs that the numbers from `from` to `to` need: theirs, and the one before.
    #[must_use]
    pub fn of_range(&self, from: SequenceNumber, to: SequenceNumber) -> Self {
        let begin = self.pairs.partition_point(|pair| pair.seqno < from);
        let end = self.pairs.partition_point(|pair| pair.seqno <= to);
        if to < from {
            // As of a range of nothing: the pair before it.
            return Self { pairs: self.pairs[begin.saturating_sub(1)..begin].to_vec() };
        }
        Self { pairs: self.pairs[begin.saturating_sub(1)..end].to_vec() }
    }

    /// The same, and the first pair behind them if none says by when `to` had been written.
    #[must_use]
    pub fn around(&self, from: SequenceNumber, to: SequenceNumber) -> Self {
        let mut around = self.of_range(from, to);
        let is_open = from <= to && around.pairs.last().is_none_or(|last| last.seqno < to);
        let next = self.pairs.get(self.pairs.partition_point(|pair| pair.seqno <= to));
        around.pairs.extend(next.filter(|_| is_open));
        around
    }

    /// The last number that is known to have been written by that time; 0: none is.
    #[must_use]
    pub fn last_seqno_by(&self, time: u64) -> SequenceNumber {
        let end = self.pairs.partition_point(|pair| pair.time <= time);
        end.checked_sub(1).map_or(SequenceNumber(0), |last| self.pairs[last].seqno)
    }

    /// The newest time that is known to lie before the write of a number; 0: none is.
    #[must_use]
    pub fn time_before(&self, seqno: SequenceNumber) -> u64 {
        let end = self.pairs.partition_point(|pair| pair.seqno < seqno);
        end.checked_sub(1).map_or(0, |last| self.pairs[last].time)
    }
}

/// Joins a pair with a later one where both would say the same, or contradict each other.
fn merge(last: &mut SeqnoTimePair, later: SeqnoTimePair) -> bool {
    if last.seqno == later.seqno {
        last.time = last.time.min(later.time);
    } else if last.time == later.time {
        last.seqno = last.seqno.max(later.seqno);
    } else if last.time > later.time {
        *last = later;
    } else {
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::random::Random;

    fn pair(seqno: u64, time: u64) -> SeqnoTimePair {
        SeqnoTimePair { seqno: SequenceNumber(seqno), time }
    }

    fn mapping(pairs: &[(u64, u64)]) -> SeqnoToTimeMapping {
        let mut mapping = SeqnoToTimeMapping::default();
        pairs.iter().for_each(|&(seqno, time)| mapping.append(pair(seqno, time)));
        mapping
    }

    fn pairs(mapping: &SeqnoToTimeMapping) -> Vec<(u64, u64)> {
        mapping.pairs().iter().map(|pair| (pair.seqno.0, pair.time)).collect()
    }

    #[test]
    fn times_and_numbers_are_found_from_below() {
        let mapping = mapping(&[(10, 500), (20, 600), (30, 700)]);
        let by = |time| mapping.last_seqno_by(time).0;
        assert_eq!([by(499), by(500), by(599), by(600), by(9000)], [0, 10, 10, 20, 30]);
        let before = |seqno| mapping.time_before(SequenceNumber(seqno));
        assert_eq!([before(10), before(11), before(20), before(21), before(99)], [0, 500, 500, 600, 700]);
    }

    #[test]
    fn pairs_that_say_the_same_are_one() {
        assert_eq!(pairs(&mapping(&[(0, 3), (10, 500), (10, 600)])), [(10, 500)]);
        assert_eq!(pairs(&mapping(&[(10, 500), (20, 500), (30, 500)])), [(30, 500)]);
        // The clock went back.
        assert_eq!(pairs(&mapping(&[(5, 100), (10, 500), (20, 400), (30, 600)])), [(5, 100), (20, 400), (30, 600)]);
        assert_eq!(pairs(&mapping(&[(5, 100), (10, 300), (15, 500), (20, 200)])), [(5, 100), (20, 200)]);
        assert_eq!(pairs(&mapping(&[(5, 100), (4, 600)])), [(5, 100)]);
    }

    #[test]
    fn ranges_have_the_pair_before_them() {
        let mapping = mapping(&[(10, 500), (20, 600), (30, 700)]);
        let of = |from, to| pairs(&mapping.of_range(SequenceNumber(from), SequenceNumber(to)));
        assert_eq!(of(1, 9), []);
        assert_eq!(of(10, 10), [(10, 500)]);
        assert_eq!(of(11, 19), [(10, 500)]);
        assert_eq!(of(20, 29), [(10, 500), (20, 600)]);
        assert_eq!(of(31, 99), [(30, 700)]);
        assert_eq!(of(25, 5), [(20, 600)]);
        let around = |from, to| pairs(&mapping.around(SequenceNumber(from), SequenceNumber(to)));
        assert_eq!(around(1, 9), [(10, 500)]);
        assert_eq!(around(10, 10), [(10, 500)]);
        assert_eq!(around(11, 19), [(10, 500), (20, 600)]);
        assert_eq!(around(20, 29), [(10, 500), (20, 600), (30, 700)]);
        assert_eq!(around(31, 99), [(30, 700)]);
        assert_eq!(around(25, 5), [(20, 600)]);
    }

    #[test]
    fn old_and_surplus_pairs_go() {
        let mut all = mapping(&[(1, 10), (2, 20), (3, 30), (4, 40)]);
        all.keep_span(35, 5);
        assert_eq!(pairs(&all), [(3, 30), (4, 40)]);
        all.keep_span(3, 5);
        assert_eq!(pairs(&all).len(), 2);
        let mut all = mapping(&[(1, 0), (2, 10), (3, 11), (4, 12), (5, 40), (6, 41), (7, 90)]);
        // 3 leaves 2 seconds; then 2 and 4 would leave 12 and 29, 6 leaves 50 and 5 as much as 29.
        all.keep_count(6);
        assert_eq!(pairs(&all), [(1, 0), (2, 10), (4, 12), (5, 40), (6, 41), (7, 90)]);
        all.keep_count(5);
        assert_eq!(pairs(&all), [(1, 0), (4, 12), (5, 40), (6, 41), (7, 90)]);
        all.keep_count(0);
        assert_eq!(pairs(&all), [(1, 0), (7, 90)]);
    }

    #[test]
    fn a_new_database_has_numbers_for_the_past() {
        let spread = SeqnoToTimeMapping::spread(SequenceNumber(100), 1000, 1990);
        assert_eq!(pairs(&spread)[..3], [(1, 1000), (2, 1010), (3, 1020)]);
        assert_eq!(pairs(&spread)[99], (100, 1990));
        assert_eq!(pairs(&SeqnoToTimeMapping::spread(SequenceNumber(1), 5, 9)), [(1, 5)]);
    }

    /// Whatever the order in which they come, pairs ascend, and no answer is later than the truth.
    #[test]
    fn pairs_of_random_histories_are_true() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let mut written = vec![0];
            let (mut now, mut kept) = (1000, SeqnoToTimeMapping::default());
            let mut shuffled = Vec::new();
            for _ in 0..300 {
                now += random.below(5);
                (0..random.below(3)).for_each(|_| written.push(now));
                if random.one_in(3) {
                    let sample = pair(written.len() as u64 - 1, now);
                    kept.append(sample);
                    if sample.seqno.0 > 0 {
                        shuffled.insert(random.below(shuffled.len() as u64 + 1) as usize, sample);
                    }
                }
            }
            let all = SeqnoToTimeMapping::of_pairs(shuffled);
            assert_eq!(all, kept);
            let mut thin = all.clone();
            thin.keep_count(10);
            assert!(thin.pairs().len() <= 10);
            for mapping in [all, thin] {
                assert!(mapping.pairs().is_sorted_by(|a, b| a.seqno < b.seqno && a.time < b.time));
                for time in 900..now + 10 {
                    let seqno = mapping.last_seqno_by(time).0 as usize;
                    assert!(written[..=seqno].iter().all(|at| *at <= time), "seed {seed}: {seqno} by {time}");
                }
                for (seqno, at) in (0..).zip(&written).skip(1) {
                    assert!(mapping.time_before(SequenceNumber(seqno)) <= *at);
                }
            }
        }
    }
}
