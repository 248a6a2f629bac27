//! Tables: compressed blocks, filters, properties, range tombstones, footers.

use crate::check::{LARGEST_ALLOCATION, Mode, examine, flipped, turn};
use crate::sample::{Sample, build};
use ferrock::ErrorKind;
use ferrock::options::WalRecoveryMode;

const KINDS: &[ErrorKind] = &[ErrorKind::Corruption, ErrorKind::NotSupported];

/// One damaged table: errors that name it, or the right data. Returns whether an error was met.
fn examine_table(sample: &Sample, name: &str, content: &[u8], mode: Mode, case: &str) -> bool {
    let file_system = sample.with(name, content);
    let newest = std::slice::from_ref(sample.newest());
    let outcome = examine(case, &file_system, mode, WalRecoveryMode::PointInTimeRecovery, newest, LARGEST_ALLOCATION);
    outcome.assert_errors_name(case, name, KINDS);
    if let Some(state) = &outcome.state {
        assert!(outcome.errors.is_empty() || outcome.errors.iter().all(|error| error.kind() == ErrorKind::Corruption));
        assert!(state == sample.newest(), "{case}: keys are missing");
    } else {
        assert!(!outcome.errors.is_empty(), "{case}: a scan ended early without an error");
    }
    !outcome.errors.is_empty()
}

#[test]
fn a_flipped_bit_in_a_table_is_found_or_harmless() {
    let _turn = turn();
    let sample = build();
    let tables = sample.named(|name| name.ends_with(".sst"));
    assert!(tables.len() >= 4, "tables of both families, compacted and flushed");
    for (name, content) in tables {
        let (mut found, mut cases) = (0, 0);
        for offset in 0..content.len() {
            // Every byte read-only; in steps also with writing, which opens the tables for compaction and cleans up.
            let mode = if offset % 9 == 0 { Mode::ReadWrite } else { Mode::ReadOnly };
            let case = format!("{name}: bit at {offset} of {}, {mode:?}", content.len());
            cases += 1;
            found += usize::from(examine_table(&sample, name, &flipped(content, offset, 0), mode, &case));
        }
        // Blocks, trailers and footer are all under checksums.
        assert!(found * 100 >= cases * 97, "{name}: only {found} of {cases} flips were found");
    }
}

#[test]
fn a_table_cut_short_is_refused() {
    let _turn = turn();
    let sample = build();
    for (name, content) in sample.named(|name| name.ends_with(".sst")) {
        for length in (0..content.len()).step_by(11).chain([content.len() - 1]) {
            let mode = if length % 2 == 0 { Mode::ReadOnly } else { Mode::ReadWrite };
            let case = format!("{name}: cut at {length} of {}, {mode:?}", content.len());
            assert!(examine_table(&sample, name, &content[..length], mode, &case), "{case}: not noticed");
        }
    }
}

#[test]
fn an_error_in_a_block_names_file_and_offset() {
    let _turn = turn();
    let sample = build();
    let (name, content) = sample.named(|name| name.ends_with(".sst"))[0];
    let case = "a data block";
    let file_system = sample.with(name, &flipped(content, 40, 0));
    let newest = std::slice::from_ref(sample.newest());
    let outcome =
        examine(case, &file_system, Mode::ReadOnly, WalRecoveryMode::PointInTimeRecovery, newest, LARGEST_ALLOCATION);
    let error = outcome.errors.first().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.file().unwrap().ends_with(name), "{error}");
    assert_eq!(error.offset(), Some(0), "{error}");
    let file_system = sample.with(name, &[]);
    let outcome = examine(
        "empty",
        &file_system,
        Mode::ReadOnly,
        WalRecoveryMode::PointInTimeRecovery,
        newest,
        LARGEST_ALLOCATION,
    );
    assert!(outcome.errors[0].file().unwrap().ends_with(name), "{}", outcome.errors[0]);
}
