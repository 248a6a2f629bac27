//! Flushes and compactions without a database: scripts over a file system in memory.
//!
//! ```text
//! flush                       the entries below become one memtable, that a table of level 0
//! a@1:p=x                     key@sequence:type=value; p put, d delete, s single delete, m merge, e entity
//! a@1:e=:x,n:y                the entity of the columns `` and `n`
//! a@2..c                      a deletion of the range [a, c)
//! compact from=0 to=1         all tables of both levels become tables of the second
//! table 7                     the entries of a table
//! ```
//!
//! Words behind `flush` and `compact`: `snapshots=1,5`, `size=100` (of an output), `kind=move|drop|copy`, `bottommost`,
//! `stop` (the environment stops the job), `fail=N` (the Nth operation on files fails), `blobs=5` (values of that many
//! bytes go into blob files), `blob_size=100` (of a blob file), `blob_level=1` (the first level with blob files),
//! `compress` (values in them), `collect=0.5` (the age cutoff of garbage collection), `at=1000` (Unix time of the job),
//! `warm` (the temperature of the outputs), `ttl=100`, `cursor=k` (round robin goes on there in the output level),
//! `young=50` (`preclude_last_level_data_seconds`), `times=5:100,9:200` (by when numbers had been written, as the
//! process knows it), `runs` (a universal family). Level 3 is the last.

use super::*;
use crate::blob::{BlobCollection, BlobSource, FetchBlob};
use crate::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason, LevelInputs};
use crate::compaction::picker::proximal_output;
use crate::places::FilePlaces;
use crate::seqno_time::SeqnoToTimeMapping;
use crate::table_cache::{MutableTableCacheParams, OpenTables, TableCacheParams};
use crate::version::VersionBuilder;
use ferrock_base::clock::ManualClock;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::{ErrorKind, InternalIterator, MAX_SEQUENCE_NUMBER, ParsedInternalKey, Temperature, ValueType};
use ferrock_cache::CacheOptions;
use ferrock_format::blob_index::BlobReference;
use ferrock_format::file_name;
use ferrock_format::properties::SeqnoTimePair;
use ferrock_format::version_edit::VersionEdit;
use ferrock_format::wide_column::{decode_entity, encode_entity};
use ferrock_memtable::{MemTable, MemTableOptions};
use ferrock_options::{BlobGarbageCollectionPolicy, CompactionPriority, CompactionStyle};
use ferrock_script::argument;
use ferrock_table::TableReadOptions;
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, MemoryFileSystem, OperationKind, RandomAccessOptions, Trigger,
};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

mod copies;

const DB: &str = "/db";

/// Numbers, a reason to stop, and what was given back.
struct TestEnv {
    file_system: Arc<dyn FileSystem>,
    next: Mutex<u64>,
    reserved: Mutex<BTreeSet<u64>>,
    stops: bool,
}

impl JobEnv for TestEnv {
    fn new_output(&self) -> FileNumber {
        let mut next = self.next.lock();
        *next += 1;
        self.reserved.lock().insert(*next);
        FileNumber(*next)
    }
    fn check_stop(&self) -> Result<()> {
        if self.stops { Err(Error::new(ErrorKind::ShutdownInProgress, "the test stops it")) } else { Ok(()) }
    }
    fn note_output(&self, _: PathBuf, _: u64) -> Result<()> {
        Ok(())
    }
    fn discard(&self, files: &WrittenFiles) {
        for (directory, name) in files.names() {
            let _ = self.file_system.remove_file(&directory.join(name));
        }
        for number in files.numbers() {
            self.reserved.lock().remove(&number.0);
        }
    }
}

/// A tree of tables, its file system and the family that jobs work for.
struct World {
    file_system: Arc<FaultInjectionFileSystem>,
    family: FamilyContext,
    blob_source: Arc<BlobSource>,
    next: u64,
}

impl World {
    fn new() -> Self {
        let memory: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        memory.create_dir_all(Path::new(DB)).unwrap();
        let file_system = Arc::new(FaultInjectionFileSystem::new(memory));
        let mut options = ColumnFamilyOptions::default();
        options.settings.num_levels = 4;
        options.table.block_size = 64;
        options.settings.target_file_size_base = 1;
        options.compression = ferrock_format::compression::CompressionType::NoCompression;
        let comparator = InternalComparator::default();
        let version = Arc::new(Version::empty(comparator.clone(), &options.settings));
        let table_cache = Arc::new(TableCache::new(TableCacheParams {
            file_system: Arc::clone(&file_system) as Arc<dyn FileSystem>,
            paths: PathBuf::from(DB).into(),
            comparator: comparator.clone(),
            mutable: MutableTableCacheParams {
                table_options: Arc::new(options.table.clone()),
                max_pinned_l0_file_size: u64::MAX,
                block_cache: None,
                prefix_extractor: None,
                plain_options: Arc::default(),
                protects_blocks: false,
            },
            cache_usage: Default::default(),
            bloom_locality: 0,
            file_options: RandomAccessOptions::default(),
            are_compactions_direct: false,
            verify_unique_id: true,
            open_tables: Arc::new(OpenTables::new(-1, None)),
            read_limiter: None,
            read_stats: Arc::default(),
            num_levels: 7,
            statistics: None,
        }));
        let block_cache = TableBlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..Default::default() });
        let family = FamilyContext {
            id: 3,
            name: "script".to_owned(),
            comparator,
            options: Arc::new(options),
            table_cache,
            block_cache,
            blob_cache: None,
            hash_index_choice: Arc::new(HashIndexChoice::new(Arc::default())),
            version,
            blob_directory: DB.into(),
        };
        let blob_source = Arc::new(BlobSource::new(
            Arc::clone(&file_system) as Arc<dyn FileSystem>,
            Arc::new(FilePlaces::new(DB.into(), DB.into(), &[])),
            RandomAccessOptions::default(),
            -1,
            Arc::new(OpenTables::new(-1, None)),
        ));
        Self { file_system, family, blob_source, next: 6 }
    }

    fn context(&self, line: &str) -> JobContext {
        let snapshots = argument(line, "snapshots").map(|list| list.split(',').map(|word| word.parse().unwrap()));
        let times = argument(line, "times").map(|list| {
            let pairs = list.split(',').map(|pair| pair.split_once(':').unwrap());
            pairs.map(|(seqno, time)| SeqnoTimePair {
                seqno: SequenceNumber(seqno.parse().unwrap()),
                time: time.parse().unwrap(),
            })
        });
        let mut family = self.family.clone();
        let settings = &mut Arc::make_mut(&mut family.options).settings;
        if let Some(bytes) = argument(line, "blobs") {
            (settings.enable_blob_files, settings.min_blob_size) = (true, bytes.parse().unwrap());
        }
        if line.contains(" compress") {
            settings.blob_compression_type = ferrock_format::compression::CompressionType::Lz4;
        }
        settings.ttl = argument(line, "ttl").map_or(0, |secs| secs.parse().unwrap());
        settings.preclude_last_level_data_seconds = argument(line, "young").map_or(0, |secs| secs.parse().unwrap());
        if line.contains(" runs") {
            settings.compaction_style = CompactionStyle::Universal;
        }
        if line.contains(" cursor=") {
            settings.compaction_pri = CompactionPriority::RoundRobin;
        }
        settings.blob_file_size = argument(line, "blob_size").map_or(u64::MAX, |bytes| bytes.parse().unwrap());
        settings.blob_file_starting_level = argument(line, "blob_level").map_or(0, |level| level.parse().unwrap());
        let blobs = OwnedBlobView {
            source: Arc::clone(&self.blob_source),
            version: Arc::clone(&self.family.version),
            column_family_id: family.id,
            cache: None,
            fill_cache: false,
            verify_checksums: true,
            read_tier: ferrock_table::ReadTier::All,
            context: ferrock_vfs::ReadContext::default(),
        };
        JobContext {
            seqno_times: SeqnoToTimeMapping::of_pairs(times.into_iter().flatten().collect()),
            file_system: Arc::clone(&self.file_system) as Arc<dyn FileSystem>,
            clock: Arc::new(ManualClock::new(1_000_000 * argument(line, "at").map_or(0, |secs| secs.parse().unwrap()))),
            db: Arc::default(),
            db_id: "db".to_owned(),
            session_id: "ABCDEFGHIJKLMNOPQRST".to_owned(),
            family,
            snapshots: snapshots.into_iter().flatten().map(SequenceNumber).collect(),
            blobs: Some(Arc::new(blobs)),
            epoch_number: self.next,
            copies_blocks: true,
        }
    }

    /// Runs a job in an environment and applies its edit; prints how it ended and what files there are.
    fn job(
        &mut self,
        line: &str,
        run: impl FnOnce(&JobContext, &TestEnv) -> Result<(JobOutput, VersionEdit)>,
    ) -> String {
        let context = self.context(line);
        let env = TestEnv {
            file_system: Arc::clone(&self.file_system) as Arc<dyn FileSystem>,
            next: Mutex::new(self.next),
            reserved: Mutex::default(),
            stops: line.contains(" stop"),
        };
        let operation = argument(line, "fail").map(|number| number.parse::<u64>().unwrap());
        let rule = operation.map(|number| {
            self.file_system.add_rule(FaultRule::new(OperationKind::Any, "*", Fault::Io).when(Trigger::Nth(number)))
        });
        let outcome = run(&context, &env);
        if rule.is_some() {
            self.file_system.clear_rules();
        }
        self.next = *env.next.lock();
        let mut out = String::new();
        match outcome {
            Ok((output, edit)) => {
                let made: BTreeSet<u64> = output.written.numbers().map(|number| number.0).collect();
                assert_eq!(*env.reserved.lock(), made, "reserved until the caller gives them back");
                let mut builder = VersionBuilder::new(Arc::clone(&self.family.version));
                builder.apply(&edit).unwrap();
                self.family.version = Arc::new(builder.build(&self.family.options.settings).unwrap());
            }
            Err(error) => {
                assert_eq!(*env.reserved.lock(), BTreeSet::new(), "a job that failed gives its numbers back");
                writeln!(out, "{:?}", error.kind()).unwrap();
            }
        }
        out + &self.levels()
    }

    fn flush(&mut self, line: &str, entries: &str) -> String {
        let memtable = Arc::new(MemTable::new(MemTableOptions::default()));
        for entry in entries.lines() {
            let (key, rest) = entry.split_once('@').unwrap();
            if let Some((sequence, end)) = rest.split_once("..") {
                let sequence = SequenceNumber(sequence.parse().unwrap());
                memtable.add(sequence, ValueType::RangeDeletion, key.as_bytes(), end.as_bytes()).unwrap();
                continue;
            }
            let (sequence, rest) = rest.split_once(':').unwrap();
            let (letter, value) = rest.split_once('=').unwrap_or((rest, ""));
            let sequence = SequenceNumber(sequence.parse().unwrap());
            let columns = value.split(',').filter_map(|column| column.split_once(':'));
            let columns: Vec<_> = columns.map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
            let value = if letter == "e" { encode_entity(&columns).unwrap() } else { value.as_bytes().to_vec() };
            memtable.add(sequence, type_of(letter), key.as_bytes(), &value).unwrap();
        }
        self.job(line, |context, env| {
            let job = FlushJob { context, memtables: &[memtable], reason: TableFileCreationReason::Flush };
            let output = job.run(env)?;
            let edit = VersionEdit {
                new_files: output.files.clone(),
                blob_file_additions: output.blob_files.clone(),
                ..VersionEdit::for_column_family(3)
            };
            Ok((output, edit))
        })
    }

    fn compact(&mut self, line: &str) -> String {
        let to: usize = argument(line, "to").map_or(0, |word| word.parse().unwrap());
        if let Some(key) = argument(line, "cursor") {
            let cursor = make_internal_key(key.as_bytes(), MAX_SEQUENCE_NUMBER, ValueType::Value);
            let mut builder = VersionBuilder::new(Arc::clone(&self.family.version));
            let compact_cursors = vec![(u32::try_from(to).unwrap(), cursor)];
            builder.apply(&VersionEdit { compact_cursors, ..VersionEdit::for_column_family(3) }).unwrap();
            self.family.version = Arc::new(builder.build(&self.family.options.settings).unwrap());
        }
        let choice = self.choice(line);
        self.job(line, |context, env| {
            let cutoff = argument(line, "collect").map(|share| share.parse().unwrap());
            let policy = match cutoff {
                Some(_) => BlobGarbageCollectionPolicy::Force,
                None => BlobGarbageCollectionPolicy::UseDefault,
            };
            let collection = BlobCollection::by_hand(&context.family.options.settings, policy, cutoff);
            let (is_manual, max_subcompactions) = (true, 0);
            let job =
                CompactionJob { context, choice: &choice, is_manual, collection, within: None, max_subcompactions };
            let output = job.run(env)?;
            let edit = job.edit(&output);
            Ok((output, edit))
        })
    }

    /// What a line `compact` says.
    fn choice(&self, line: &str) -> CompactionChoice {
        let level = |name| argument(line, name).map_or(0, |word| word.parse().unwrap());
        let (from, to): (usize, usize) = (level("from"), level("to"));
        let version = Arc::clone(&self.family.version);
        let levels = if from == to { vec![from] } else { vec![from, to] };
        let inputs = levels.into_iter().map(|level| LevelInputs { level, files: version.level(level).to_vec() });
        let mut choice = CompactionChoice {
            reason: CompactionReason::ManualCompaction,
            version: Arc::clone(&version),
            start_level: from,
            output_level: to,
            proximal: None,
            output_path_id: 0,
            compression: None,
            inputs: inputs.filter(|inputs| !inputs.files.is_empty()).collect(),
            grandparents: Vec::new(),
            kind: match argument(line, "kind") {
                None => CompactionKind::Merge,
                Some("move") => CompactionKind::Move,
                Some("drop") => CompactionKind::Drop,
                Some("copy") => CompactionKind::Copy,
                Some(other) => unreachable!("kind {other}"),
            },
            output_temperature: line.contains(" warm").then_some(Temperature::Warm),
            is_bottommost: line.contains(" bottommost"),
            max_output_file_size_bytes: argument(line, "size").map_or(u64::MAX, |word| word.parse().unwrap()),
            max_compaction_bytes: u64::MAX,
            epoch_number: None,
            next_compact_cursor: None,
            score: 0.0,
        };
        choice.proximal = proximal_output(&self.context(line).family.options, &choice);
        choice
    }

    /// The tables of all levels, and the files that no level has: inputs of earlier jobs stay, as no job removes them.
    fn levels(&self) -> String {
        let mut out = String::new();
        let mut known = BTreeSet::new();
        for (level, file) in self.family.version.files() {
            known.insert(PathBuf::from(file_name::table(file.number)));
            let (smallest, largest) = (show_key(&file.smallest), show_key(&file.largest));
            let blobs =
                file.oldest_blob_file_number.map_or(String::new(), |oldest| format!(" blobs from #{}", oldest.0));
            let born = match file.oldest_ancester_time_secs {
                0 => String::new(),
                secs => format!(" born {secs}"),
            };
            let warm = if file.temperature == Temperature::Warm { " warm" } else { "" };
            writeln!(out, "L{level} #{} {smallest} .. {largest}{blobs}{born}{warm}", file.number.0).unwrap();
        }
        for (number, file) in self.family.version.blob_files() {
            let name = PathBuf::from(file_name::blob(*number));
            let size = self.file_system.file_size(&Path::new(DB).join(&name)).unwrap();
            assert_eq!(file.file_size_bytes(), size, "{number}");
            known.insert(name);
            let (total, garbage) = (file.addition.total_blob_count, file.garbage_blob_count);
            writeln!(out, "blobs #{number}: {garbage} of {total} garbage").unwrap();
        }
        for entry in self.file_system.children(Path::new(DB)).unwrap() {
            let name = PathBuf::from(entry);
            if !known.contains(&name) {
                writeln!(out, "{} of no level", name.display()).unwrap();
            }
        }
        out
    }

    fn show_blob(&self, key: &[u8], index: &[u8]) -> String {
        let reference = BlobReference::decode(index).unwrap();
        let value = self.context("").blobs.unwrap().fetch(key, index).unwrap();
        format!("{} in #{}", value.escape_ascii(), reference.file_number)
    }

    /// The version of an entity, and its columns.
    fn show_columns(&self, key: &[u8], entity: &[u8]) -> String {
        let columns = decode_entity(entity).unwrap().into_iter().map(|column| {
            let value = match column.is_blob_index {
                true => self.show_blob(key, column.value),
                false => column.value.escape_ascii().to_string(),
            };
            format!(" {}:{value}", column.name.escape_ascii())
        });
        format!("version {}{}", entity[0], columns.collect::<String>())
    }

    fn table(&self, number: u64) -> String {
        let version = &self.family.version;
        let Some((_, file)) = version.files().find(|(_, file)| file.number.0 == number) else { return String::new() };
        let table = self.family.table_cache.get(file).unwrap();
        let mut out = String::new();
        let mut iter = table.iter(TableReadOptions::default());
        iter.seek_to_first();
        while iter.valid() {
            let key = ParsedInternalKey::parse(iter.key()).unwrap();
            let value = match key.value_type {
                ValueType::BlobIndex => self.show_blob(key.user_key, iter.value()),
                ValueType::WideColumnEntity => self.show_columns(key.user_key, iter.value()),
                _ => iter.value().escape_ascii().to_string(),
            };
            writeln!(out, "{}={value}", show_key(iter.key())).unwrap();
            iter.next();
        }
        iter.status().unwrap();
        for fragment in table.range_tombstones().into_iter().flat_map(|list| list.iter()) {
            let (start, end) = (fragment.start.escape_ascii(), fragment.end.escape_ascii());
            writeln!(out, "[{start}, {end}) deleted").unwrap();
        }
        out
    }
}

const TYPES: [(&str, ValueType); 7] = [
    ("p", ValueType::Value),
    ("d", ValueType::Deletion),
    ("s", ValueType::SingleDeletion),
    ("m", ValueType::Merge),
    ("r", ValueType::RangeDeletion),
    ("b", ValueType::BlobIndex),
    ("e", ValueType::WideColumnEntity),
];

fn type_of(letter: &str) -> ValueType {
    TYPES.iter().find(|(own, _)| *own == letter).unwrap_or_else(|| panic!("type {letter}")).1
}

fn show_key(key: &[u8]) -> String {
    let parsed = ParsedInternalKey::parse(key).unwrap();
    let letter = TYPES.iter().find(|(_, value_type)| *value_type == parsed.value_type).unwrap().0;
    let sequence = match parsed.sequence {
        MAX_SEQUENCE_NUMBER => "max".to_owned(),
        SequenceNumber(number) => number.to_string(),
    };
    format!("{}@{sequence}:{letter}", parsed.user_key.escape_ascii())
}

#[test]
fn jobs() {
    let mut world = World::new();
    ferrock_script::check(env!("CARGO_MANIFEST_DIR"), "src/job/testdata/jobs.txt", |case| {
        let (line, data) = case.split_once('\n').unwrap_or((case, ""));
        match line.split_whitespace().next() {
            Some("new") => {
                world = World::new();
                String::new()
            }
            Some("flush") => world.flush(line, data),
            Some("compact") => world.compact(line),
            Some("table") => world.table(line.rsplit(' ').next().unwrap().parse().unwrap()),
            _ => unreachable!("{line}"),
        }
    });
}

#[test]
fn a_copy_that_fails_at_any_operation_leaves_no_file() {
    for number in 1.. {
        let mut world = World::new();
        world.flush("flush", "a@1:p=1\nb@2:p=22");
        world.flush("flush", "b@4:d\nc@5:p=5");
        let shown = world.compact(&format!("compact from=0 to=0 kind=copy warm fail={number}"));
        if !shown.contains("Io") {
            assert!(number > 5 && shown.matches(" warm").count() == 2, "{shown}");
            break;
        }
        assert!(!shown.contains("no level") && shown.matches("L0").count() == 2, "operation {number}: {shown}");
    }
}

#[test]
fn a_job_that_fails_at_any_operation_leaves_no_file() {
    for number in 1.. {
        let mut world = World::new();
        world.flush("flush blobs=2", "a@1:p=1\nb@2:p=22\nc@3:p=33");
        world.flush("flush blobs=2", "b@4:d\nc@5:p=5\nd@6:e=:55,n:66");
        let what = "size=1 blobs=1 blob_size=1 collect=1.0";
        let shown = world.compact(&format!("compact from=0 to=1 {what} fail={number}"));
        if !shown.contains("Io") {
            assert!(number > 5, "the rule was never met: {shown}");
            break;
        }
        assert!(!shown.contains("no level") && shown.matches("L0").count() == 2, "operation {number}: {shown}");
    }
}
