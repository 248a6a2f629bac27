//! `preserve_internal_time_seconds`: what tables say of the times of their entries is true, and entries that may be
//! young keep their sequence numbers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock::options::CompactionStyle;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, LiveFile, SequenceNumber};
use ferrock_base::clock::{Clock as _, ManualClock};
use ferrock_base::random::Random;
use ferrock_format::properties::decode_seqno_time_map;
use ferrock_tree::seqno_time::SeqnoToTimeMapping;
use ferrock_vfs::MemoryFileSystem;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const NOW_US: u64 = 1_700_000_000_000_000;
const NOW: u64 = NOW_US / 1_000_000;

struct Place {
    file_system: MemoryFileSystem,
    clock: Arc<ManualClock>,
    family: ColumnFamilyOptions,
}

impl Place {
    fn new(preserve_internal_time_seconds: u64) -> Self {
        let mut family = ColumnFamilyOptions::default();
        family.preserve_internal_time_seconds = preserve_internal_time_seconds;
        Self { file_system: MemoryFileSystem::new(), clock: Arc::new(ManualClock::new(NOW_US)), family }
    }

    fn open(&self) -> Db {
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.avoid_flush_during_recovery = true;
        options.components.file_system = Some(Arc::new(self.file_system.clone()));
        options.components.clock = Some(Arc::clone(&self.clock) as _);
        Db::open_cf("/db", options, vec![("default".to_owned(), self.family.clone())]).unwrap().0
    }

    fn pass(&self, secs: u64) {
        self.clock.advance(Duration::from_secs(secs));
    }
}

/// The pairs of a table.
fn pairs(db: &Db, file: &LiveFile) -> Vec<(u64, u64)> {
    let property = db.table_properties(file).unwrap().seqno_to_time_map.clone();
    decode_seqno_time_map(&property).unwrap().iter().map(|pair| (pair.seqno.0, pair.time)).collect()
}

fn sequences(db: &Db) -> BTreeMap<Vec<u8>, u64> {
    let mut versions = db.key_versions(&db.default_column_family().unwrap(), None, None).unwrap();
    let mut sequences = BTreeMap::new();
    while let Some(version) = versions.current().unwrap() {
        sequences.entry(version.user_key.to_vec()).or_insert(version.sequence.0);
        versions.advance();
    }
    sequences
}

#[test]
fn tables_say_when_their_entries_were_written_and_young_ones_keep_their_numbers() {
    let place = Place::new(1000);
    let db = place.open();
    // The numbers up to 100 are of the time before.
    place.pass(5);
    db.put(b"a", b"1").unwrap();
    place.pass(100);
    db.put(b"b", b"2").unwrap();
    db.flush().unwrap();
    assert_eq!(sequences(&db), BTreeMap::from([(b"a".to_vec(), 101), (b"b".to_vec(), 102)]));
    assert_eq!(pairs(&db, &db.live_files()[0]), [(100, NOW), (101, NOW + 5), (102, NOW + 105)]);
    place.pass(100);
    db.put(b"c", b"3").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(sequences(&db).into_values().collect::<Vec<_>>(), [101, 102, 103]);
    let file = &db.live_files()[0];
    assert_eq!(pairs(&db, file), [(100, NOW), (101, NOW + 5), (102, NOW + 105), (103, NOW + 205)]);
    // `a` is too old now, and what is rewritten for it is not due again.
    place.pass(850);
    db.put(b"bb", b"4").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(sequences(&db).into_values().collect::<Vec<_>>(), [0, 102, 104, 103]);
    place.pass(5000);
    db.put(b"bc", b"5").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(sequences(&db).into_values().collect::<Vec<_>>(), [0, 0, 0, 105, 0]);
}

/// The property as RocksDB 11.8.1 wrote it, with a put at this time and one 3 seconds later, flushed 5 seconds later.
#[test]
fn the_property_has_the_bytes_of_rocksdb() {
    let place = Place { clock: Arc::new(ManualClock::new(1_795_591_934_000_000)), ..Place::new(100) };
    let db = place.open();
    db.put(b"a", b"1").unwrap();
    place.pass(3);
    db.put(b"b", b"2").unwrap();
    place.pass(2);
    db.flush().unwrap();
    let property = db.table_properties(&db.live_files()[0]).unwrap().seqno_to_time_map.clone();
    assert_eq!(property, b"\x03\x63\xfc\x9d\x9a\xd8\x06\x02\x02\x01\x03");
    assert_eq!(db.latest_sequence_number(), SequenceNumber(102));
}

#[test]
fn without_the_option_nothing_is_kept() {
    let place = Place::new(0);
    let db = place.open();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    assert_eq!((pairs(&db, &db.live_files()[0]), sequences(&db)[&b"a"[..]]), (vec![], 1));
    db.put(b"b", b"1").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(sequences(&db).into_values().collect::<Vec<_>>(), [0, 0]);
    let family = db.default_column_family().unwrap();
    db.set_options_cf(&family, &[("preserve_internal_time_seconds", "500")]).unwrap();
    place.pass(20);
    db.put(b"c", b"1").unwrap();
    db.flush().unwrap();
    let file = db.live_files().into_iter().find(|file| file.level == 0).unwrap();
    assert_eq!(pairs(&db, &file), [(2, NOW), (3, NOW + 20)]);
}

/// A snapshot keeps a deletion; without it the file is due at the bottom, but rewriting it would leave its number.
#[test]
fn files_at_the_bottom_wait_until_their_numbers_are_old() {
    let place = Place::new(1000);
    let db = place.open();
    let compactions = |db: &Db| -> u64 {
        let text = db.property("ferrock.statistics").unwrap();
        text.lines().find_map(|line| line.strip_prefix("compactions=")).unwrap().parse().unwrap()
    };
    db.put(b"a", b"1").unwrap();
    let snapshot = db.snapshot();
    db.put(b"a", b"2").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    let before = compactions(&db);
    drop(snapshot);
    db.put(b"b", b"1").unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(compactions(&db), before, "a rewrite for nothing");
    place.pass(1200);
    db.put(b"c", b"1").unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(compactions(&db), before + 1);
    assert_eq!(sequences(&db)[&b"a"[..]], 0);
}

/// Histories with pauses, reopenings, overwrites and compactions: whatever a table says is true, and what was written
/// within the time keeps its number.
#[test]
fn what_is_said_of_times_is_true() {
    const PRESERVED: u64 = 1000;
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let mut place = Place::new(PRESERVED);
        place.family.write_buffer_size = 64 << 10;
        place.family.level0_file_num_compaction_trigger = 2;
        if random.one_in(3) {
            place.family.compaction_style = CompactionStyle::Universal;
        }
        let mut db = place.open();
        // By sequence number.
        let mut written: BTreeMap<u64, u64> = BTreeMap::new();
        let mut newest: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for _ in 0..400 {
            match random.below(40) {
                0..=1 => db.flush().unwrap(),
                2 => db.compact_range(None, None).unwrap(),
                3 => {
                    drop(db);
                    place.pass(random.below(50));
                    db = place.open();
                }
                4..=6 => place.pass(random.below(400)),
                7..=14 => place.pass(random.below(15)),
                _ => {
                    let key = vec![random.below(40) as u8];
                    db.put(&key, b"value").unwrap();
                    let sequence = db.latest_sequence_number().0;
                    written.insert(sequence, place.clock.unix_seconds());
                    newest.insert(key, sequence);
                }
            }
        }
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        db.wait_for_background_work().unwrap();
        let now = place.clock.unix_seconds();
        for file in db.live_files() {
            let property = db.table_properties(&file).unwrap().seqno_to_time_map.clone();
            let mapping = SeqnoToTimeMapping::of_pairs(decode_seqno_time_map(&property).unwrap());
            for (&sequence, &time) in &written {
                assert!(mapping.time_before(SequenceNumber(sequence)) <= time, "seed {seed}: {sequence} at {time}");
                let by = mapping.last_seqno_by(time.saturating_sub(1)).0;
                assert!(by < sequence, "seed {seed}: {sequence} at {time}, {by} is known to be older");
            }
        }
        let sequences = sequences(&db);
        assert_eq!(sequences.len(), newest.len());
        for (key, sequence) in newest {
            let is_young = written[&sequence] > now - PRESERVED;
            assert!(!is_young || sequences[&key] == sequence, "seed {seed}: {key:?} lost number {sequence}");
        }
    }
}
