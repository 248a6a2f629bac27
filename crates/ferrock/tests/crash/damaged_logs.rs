//! Logs with flipped bits, lost ends and lost sectors, against an exact expectation of which batches survive.
//!
//! The expectation comes from the layout of the undamaged logs alone: a fragment whose checksum is wrong takes the rest
//! of its block with it, and a record goes with any of its fragments.
//!
//! | mode | expected |
//! |---|---|
//! | skip_any_corrupted_records, or any without `paranoid_checks` | every record that was not hit |
//! | point_in_time | the records before the first one that was hit |
//! | tolerate_corrupted_tail_records, absolute_consistency | the same, or the log is refused; the end of the last log may be cut, for the former anywhere |
//!
//! `FERROCK_DAMAGE_SEEDS=n` runs more.

use crate::model::{Changes, Contents, Op, contents_after, difference};
use ferrock::options::{CompressionType, WalRecoveryMode};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions, WriteBatch, WriteOptions};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_base::{FileNumber, SequenceNumber};
use ferrock_format::compression::zstd_frame_decompress;
use ferrock_format::log::{HeaderFamily, LogWriter};
use ferrock_format::write_batch::{Record, WriteBatchRef};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/data/db";
const BLOCK: usize = 32 << 10;
const HEADER: usize = 7;
const FAMILIES: [&str; 3] = ["default", "other", "unlogged"];
const DEFAULT_SEEDS: u64 = 150;

fn options(files: &MemoryFileSystem) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.max_file_opening_threads = 1;
    options.components.file_system = Some(Arc::new(files.clone()));
    options
}

fn open(options: DbOptions) -> Result<Db, ferrock::Error> {
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 64 << 10;
    family.min_write_buffer_number_to_merge = 3;
    family.max_write_buffer_number = 8;
    family.merge_operator = Some(Arc::new(StringAppend::default()));
    let families = FAMILIES.iter().map(|name| ((*name).to_owned(), family.clone())).collect();
    Db::open_cf(PATH, options, families).map(|(db, _)| db)
}

fn logs(files: &MemoryFileSystem) -> Vec<String> {
    let mut names = files.children(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(".log"));
    names.sort();
    names
}

/// A database that was killed with up to three logs and no table.
fn make(random: &mut Random) -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.create_dir_all(Path::new("/data")).unwrap();
    let mut options = options(&files);
    if random.one_in(3) {
        options.wal_compression = CompressionType::Zstd;
    }
    let db = open(options).unwrap();
    // Three memtables of one family would be flushed while the files are cloned.
    db.pause_background_work().unwrap();
    let families = db.column_families();
    let wanted_logs = 1 + random.below(3) as usize;
    let large = 3 + random.below(20);
    for number in 0..600 {
        let mut batch = WriteBatch::new();
        for _ in 0..random.below(4) {
            let id = families[random.below(2) as usize].id();
            let key = format!("key{:02}", random.below(60)).into_bytes();
            let size = if random.one_in(large) { random.below(50_000) } else { random.below(200) };
            match random.below(8) {
                0 => Op::Delete(key),
                1 => Op::DeleteRange(key.clone(), key),
                2 => Op::Merge(key, format!("{number}").into_bytes()),
                _ => Op::Put(key, (0..size).map(|_| random.next_u64() as u8).collect()),
            }
            .add_to(&mut batch, id);
        }
        db.write(batch, &WriteOptions { sync: random.one_in(20), ..WriteOptions::default() }).unwrap();
        if random.one_in(10) {
            let options = WriteOptions { disable_wal: true, ..WriteOptions::default() };
            db.put_cf(&families[2], b"in no log", b"value", &options).unwrap();
        }
        if logs(&files).len() > wanted_logs || number > 20 && logs(&files).len() == wanted_logs && random.one_in(40) {
            break;
        }
    }
    let clone = files.crash_clone(CrashPolicy::KeepAll);
    assert!(!clone.children(Path::new(PATH)).unwrap().iter().any(|name| name.ends_with(".sst")));
    clone
}

/// A record of a log: where its fragments lie, and what it does.
struct Logged {
    log: usize,
    /// It says that those behind it are compressed.
    is_compression: bool,
    fragments: Vec<Range<usize>>,
    changes: Changes,
}

fn parse_log(log: usize, bytes: &[u8], into: &mut Vec<Logged>) {
    let (mut position, mut fragments, mut payload) = (0, Vec::new(), Vec::new());
    let mut is_compressed = false;
    while position + HEADER <= bytes.len() {
        let left = BLOCK - position % BLOCK;
        let header = &bytes[position..position + HEADER];
        let length = usize::from(u16::from_le_bytes([header[4], header[5]]));
        if left < HEADER || header[6] == 0 {
            position += left;
            continue;
        }
        let end = position + HEADER + length;
        fragments.push(position..end);
        payload.extend_from_slice(&bytes[position + HEADER..end]);
        position = end;
        // Full, Last, or what says that the log is compressed.
        if matches!(header[6], 1 | 4 | 9) {
            let is_compression = header[6] == 9;
            let changes = match (is_compression, is_compressed) {
                (true, _) => Changes::new(),
                (false, true) => changes(&zstd_frame_decompress(&payload, 1 << 20).unwrap()),
                (false, false) => changes(&payload),
            };
            is_compressed |= is_compression;
            into.push(Logged { log, is_compression, fragments: std::mem::take(&mut fragments), changes });
            payload.clear();
        }
    }
}

fn changes(payload: &[u8]) -> Changes {
    let mut changes = Changes::new();
    for record in WriteBatchRef::new(payload).unwrap().iter() {
        changes.push(match record.unwrap() {
            Record::Put { column_family, key, value } => (column_family, Op::Put(key.to_vec(), value.to_vec())),
            Record::Delete { column_family, key } => (column_family, Op::Delete(key.to_vec())),
            Record::Merge { column_family, key, operand } => (column_family, Op::Merge(key.to_vec(), operand.to_vec())),
            Record::DeleteRange { column_family, begin, end } => {
                (column_family, Op::DeleteRange(begin.to_vec(), end.to_vec()))
            }
            _ => continue,
        });
    }
    changes
}

#[derive(Clone, Debug)]
enum Damage {
    FlippedBit { log: usize, byte: usize, bit: u32 },
    LostSector { log: usize, sector: usize },
    CutEnd { log: usize, size: usize },
}

impl Damage {
    fn random(random: &mut Random, sizes: &[usize]) -> Self {
        let log = random.below(sizes.len() as u64) as usize;
        let mut place = |from: usize| from + random.below((sizes[log] - from) as u64) as usize;
        // The type of the very first record decides how the rest of a log is read.
        let byte = place(HEADER);
        match random.below(4) {
            0 => Damage::LostSector { log, sector: byte / 512 },
            1 => Damage::CutEnd { log, size: byte },
            _ => Damage::FlippedBit { log, byte, bit: random.below(8) as u32 },
        }
    }

    fn apply(&self, logs: &mut [Vec<u8>]) {
        match *self {
            Damage::FlippedBit { log, byte, bit } => {
                if let Some(byte) = logs[log].get_mut(byte) {
                    *byte ^= 1 << bit;
                }
            }
            Damage::LostSector { log, sector } => {
                let end = logs[log].len();
                logs[log][(sector * 512).min(end)..(sector * 512 + 512).min(end)].fill(0);
            }
            Damage::CutEnd { log, size } => logs[log].truncate(size),
        }
    }

    /// The bytes that are not what they were.
    fn bytes(&self) -> (usize, Range<usize>) {
        match *self {
            Damage::FlippedBit { log, byte, .. } => (log, byte..byte + 1),
            Damage::LostSector { log, sector } => (log, sector * 512..sector * 512 + 512),
            Damage::CutEnd { log, size } => (log, size..usize::MAX),
        }
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// For each record, whether it is lost.
fn lost(records: &[Logged], damages: &[Damage]) -> Vec<bool> {
    let fragments = || records.iter().flat_map(|record| record.fragments.iter().map(|fragment| (record.log, fragment)));
    let mut hit: Vec<(usize, usize)> = Vec::new();
    for damage in damages {
        let (log, bytes) = damage.bytes();
        hit.extend(
            fragments()
                .filter(|(own, fragment)| *own == log && overlap(fragment, &bytes))
                .map(|(log, fragment)| (log, fragment.start)),
        );
    }
    let is_lost = |log: usize, fragment: &Range<usize>| {
        hit.iter()
            .any(|(own, start)| *own == log && start / BLOCK == fragment.start / BLOCK && *start <= fragment.start)
    };
    let is_hit = |record: &Logged| record.fragments.iter().any(|fragment| is_lost(record.log, fragment));
    // Without it the rest of a log means nothing.
    let unreadable: Vec<usize> =
        records.iter().filter(|record| record.is_compression && is_hit(record)).map(|record| record.log).collect();
    records.iter().map(|record| unreadable.contains(&record.log) || is_hit(record)).collect()
}

type Found = BTreeMap<u32, Contents>;

fn contents(db: &Db) -> Result<Found, ferrock::Error> {
    let mut found = Found::new();
    for family in db.column_families() {
        let mut contents = Contents::new();
        let mut iter = db.iter_cf(&family, &ReadOptions::default());
        iter.seek_to_first();
        while iter.valid() {
            contents.insert(iter.key().to_vec(), iter.value().to_vec());
            iter.next();
        }
        iter.status()?;
        found.insert(family.id(), contents);
    }
    Ok(found)
}

struct Case {
    files: MemoryFileSystem,
    records: Vec<Logged>,
    damages: Vec<Damage>,
    lost: Vec<bool>,
    avoid_flush: bool,
    last_log: usize,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let files = make(&mut random);
        let names = logs(&files);
        let path = |name: &String| Path::new(PATH).join(name);
        let mut bytes: Vec<Vec<u8>> = names.iter().map(|name| read_file(&files, &path(name)).unwrap()).collect();
        // A log that was just begun has nothing to damage.
        let used = bytes.iter().filter(|bytes| bytes.len() > HEADER).count();
        let mut records = Vec::new();
        bytes.iter().enumerate().for_each(|(log, bytes)| parse_log(log, bytes, &mut records));
        let sizes: Vec<usize> = bytes[..used].iter().map(Vec::len).collect();
        let count = random.below(4) as usize;
        let damages: Vec<Damage> = (0..count).map(|_| Damage::random(&mut random, &sizes)).collect();
        damages.iter().for_each(|damage| damage.apply(&mut bytes));
        for (name, bytes) in names.iter().zip(&bytes) {
            write_file_synced(&files, &path(name), bytes).unwrap();
        }
        let lost = lost(&records, &damages);
        let last_log = records.iter().map(|record| record.log).max().unwrap_or(0);
        Self { files, records, damages, lost, avoid_flush: random.one_in(2), last_log }
    }

    fn check(&self, mode: WalRecoveryMode, paranoid: bool) -> Result<usize, String> {
        let survivors =
            || self.records.iter().zip(&self.lost).filter(|(_, lost)| !**lost).map(|(record, _)| &record.changes);
        let passes_over = mode == WalRecoveryMode::SkipAnyCorruptedRecords || !paranoid;
        let expected = if passes_over { contents_after(survivors()) } else { contents_after(self.prefix()) };
        let is_whole = !self.lost.contains(&true);
        let must_refuse = mode == WalRecoveryMode::AbsoluteConsistency && paranoid && self.has_flipped_fragment();
        // The end of the last log, and nothing else, is gone.
        let is_tail_cut = self.damages.iter().all(|damage| {
            let is_unneeded = damage.bytes().0 > self.last_log;
            is_unneeded || matches!(damage, Damage::CutEnd { log, .. } if *log == self.last_log)
        });
        let may_refuse = match mode {
            _ if passes_over || is_whole => false,
            WalRecoveryMode::TolerateCorruptedTailRecords => !is_tail_cut,
            WalRecoveryMode::AbsoluteConsistency => true,
            _ => false,
        };
        let files = self.files.crash_clone(CrashPolicy::KeepAll);
        let with_mode = |files: &MemoryFileSystem, mode| {
            let mut options = options(files);
            options.wal_recovery_mode = mode;
            options.paranoid_checks = paranoid;
            options.avoid_flush_during_recovery = self.avoid_flush;
            options
        };
        let db = match open(with_mode(&files, mode)) {
            Err(error) if may_refuse && error.is_corruption() && error.to_string().contains(".log") => return Ok(0),
            db => db.map_err(|error| format!("open: {error}"))?,
        };
        if must_refuse {
            return Err("a log with a flipped bit was taken".to_owned());
        }
        compare(&db, &expected)?;
        // What was recovered stays, and no damaged log is needed any more.
        db.put(b"after", b"recovery").map_err(|error| error.to_string())?;
        let mut expected = expected;
        expected.entry(0).or_default().insert(b"after".to_vec(), b"recovery".to_vec());
        let left = files.crash_clone(CrashPolicy::KeepAll);
        let again =
            open(with_mode(&left, WalRecoveryMode::AbsoluteConsistency)).map_err(|error| format!("again: {error}"))?;
        compare(&again, &expected).map_err(|error| format!("opened again: {error}"))?;
        Ok(self.records.len())
    }

    /// True when the damage is one flipped bit within a record.
    fn has_flipped_fragment(&self) -> bool {
        let is_flipped = |damage: &Damage| match damage {
            Damage::FlippedBit { log, byte, .. } => self
                .records
                .iter()
                .any(|record| record.log == *log && record.fragments.iter().any(|own| own.contains(byte))),
            Damage::LostSector { .. } | Damage::CutEnd { .. } => false,
        };
        self.damages.len() == 1 && self.damages.iter().all(is_flipped)
    }

    /// The records before the first that is lost.
    fn prefix(&self) -> impl Iterator<Item = &Changes> {
        self.records.iter().zip(&self.lost).take_while(|(_, lost)| !**lost).map(|(record, _)| &record.changes)
    }
}

fn compare(db: &Db, expected: &Found) -> Result<(), String> {
    let found = contents(db).map_err(|error| error.to_string())?;
    let empty = Contents::new();
    for (id, contents) in &found {
        let expected = expected.get(id).unwrap_or(&empty);
        if contents != expected {
            return Err(format!("family {id}: {}", difference(contents, expected)));
        }
    }
    Ok(())
}

#[test]
fn damaged_logs_give_back_what_their_recovery_mode_promises() {
    let seeds = std::env::var("FERROCK_DAMAGE_SEEDS").map_or(DEFAULT_SEEDS, |text| text.parse().unwrap());
    let (mut opened, mut lost, mut records) = (0, 0, 0);
    for seed in 0..seeds {
        let case = Case::new(seed);
        lost += case.lost.iter().filter(|lost| **lost).count();
        records += case.records.len();
        for mode in WalRecoveryMode::ALL {
            for paranoid in [true, false] {
                let kept = case.check(mode, paranoid).unwrap_or_else(|error| {
                    let first = case.lost.iter().position(|lost| *lost);
                    panic!(
                        "seed {seed}, {mode:?}, paranoid_checks {paranoid}: {error}\n{:?}, {} records, first lost {first:?}",
                        case.damages,
                        case.records.len()
                    )
                });
                opened += usize::from(kept > 0);
            }
        }
    }
    println!("{seeds} directories, {records} records of which {lost} were hit, opened {opened} times");
    assert!(lost > 0);
}

/// One bit of a log of 10,000 records takes the rest of its block, not the rest of the log.
#[test]
fn one_flipped_bit_costs_one_block_when_damage_is_passed_over() {
    for (mode, paranoid) in
        [(WalRecoveryMode::SkipAnyCorruptedRecords, true), (WalRecoveryMode::PointInTimeRecovery, false)]
    {
        let files = MemoryFileSystem::new();
        files.create_dir_all(Path::new("/data")).unwrap();
        let db = Db::open(PATH, options(&files)).unwrap();
        for number in 0..10_000 {
            db.put(format!("key{number:06}").as_bytes(), &[b'v'; 100]).unwrap();
        }
        let left = files.crash_clone(CrashPolicy::KeepAll);
        let log = Path::new(PATH).join(logs(&left).pop().unwrap());
        let mut bytes = read_file(&left, &log).unwrap();
        bytes[200_000] ^= 1;
        write_file_synced(&left, &log, &bytes).unwrap();
        let mut options = options(&left);
        options.wal_recovery_mode = mode;
        options.paranoid_checks = paranoid;
        let db = Db::open(PATH, options).unwrap();
        // The figure is RocksDB's for such a log.
        assert_eq!(contents(&db).unwrap()[&0].len(), 9775, "{mode:?}");
    }
}

/// A log of these batches.
fn write_log(files: &MemoryFileSystem, number: u64, batches: &[WriteBatch]) {
    let mut writer = LogWriter::new(FileNumber(number), HeaderFamily::Legacy);
    let mut bytes = Vec::new();
    batches.iter().for_each(|batch| writer.encode_record(&[batch.data()], &mut bytes));
    write_file_synced(files, &Path::new(PATH).join(format!("{number:06}.log")), &bytes).unwrap();
}

fn batch(sequence: u64, key: Option<&str>) -> WriteBatch {
    let mut batch = WriteBatch::new();
    batch.set_sequence(SequenceNumber(sequence));
    key.into_iter().for_each(|key| batch.put(key.as_bytes(), b"value").unwrap());
    batch
}

/// The batch at `first` comes behind what logs had up to `last`.
fn follow(first: u64, last: u64) -> WriteBatch {
    let mut batch = batch(first, None);
    batch.put_log_data(&[b"ferrock.follows:", &last.to_le_bytes()[..]].concat()).unwrap();
    batch
}

#[test]
fn an_empty_batch_is_no_mark_of_an_earlier_recovery() {
    let rest = [batch(5, None), batch(5, Some("e"))];
    let behind_a_hole = |start: Vec<WriteBatch>| [start, rest.to_vec()].concat();
    // The later log, and what point-in-time recovery finds when the first one lost `c`, of sequence number 3.
    let cases = [
        ("in the middle", behind_a_hole(vec![follow(4, 3), batch(4, Some("d"))]), "ab"),
        ("at the beginning", behind_a_hole(vec![follow(5, 4)]), "ab"),
        ("of a recovery that lost `c`", vec![follow(3, 2), batch(3, None), batch(3, Some("f"))], "abf"),
    ];
    for (what, later, expected) in cases {
        let files = MemoryFileSystem::new();
        files.create_dir_all(Path::new("/data")).unwrap();
        drop(open(options(&files)).unwrap());
        let number: u64 = logs(&files).pop().unwrap()[..6].parse().unwrap();
        write_log(&files, number, &[batch(1, Some("a")), batch(2, Some("b")), batch(3, Some("c"))]);
        let first = Path::new(PATH).join(format!("{number:06}.log"));
        let bytes = read_file(&files, &first).unwrap();
        write_file_synced(&files, &first, &bytes[..bytes.len() - 1]).unwrap();
        write_log(&files, number + 100, &later);
        let db = open(options(&files)).unwrap();
        let found: String = contents(&db).unwrap()[&0].keys().map(|key| String::from_utf8_lossy(key)).collect();
        assert_eq!(found, expected, "an empty batch {what}");
    }
}
