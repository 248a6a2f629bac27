//! The log: what is acknowledged before the damage is there, in the way that each recovery mode promises.

use crate::check::{LARGEST_ALLOCATION, Mode, examine, flipped, turn};
use crate::sample::{Sample, State, build};
use ferrock::ErrorKind;
use ferrock::options::WalRecoveryMode;

struct Log {
    sample: Sample,
    name: String,
    content: Vec<u8>,
}

impl Log {
    fn new() -> Self {
        let sample = build();
        let (name, content) = sample.named(|name| name.ends_with(".log")).pop().unwrap().clone();
        assert_eq!(sample.record_ends.last(), Some(&(content.len() as u64)));
        Self { sample, name, content }
    }

    /// How many batches lie wholly before `offset`.
    fn batches_before(&self, offset: u64) -> usize {
        self.sample.record_ends.iter().filter(|end| **end <= offset).count()
    }

    /// Every byte of the short records; of the long one its headers and some of its body.
    fn offsets(&self) -> Vec<usize> {
        let long = self.sample.record_ends[6] as usize..self.sample.record_ends[7] as usize;
        let is_sampled = |offset: usize| {
            !long.contains(&offset)
                || offset < long.start + 40
                || offset.abs_diff(32 << 10) < 24
                || (offset - long.start).is_multiple_of(997)
        };
        (0..self.content.len()).filter(|offset| is_sampled(*offset)).collect()
    }

    fn examine(&self, content: &[u8], mode: Mode, wal_mode: WalRecoveryMode, case: &str) -> crate::check::Outcome {
        let file_system = self.sample.with(&self.name, content);
        let outcome = examine(case, &file_system, mode, wal_mode, &self.sample.states, LARGEST_ALLOCATION);
        outcome.assert_errors_name(case, &self.name, &[ErrorKind::Corruption]);
        outcome
    }
}

fn mode_of(offset: usize) -> Mode {
    if offset.is_multiple_of(3) { Mode::ReadWrite } else { Mode::ReadOnly }
}

#[test]
fn point_in_time_keeps_exactly_what_precedes_the_damage() {
    let _turn = turn();
    let log = Log::new();
    let wal_mode = WalRecoveryMode::PointInTimeRecovery;
    for offset in log.offsets() {
        let expected = &log.sample.states[log.batches_before(offset as u64)];
        for (what, content) in [("bit", flipped(&log.content, offset, 1)), ("cut", log.content[..offset].to_vec())] {
            let case = format!("log, {what} at {offset}");
            let outcome = log.examine(&content, mode_of(offset), wal_mode, &case);
            assert!(outcome.errors.is_empty(), "{case}: {}", outcome.errors[0]);
            assert!(outcome.state.as_ref() == Some(expected), "{case}: not the prefix before the damage");
        }
    }
}

#[test]
fn absolute_consistency_accepts_no_damage() {
    let _turn = turn();
    let log = Log::new();
    let wal_mode = WalRecoveryMode::AbsoluteConsistency;
    for offset in log.offsets().into_iter().step_by(2) {
        let case = format!("log, bit at {offset}, absolute");
        let outcome = log.examine(&flipped(&log.content, offset, 2), mode_of(offset), wal_mode, &case);
        assert!(!outcome.errors.is_empty(), "{case}: damage was accepted");
        assert!(outcome.errors[0].offset().is_some(), "{case}: {}", outcome.errors[0]);
        let case = format!("log, cut at {offset}, absolute");
        let outcome = log.examine(&log.content[..offset], mode_of(offset), wal_mode, &case);
        let at_end_of_record = offset == 0 || log.sample.record_ends.contains(&(offset as u64));
        assert_eq!(outcome.errors.is_empty(), at_end_of_record, "{case}: {:?}", outcome.errors);
    }
}

#[test]
fn a_cut_tail_is_tolerated_and_damage_before_it_is_not() {
    let _turn = turn();
    let log = Log::new();
    let wal_mode = WalRecoveryMode::TolerateCorruptedTailRecords;
    let last_begin = log.sample.record_ends[log.sample.record_ends.len() - 2] as usize;
    for offset in log.offsets().into_iter().step_by(2) {
        let case = format!("log, cut at {offset}, tolerant");
        let outcome = log.examine(&log.content[..offset], mode_of(offset), wal_mode, &case);
        let expected = &log.sample.states[log.batches_before(offset as u64)];
        assert!(outcome.errors.is_empty(), "{case}: {}", outcome.errors[0]);
        assert!(outcome.state.as_ref() == Some(expected), "{case}: not the prefix");
        let case = format!("log, bit at {offset}, tolerant");
        let outcome = log.examine(&flipped(&log.content, offset, 3), mode_of(offset), wal_mode, &case);
        match outcome.state {
            // A length that points past the end looks like a record that was being written.
            Some(state) => assert!(log.sample.states.contains(&state), "{case}: not a prefix"),
            None => assert!(!outcome.errors.is_empty(), "{case}"),
        }
        if offset >= 7 && offset < last_begin && outcome.errors.is_empty() {
            let begin = log.sample.record_ends.iter().rev().find(|end| **end <= offset as u64).copied().unwrap_or(0);
            let in_header = offset as u64 - begin < 7;
            let near_block_end = offset < (33 << 10) && offset + 40 > (31 << 10);
            assert!(in_header || near_block_end, "{case}: damage in the middle was accepted");
        }
    }
}

#[test]
fn skipping_keeps_whole_batches_only() {
    let _turn = turn();
    let log = Log::new();
    let wal_mode = WalRecoveryMode::SkipAnyCorruptedRecords;
    // Batches put keys of their own in both families: one without the other would be half a batch.
    let own_key = |number: u32| format!("key{:04}", 100 + number).into_bytes();
    let check = |state: &State, case: &str| {
        for number in (0..12).filter(|number| ![5, 7].contains(number)) {
            let present = [0, 1].map(|family: usize| state[family].contains_key(&own_key(number)));
            assert_eq!(present[0], present[1], "{case}: half of batch {number}");
        }
        present_count(state)
    };
    fn present_count(state: &State) -> usize {
        state[0].keys().filter(|key| key.starts_with(b"key01")).count()
    }
    for offset in log.offsets().into_iter().step_by(4) {
        let case = format!("log, bit at {offset}, skipping");
        let outcome = log.examine(&flipped(&log.content, offset, 4), mode_of(offset), wal_mode, &case);
        assert!(outcome.errors.is_empty(), "{case}: {}", outcome.errors[0]);
        let kept = check(&outcome.state.unwrap(), &case);
        assert!(kept >= present_count(&log.sample.states[log.batches_before(offset as u64)]), "{case}: lost {kept}");
    }
}
