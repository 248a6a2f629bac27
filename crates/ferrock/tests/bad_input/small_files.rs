//! MANIFEST, CURRENT, IDENTITY and OPTIONS: small files, every byte.

use crate::check::{LARGEST_ALLOCATION, Mode, examine, flipped, turn};
use crate::sample::{DIRECTORY, Sample, State, build};
use ferrock::ErrorKind;
use ferrock::options::WalRecoveryMode;
use ferrock_format::log::{BlockSource, LogEvent, LogReader};
use ferrock_vfs::FileSystem;
use std::path::Path;

const WAL_MODE: WalRecoveryMode = WalRecoveryMode::PointInTimeRecovery;

struct Bytes<'a>(&'a [u8]);

impl BlockSource for Bytes<'_> {
    fn read_block(&mut self, buffer: &mut [u8]) -> ferrock::Result<usize> {
        let count = buffer.len().min(self.0.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

fn record_ends(manifest: &[u8]) -> Vec<u64> {
    let mut reader = LogReader::manifest(Bytes(manifest));
    let mut scratch = Vec::new();
    let mut ends = Vec::new();
    while !matches!(reader.read_record(&mut scratch).unwrap(), LogEvent::End) {
        ends.push(reader.last_record_end());
    }
    ends
}

fn listing(file_system: &dyn FileSystem) -> Vec<String> {
    file_system.children(Path::new(DIRECTORY)).unwrap().into_iter().filter(|name| !name.starts_with("LO")).collect()
}

/// Every state that the database ever had: what an older MANIFEST may show.
fn history(sample: &Sample) -> Vec<State> {
    let mut history = sample.states.clone();
    history.push(State::default());
    history
}

#[test]
fn a_damaged_manifest_is_refused_and_nothing_is_deleted() {
    let _turn = turn();
    let sample = build();
    let (name, content) = sample.named(|name| name.starts_with("MANIFEST")).pop().unwrap().clone();
    let ends = record_ends(&content);
    let last_begin = ends[ends.len() - 2] as usize;
    let newest = std::slice::from_ref(sample.newest());
    for offset in 0..content.len() {
        // Every bit of the last header. Nothing follows that record, so a crash while it was written is what damage
        // there could be taken for: bytes 4 and 5 (length) when it points past the end, byte 6 (type) when it becomes
        // one that has a longer header. But the checksum fits what is there up to the end, which that of a cut record
        // does not, and no crash makes a type that is never written. So no single bit, here or elsewhere, passes for a
        // torn tail.
        let bits = if (last_begin..last_begin + 7).contains(&offset) { 0..8 } else { 0..1 };
        for (bit, mode) in bits.flat_map(|bit| [Mode::ReadOnly, Mode::ReadWrite].map(|mode| (bit, mode))) {
            let case = format!("{name}: bit {bit} at {offset} of {}, {mode:?}", content.len());
            let file_system = sample.with(&name, &flipped(&content, offset, bit));
            let outcome = examine(&case, &file_system, mode, WAL_MODE, newest, LARGEST_ALLOCATION);
            outcome.assert_errors_name(&case, &name, &[ErrorKind::Corruption]);
            assert!(!outcome.errors.is_empty(), "{case}: not noticed");
            let listed = listing(&file_system);
            assert_eq!(listed.len(), sample.files.len(), "{case}: {listed:?}");
        }
    }
}

#[test]
fn a_manifest_cut_short_never_invents_anything() {
    let _turn = turn();
    let sample = build();
    let (name, content) = sample.named(|name| name.starts_with("MANIFEST")).pop().unwrap().clone();
    let mut refused = 0;
    // Values of merges that were never seen without their base, and keys under an older tombstone, are part of history
    // too; only the log's and the tables' own values are compared.
    let mut history = history(&sample);
    let mut first = sample.flushed.clone();
    for contents in &mut first {
        for (key, value) in contents.iter_mut().filter(|(key, _)| key.starts_with(b"key")) {
            let number: u32 = std::str::from_utf8(&key[3..]).unwrap().parse().unwrap();
            *value = format!("value 1 of {number}; ").repeat(3).into_bytes();
        }
        for number in [11u32, 12, 13, 14, 21, 30, 31, 32, 33] {
            let value = format!("value 1 of {number}; ").repeat(3).into_bytes();
            contents.insert(format!("key{number:04}").into_bytes(), value);
        }
    }
    history.push(first);
    for length in 0..content.len() {
        let case = format!("{name}: cut at {length} of {}", content.len());
        let file_system = sample.with(&name, &content[..length]);
        let outcome = examine(&case, &file_system, Mode::ReadOnly, WAL_MODE, &history, LARGEST_ALLOCATION);
        refused += usize::from(!outcome.errors.is_empty());
        for error in &outcome.errors {
            let kinds = [ErrorKind::Corruption, ErrorKind::Io, ErrorKind::InvalidArgument];
            assert!(kinds.contains(&error.kind()), "{case}: {error}");
        }
        assert_eq!(listing(&file_system).len(), sample.files.len(), "{case}");
    }
    assert!(refused > 0);
}

#[test]
fn a_damaged_current_names_itself_or_what_it_points_to() {
    let _turn = turn();
    let sample = build();
    let content = sample.named(|name| name == "CURRENT")[0].1.clone();
    let newest = std::slice::from_ref(sample.newest());
    for offset in 0..content.len() {
        for (what, damaged) in [
            ("cut", content[..offset].to_vec()),
            ("bit", flipped(&content, offset, 0)),
            ("bit", flipped(&content, offset, 3)),
        ] {
            for mode in [Mode::ReadOnly, Mode::ReadWrite] {
                let case = format!("CURRENT: {what} at {offset}, {mode:?}");
                let file_system = sample.with("CURRENT", &damaged);
                let outcome = examine(&case, &file_system, mode, WAL_MODE, newest, LARGEST_ALLOCATION);
                let error = outcome.errors.first().unwrap_or_else(|| panic!("{case}: not noticed"));
                let text = error.to_string();
                assert!(text.contains("CURRENT") || text.contains("MANIFEST"), "{case}: {text}");
                assert_eq!(listing(&file_system).len(), sample.files.len(), "{case}");
            }
        }
    }
}

#[test]
fn a_damaged_identity_does_not_stand_in_the_way() {
    let _turn = turn();
    let sample = build();
    let content = sample.named(|name| name == "IDENTITY")[0].1.clone();
    let newest = std::slice::from_ref(sample.newest());
    for offset in 0..content.len() {
        for damaged in [content[..offset].to_vec(), flipped(&content, offset, 0)] {
            let case = format!("IDENTITY at {offset}");
            let file_system = sample.with("IDENTITY", &damaged);
            let mode = if offset % 2 == 0 { Mode::ReadOnly } else { Mode::ReadWrite };
            let outcome = examine(&case, &file_system, mode, WAL_MODE, newest, LARGEST_ALLOCATION);
            assert!(outcome.errors.is_empty() && outcome.state.as_ref() == Some(sample.newest()), "{case}");
        }
    }
}

#[test]
fn damaged_options_give_right_values_or_an_error() {
    let _turn = turn();
    let sample = build();
    let (name, content) = sample.named(|name| name.starts_with("OPTIONS")).pop().unwrap().clone();
    let newest = std::slice::from_ref(sample.newest());
    let mut read = 0;
    for offset in (0..content.len()).step_by(3) {
        let damaged = if offset % 2 == 0 { flipped(&content, offset, 0) } else { content[..offset].to_vec() };
        let case = format!("{name}: at {offset} of {}", content.len());
        let file_system = sample.with(&name, &damaged);
        // An option may ask for up to this much: the digits of a size are part of the input.
        let largest = 64 << 20;
        let outcome = examine(&case, &file_system, Mode::ReadOnlyOwnOptions, WAL_MODE, newest, largest);
        if let Some(state) = &outcome.state {
            read += 1;
            assert!(state == sample.newest(), "{case}: keys are missing");
        } else {
            assert!(!outcome.errors.is_empty(), "{case}");
        }
    }
    assert!(read > 0);
}
