//! Samples of when sequence numbers were written, while a family has `preserve_internal_time_seconds`.
//!
//! The leader of each group of writes notes the newest number and the time. A sample becomes a pair when the last
//! pair is old enough, with the one noted before it: so pairs are right to a hundredth of the shortest time that a
//! family asks for, and a number that was written before a pause is not taken for one written after it. (RocksDB has
//! a thread that samples at times of its own; an idle database has nothing to sample.)
//!
//! Without such a family a group reads an atomic, and nothing else happens.

use ferrock_base::SequenceNumber;
use ferrock_base::clock::Clock;
use ferrock_format::properties::SeqnoTimePair;
use ferrock_tree::seqno_time::{MOST_PAIRS, PAIRS_PER_FAMILY, SeqnoToTimeMapping};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Numbers that a new database with such a family begins behind, for data of earlier times to be imported with.
pub(crate) const FIRST_SEQUENCE: SequenceNumber = SequenceNumber(100);

/// See the top of the file.
#[derive(Debug, Default)]
pub(crate) struct SeqnoTimes {
    is_sampling: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    mapping: SeqnoToTimeMapping,
    /// The newest number, not in the mapping yet.
    noted: Option<SeqnoTimePair>,
    /// Seconds between two pairs.
    cadence_secs: u64,
    /// Seconds that pairs are kept for.
    span_secs: u64,
    most_pairs: u64,
}

impl SeqnoTimes {
    /// Takes the times that the families ask for, 0 for none, and a sample of now.
    pub(crate) fn configure(&self, preserved: impl Iterator<Item = u64>, seqno: SequenceNumber, clock: &dyn Clock) {
        let (mut least, mut most) = (u64::MAX, 0);
        for secs in preserved.filter(|secs| *secs > 0) {
            (least, most) = (least.min(secs), most.max(secs));
        }
        let mut state = self.state.lock();
        self.is_sampling.store(most > 0, Ordering::Release);
        if most == 0 {
            *state = State::default();
            return;
        }
        state.cadence_secs = least.div_ceil(PAIRS_PER_FAMILY);
        state.span_secs = most;
        state.most_pairs = (most.saturating_mul(PAIRS_PER_FAMILY) / least).min(MOST_PAIRS);
        let now = SeqnoTimePair { seqno: seqno.max(SequenceNumber(1)), time: clock.unix_seconds() };
        state.add_noted();
        state.add(now);
    }

    /// Of a new database: the numbers up to [`FIRST_SEQUENCE`] are of the time before it.
    pub(crate) fn spread(&self, clock: &dyn Clock) {
        let mut state = self.state.lock();
        let now = clock.unix_seconds();
        if let Some(from) = now.checked_sub(state.span_secs).filter(|_| state.span_secs > 0) {
            state.mapping = SeqnoToTimeMapping::spread(FIRST_SEQUENCE, from, now);
        }
    }

    /// Notes the newest number, of this moment. Write groups call it in their order.
    #[inline]
    pub(crate) fn note(&self, seqno: SequenceNumber, clock: &dyn Clock) {
        if self.is_sampling.load(Ordering::Relaxed) {
            self.sample(SeqnoTimePair { seqno, time: clock.unix_seconds() });
        }
    }

    #[cold]
    fn sample(&self, now: SeqnoTimePair) {
        let mut state = self.state.lock();
        let last = state.mapping.pairs().last().map_or(0, |pair| pair.time);
        if now.time >= last.saturating_add(state.cadence_secs) {
            state.add_noted();
            state.add(now);
        } else {
            state.noted = Some(now);
        }
    }

    /// What is known now.
    pub(crate) fn mapping(&self) -> SeqnoToTimeMapping {
        let mut state = self.state.lock();
        state.add_noted();
        state.mapping.clone()
    }

    /// The last number that is known to have been written by that time; 0: none is.
    pub(crate) fn last_seqno_by(&self, time: u64) -> SequenceNumber {
        let mut state = self.state.lock();
        state.add_noted();
        state.mapping.last_seqno_by(time)
    }
}

impl State {
    fn add_noted(&mut self) {
        if let Some(noted) = self.noted.take() {
            self.add(noted);
        }
    }

    fn add(&mut self, pair: SeqnoTimePair) {
        self.mapping.append(pair);
        self.mapping.keep_span(pair.time, self.span_secs);
        // Thinned out now and then, not each time.
        if self.mapping.pairs().len() as u64 > self.most_pairs + self.most_pairs / 8 {
            self.mapping.keep_count(self.most_pairs as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::ManualClock;
    use std::time::Duration;

    fn pairs(times: &SeqnoTimes) -> Vec<(u64, u64)> {
        times.mapping().pairs().iter().map(|pair| (pair.seqno.0, pair.time)).collect()
    }

    #[test]
    fn samples_are_a_hundredth_of_the_time_apart_and_pauses_are_seen() {
        let (times, clock) = (SeqnoTimes::default(), ManualClock::new(1_000_000_000));
        times.note(SequenceNumber(5), &clock);
        assert_eq!(pairs(&times), []);
        times.configure([0, 1000, 5000].into_iter(), SequenceNumber(5), &clock);
        for number in 6..40 {
            clock.advance(Duration::from_secs(1));
            times.note(SequenceNumber(number), &clock);
        }
        clock.advance(Duration::from_secs(500));
        times.note(SequenceNumber(40), &clock);
        assert_eq!(
            pairs(&times),
            [(5, 1000), (14, 1009), (15, 1010), (24, 1019), (25, 1020), (34, 1029), (35, 1030), (39, 1034), (40, 1534)]
        );
        assert_eq!(times.last_seqno_by(1533), SequenceNumber(39));
        times.configure([0].into_iter(), SequenceNumber(40), &clock);
        assert_eq!(pairs(&times), []);
    }

    #[test]
    fn a_new_database_has_numbers_for_what_was_before_it() {
        let (times, clock) = (SeqnoTimes::default(), ManualClock::new(1_000_000_000));
        times.configure([990].into_iter(), FIRST_SEQUENCE, &clock);
        times.spread(&clock);
        let pairs = pairs(&times);
        assert_eq!((pairs.len(), pairs[0], pairs[1], pairs[99]), (100, (1, 10), (2, 20), (100, 1000)));
    }

    #[test]
    fn pairs_are_thinned_out() {
        let (times, clock) = (SeqnoTimes::default(), ManualClock::new(1_000_000_000));
        times.configure([100].into_iter(), SequenceNumber(1), &clock);
        for number in 2..5000 {
            clock.advance(Duration::from_secs(1));
            times.note(SequenceNumber(number), &clock);
            assert!(times.mapping().pairs().len() <= 112);
        }
        assert_eq!(pairs(&times)[0].1, 1000 + 4998 - 100);
    }
}
