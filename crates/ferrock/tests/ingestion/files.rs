//! What options do to the files, and what is refused.

use crate::common::{Contents, contents, options_on, rows_of};
use crate::rig::key;
use ferrock::{
    ColumnFamilyOptions, Db, DbOptions, Error, ErrorKind, EventListener, ExternalFileIngestionInfo,
    IngestExternalFileArg, IngestExternalFileOptions, LiveFile, ReadOptions, SequenceNumber, SstFileReader,
    SstFileWriter,
};
use ferrock_base::comparator::Comparator;
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, read_file,
    write_file_synced,
};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Rig {
    file_system: MemoryFileSystem,
    options: DbOptions,
    family: ColumnFamilyOptions,
    db: Db,
}

impl Rig {
    fn new() -> Self {
        Self::on(|_| {})
    }

    fn on(change: impl FnOnce(&mut DbOptions)) -> Self {
        let file_system = MemoryFileSystem::new();
        file_system.create_dir_all(Path::new("/outside")).unwrap();
        let mut options = options_on(Arc::new(file_system.clone()));
        change(&mut options);
        let mut family = ColumnFamilyOptions::default();
        family.disable_auto_compactions = true;
        // Else only the levels that are in use take files.
        family.level_compaction_dynamic_level_bytes = false;
        let db = Db::open_cf("/db", options.clone(), vec![("default".to_owned(), family.clone())]).unwrap().0;
        Self { file_system, options, family, db }
    }

    /// A file of the keys of some numbers with a value.
    fn file(&self, name: &str, numbers: impl IntoIterator<Item = u64>, value: &str) -> PathBuf {
        let path = Path::new("/outside").join(name);
        let mut writer = SstFileWriter::new(&self.options, self.family.clone());
        writer.open(&path).unwrap();
        numbers.into_iter().for_each(|number| writer.put(&key(number), value.as_bytes()).unwrap());
        writer.finish().unwrap();
        path
    }

    fn ingest(&self, path: &Path, options: &IngestExternalFileOptions) -> ferrock::Result<()> {
        self.db.ingest_external_file(&[path], options)
    }

    /// Ingests, and finds the new table.
    fn ingested(&self, path: &Path, options: &IngestExternalFileOptions) -> LiveFile {
        let before = self.db.live_files();
        self.ingest(path, options).unwrap();
        let is_new = |file: &LiveFile| !before.iter().any(|old| old.number == file.number);
        self.db.live_files().into_iter().find(is_new).unwrap()
    }

    fn path_of(file: &LiveFile) -> PathBuf {
        Path::new("/db").join(file.name().trim_start_matches('/'))
    }

    /// The call fails, and leaves nothing.
    fn refused(&self, path: &Path, options: &IngestExternalFileOptions) -> Error {
        let (files, names) = (self.db.live_files().len(), self.tables());
        let rows = contents(&self.db, &ReadOptions::default());
        let error = self.ingest(path, options).unwrap_err();
        assert_eq!((self.db.live_files().len(), self.tables()), (files, names), "{error}");
        assert_eq!(contents(&self.db, &ReadOptions::default()), rows, "{error}");
        error
    }

    fn tables(&self) -> Vec<String> {
        let names = self.file_system.children(Path::new("/db")).unwrap();
        names.into_iter().filter(|name| name.ends_with(".sst") || name.ends_with(".dbtmp")).collect()
    }
}

fn all() -> IngestExternalFileOptions {
    IngestExternalFileOptions::default()
}

#[test]
fn files_are_copied_linked_or_moved() {
    let rig = Rig::new();
    let copied = rig.file("copied", 0..5, "a");
    let inside = Rig::path_of(&rig.ingested(&copied, &all()));
    assert_eq!(rig.file_system.link_count(&copied).unwrap(), 1);
    assert_eq!(read_file(&rig.file_system, &inside).unwrap(), read_file(&rig.file_system, &copied).unwrap());

    let linked = rig.file("linked", 5..10, "b");
    rig.ingested(&linked, &IngestExternalFileOptions { link_files: true, ..all() });
    assert_eq!(rig.file_system.link_count(&linked).unwrap(), 2);

    let moved = rig.file("moved", 10..15, "c");
    let inside = Rig::path_of(&rig.ingested(&moved, &IngestExternalFileOptions { move_files: true, ..all() }));
    assert!(!rig.file_system.exists(&moved).unwrap());
    assert_eq!(rig.file_system.link_count(&inside).unwrap(), 1);
    assert_eq!(contents(&rig.db, &ReadOptions::default()).len(), 15);

    // Only the name in the database goes when a compaction has replaced the file.
    let kept = read_file(&rig.file_system, &linked).unwrap();
    rig.db.delete(&key(6)).unwrap();
    rig.db.compact_range(None, None).unwrap();
    assert_eq!(rig.file_system.link_count(&linked).unwrap(), 1);
    assert_eq!(read_file(&rig.file_system, &linked).unwrap(), kept);
    let both = IngestExternalFileOptions { move_files: true, link_files: true, ..all() };
    assert_eq!(rig.refused(&linked, &both).kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_file_that_cannot_be_linked_is_copied_if_it_may_be() {
    let memory = MemoryFileSystem::new();
    let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory)));
    let rig = Rig::on(|options| options.components.file_system = Some(Arc::clone(&faults) as Arc<dyn FileSystem>));
    faults.create_dir_all(Path::new("/outside")).unwrap();
    faults.add_rule(FaultRule::new(OperationKind::Link, "*", Fault::Io));
    let path = rig.file("file", 0..5, "a");
    let strict = IngestExternalFileOptions { move_files: true, failed_move_fall_back_to_copy: false, ..all() };
    assert_eq!(rig.ingest(&path, &strict).unwrap_err().kind(), ErrorKind::Io);
    assert!(faults.exists(&path).unwrap());
    rig.ingest(&path, &IngestExternalFileOptions { move_files: true, ..all() }).unwrap();
    assert!(!faults.exists(&path).unwrap());
    assert_eq!(contents(&rig.db, &ReadOptions::default()).len(), 5);
}

#[test]
fn a_sequence_number_is_given_where_one_is_needed() {
    let rig = Rig::new();
    let none = rig.ingested(&rig.file("none", 10..20, "a"), &all());
    assert_eq!((none.largest_sequence, none.level), (SequenceNumber(0), 6));
    let over = rig.ingested(&rig.file("over", 15..16, "b"), &all());
    assert_eq!((over.smallest_sequence, over.largest_sequence, over.level), (SequenceNumber(1), SequenceNumber(1), 5));
    // Within the boundaries of a file that has no key there.
    let strict = IngestExternalFileOptions { allow_global_seqno: false, ..all() };
    let ends = rig.ingested(&rig.file("ends", [30, 50], "c"), &strict);
    assert_eq!((ends.largest_sequence, ends.level), (SequenceNumber(0), 6));
    let between = rig.ingested(&rig.file("between", 35..40, "d"), &strict);
    assert_eq!((between.largest_sequence, between.level), (SequenceNumber(0), 5));
    let error = rig.refused(&rig.file("strict", 18..19, "e"), &strict);
    assert!(error.to_string().contains("allow_global_seqno"), "{error}");

    // For a snapshot every file gets one, and the snapshot does not see it.
    let snapshot = rig.db.snapshot();
    let hidden = rig.ingested(&rig.file("hidden", 60..65, "f"), &all());
    assert_eq!(hidden.largest_sequence, SequenceNumber(2));
    let then = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    assert!(!contents(&rig.db, &then).contains_key(&key(60)));
    let seen = IngestExternalFileOptions { snapshot_consistency: false, ..all() };
    assert_eq!(rig.ingested(&rig.file("seen", 70..75, "g"), &seen).largest_sequence, SequenceNumber(0));
    assert!(contents(&rig.db, &then).contains_key(&key(70)));
    assert_eq!(rig.db.get(&key(15)).unwrap().as_deref(), Some(&b"b"[..]));
}

#[test]
fn of_files_that_overlap_the_last_one_wins() {
    let rig = Rig::new();
    let files: Vec<PathBuf> = (0..5).map(|index| rig.file(&index.to_string(), index..10, &index.to_string())).collect();
    rig.db.ingest_external_file(&files, &all()).unwrap();
    for number in 0..10 {
        let newest = number.min(4).to_string();
        assert_eq!(rig.db.get(&key(number)).unwrap().as_deref(), Some(newest.as_bytes()));
    }
    let levels: Vec<u64> = rig.db.live_files().iter().map(|file| file.level as u64).collect();
    assert_eq!(levels, [2, 3, 4, 5, 6], "each above the one before");
    let strict = IngestExternalFileOptions { fail_if_not_bottommost_level: true, ..all() };
    let file = rig.file("strict", 3..4, "x");
    assert_eq!(rig.refused(&file, &strict).kind(), ErrorKind::TryAgain);
    rig.db.delete_range(&key(0), &key(50)).unwrap();
    rig.db.compact_range(None, None).unwrap();
    assert_eq!(rig.ingested(&file, &strict).level, 6);
}

#[test]
fn a_memtable_with_a_key_of_a_file_is_flushed() {
    let rig = Rig::new();
    rig.db.put(&key(5), b"old").unwrap();
    let strict = IngestExternalFileOptions { allow_blocking_flush: false, ..all() };
    let beside = rig.ingested(&rig.file("beside", 10..20, "a"), &strict);
    assert_eq!(beside.level, 6);
    let file = rig.file("over", 0..10, "new");
    let error = rig.refused(&file, &strict);
    assert!(error.to_string().contains("allow_blocking_flush"), "{error}");
    rig.ingest(&file, &all()).unwrap();
    assert_eq!(rig.db.get(&key(5)).unwrap().as_deref(), Some(&b"new"[..]));
    // A range deletion counts, too.
    rig.db.delete_range(&key(30), &key(40)).unwrap();
    let deleted = rig.file("deleted", 35..36, "b");
    assert_eq!(rig.refused(&deleted, &strict).kind(), ErrorKind::InvalidArgument);
    rig.ingest(&deleted, &all()).unwrap();
    assert_eq!(rig.db.get(&key(35)).unwrap().as_deref(), Some(&b"b"[..]));
}

#[test]
fn the_number_is_written_into_the_file_of_the_database_alone() {
    let rig = Rig::new();
    rig.db.put(&key(3), b"old").unwrap();
    let path = rig.file("file", 0..5, "new");
    let before = read_file(&rig.file_system, &path).unwrap();
    let options = IngestExternalFileOptions { link_files: true, write_global_seqno: true, ..all() };
    let file = rig.ingested(&path, &options);
    assert_eq!(file.largest_sequence, SequenceNumber(2));
    let inside = Rig::path_of(&file);
    let number_in = |path: &Path| {
        let reader = SstFileReader::open(path, &rig.options, rig.family.clone()).unwrap();
        reader.verify_checksum().unwrap();
        reader.properties().external_sst_file_global_seqno
    };
    assert_eq!((number_in(&inside), number_in(&path)), (Some(2), Some(0)));
    assert_eq!(read_file(&rig.file_system, &path).unwrap(), before);
    rig.db.verify_checksum().unwrap();
    // It cannot be ingested anywhere again.
    let again = Path::new("/outside/again");
    write_file_synced(&rig.file_system, again, &read_file(&rig.file_system, &inside).unwrap()).unwrap();
    assert_eq!(rig.refused(again, &all()).kind(), ErrorKind::InvalidArgument);
    rig.db.close().unwrap();
    let db = Db::open("/db", rig.options.clone()).unwrap();
    assert_eq!(db.get(&key(3)).unwrap().as_deref(), Some(&b"new"[..]));
}

#[test]
fn inputs_that_are_wrong_are_refused() {
    let rig = Rig::new();
    rig.db.put(&key(100), b"x").unwrap();
    rig.db.flush().unwrap();
    let good = rig.file("good", 0..100, "a");
    let kind = |path: &Path| rig.refused(path, &all()).kind();
    assert_eq!(kind(Path::new("/outside/missing")), ErrorKind::Io);

    let mut reverse = rig.family.clone();
    reverse.comparator = Comparator::ReverseBytewise;
    let mut writer = SstFileWriter::new(&rig.options, reverse);
    writer.open("/outside/reverse").unwrap();
    writer.put(b"a", b"").unwrap();
    writer.finish().unwrap();
    assert_eq!(kind(Path::new("/outside/reverse")), ErrorKind::InvalidArgument);

    // A table that the database wrote has no version.
    let own = Rig::path_of(&rig.db.live_files()[0]);
    assert_eq!(kind(&own), ErrorKind::Corruption);
    let moving = IngestExternalFileOptions { move_files: true, allow_db_generated_files: true, ..all() };
    assert_eq!(rig.refused(&own, &moving).kind(), ErrorKind::InvalidArgument);

    // Another family's.
    let other = rig.db.create_column_family("other", rig.family.clone()).unwrap();
    let mut writer = SstFileWriter::new(&rig.options, rig.family.clone()).for_family(&other);
    writer.open("/outside/other").unwrap();
    writer.put(b"a", b"").unwrap();
    writer.finish().unwrap();
    assert_eq!(kind(Path::new("/outside/other")), ErrorKind::InvalidArgument);
    rig.db.ingest_external_file_cf(&other, &["/outside/other"], &all()).unwrap();

    // Calls.
    let twice = rig.db.ingest_external_file(&[&good, &good], &all()).unwrap_err();
    assert!(twice.to_string().contains("named twice"), "{twice}");
    assert!(rig.db.ingest_external_file(&[] as &[&Path], &all()).is_err());
    assert!(rig.db.ingest_external_files(&[]).is_err());
    let arg = IngestExternalFileArg {
        family: other.clone(),
        files: vec![good.clone()],
        options: IngestExternalFileOptions::default(),
        file_checksums: Vec::new(),
    };
    assert!(rig.db.ingest_external_files(&[arg.clone(), arg.clone()]).is_err());
    for (options, kind) in [
        (IngestExternalFileOptions { ingest_behind: true, ..all() }, ErrorKind::InvalidArgument),
        (
            IngestExternalFileOptions { write_global_seqno: true, allow_db_generated_files: true, ..all() },
            ErrorKind::NotSupported,
        ),
    ] {
        assert_eq!(rig.refused(&good, &options).kind(), kind);
    }
    rig.db.drop_column_family(&other).unwrap();
    assert_eq!(rig.db.ingest_external_files(&[arg]).unwrap_err().kind(), ErrorKind::InvalidArgument);

    // Damage: what is needed to open a file is always checked, the rest if it is asked for.
    let whole = read_file(&rig.file_system, &good).unwrap();
    let bad = Path::new("/outside/bad");
    write_file_synced(&rig.file_system, bad, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(kind(bad), ErrorKind::Corruption);
    let checked = IngestExternalFileOptions { verify_checksums_before_ingest: true, ..all() };
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        write_file_synced(&rig.file_system, bad, &flipped).unwrap();
        assert!(rig.ingest(bad, &checked).is_err(), "byte {at}");
    }
    rig.ingest(&good, &checked).unwrap();

    // A database that is only read.
    rig.db.clone().close().unwrap();
    let db = read_only(&rig);
    assert_eq!(db.ingest_external_file(&[&good], &all()).unwrap_err().kind(), ErrorKind::NotSupported);
}

#[test]
fn files_of_another_database_keep_their_numbers() {
    let rig = Rig::new();
    let from = Db::open("/from", rig.options.clone()).unwrap();
    for round in 0..3 {
        for number in round..20 {
            from.put(&key(number), format!("{round}").as_bytes()).unwrap();
        }
        from.delete_range(&key(18), &key(30)).unwrap();
        from.flush().unwrap();
    }
    let expected = rows_of(from.iter(&ReadOptions::default()));
    let mut files = from.live_files();
    // The older first.
    files.sort_by_key(|file| file.largest_sequence);
    let paths: Vec<PathBuf> =
        files.iter().map(|file| Path::new("/from").join(file.name().trim_start_matches('/'))).collect();
    let options = IngestExternalFileOptions { allow_db_generated_files: true, ..all() };
    rig.db.ingest_external_file(&paths, &options).unwrap();
    assert_eq!(contents(&rig.db, &ReadOptions::default()), expected);
    let newest = files.last().unwrap().largest_sequence;
    assert!(rig.db.latest_sequence_number() >= newest);
    rig.db.put(&key(1), b"after").unwrap();
    assert_eq!(rig.db.get(&key(1)).unwrap().as_deref(), Some(&b"after"[..]));
    // What overlaps anything is refused.
    let error = rig.db.ingest_external_file(&paths[..1], &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    rig.db.close().unwrap();
    let db = Db::open("/db", rig.options.clone()).unwrap();
    let mut expected: Contents = expected;
    expected.insert(key(1), b"after".to_vec());
    assert_eq!(contents(&db, &ReadOptions::default()), expected);
}

fn read_only(rig: &Rig) -> Db {
    let families = vec![("default".to_owned(), rig.family.clone())];
    Db::open_read_only("/db", rig.options.clone(), Some(families)).unwrap().0
}

#[derive(Default)]
struct Heard(Mutex<Vec<(PathBuf, PathBuf, u64, u64)>>);

impl EventListener for Heard {
    fn on_external_file_ingested(&self, info: &ExternalFileIngestionInfo) {
        assert_eq!(info.column_family, "default");
        let (external, internal) = (info.external_file_path.clone(), info.internal_file_path.clone());
        self.0.lock().push((external, internal, info.global_seqno.0, info.table_properties.num_entries));
    }
}

#[test]
fn listeners_and_statistics_are_told() {
    let heard = Arc::new(Heard::default());
    let rig = Rig::on(|options| options.components.listeners = vec![Arc::clone(&heard) as Arc<dyn EventListener>]);
    rig.db.put(&key(2), b"x").unwrap();
    let path = rig.file("file", 0..5, "a");
    let inside = Rig::path_of(&rig.ingested(&path, &all()));
    assert_eq!(*heard.0.lock(), [(path, inside, 2, 5)]);
    let text = rig.db.property("rocksdb.cfstats").unwrap();
    for line in ["AddFile(Total Files): cumulative 1, interval 1", "AddFile(Keys): cumulative 5, interval 5"] {
        assert!(text.contains(line), "{text}");
    }
}

/// The entries of the later file are older by their numbers: readers would not agree about what is newest.
#[test]
fn files_that_keep_numbers_and_contradict_their_order_are_refused() {
    let rig = Rig::new();
    let from = Db::open("/from", rig.options.clone()).unwrap();
    from.put(&key(1), b"old").unwrap();
    from.flush().unwrap();
    from.ingest_external_file(&[rig.file("newer", [1], "new")], &all()).unwrap();
    let mut files = from.live_files();
    files.sort_by_key(|file| file.number);
    let paths: Vec<PathBuf> = files.iter().map(|file| Path::new("/from").join(file.name())).collect();
    let options = IngestExternalFileOptions { allow_db_generated_files: true, ..all() };
    let error = rig.db.ingest_external_file(&paths, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("overlap each other"), "{error}");
    assert!(rig.db.live_files().is_empty());
    rig.db.ingest_external_file(&paths[..1], &options).unwrap();
    assert_eq!(rig.db.get(&key(1)).unwrap().as_deref(), Some(&b"old"[..]));
}

#[test]
fn a_writer_makes_another_file_where_the_database_has_the_former_one() {
    let rig = Rig::new();
    let linked = rig.file("again", 0..50, "first");
    rig.ingest(&linked, &IngestExternalFileOptions { link_files: true, ..all() }).unwrap();
    assert_eq!(rig.file("again", 100..101, "second"), linked);
    let Rig { db, options, family, .. } = rig;
    db.close().unwrap();
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
    let rows = contents(&db, &ReadOptions::default());
    assert_eq!((rows.len(), rows.values().all(|value| value == b"first")), (50, true));
}

/// The database has the file, and not a link to where it was.
#[cfg(unix)]
#[test]
fn a_symbolic_link_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (real, staged) = (directory.path().join("real"), directory.path().join("staged.sst"));
    std::fs::create_dir(&real).unwrap();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let mut writer = SstFileWriter::new(&options, ColumnFamilyOptions::default());
    writer.open(real.join("new.sst")).unwrap();
    writer.put(b"key", b"value").unwrap();
    writer.finish().unwrap();
    std::os::unix::fs::symlink(real.join("new.sst"), &staged).unwrap();
    let path = directory.path().join("db");
    let db = Db::open(&path, options.clone()).unwrap();
    let moved = IngestExternalFileOptions { move_files: true, ..all() };
    db.ingest_external_file(&[&staged], &moved).unwrap();
    assert!(!staged.exists());
    db.close().unwrap();
    std::fs::remove_dir_all(&real).unwrap();
    let db = Db::open(&path, options).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
}

/// Reads of the first lookup in a table that was taken in.
fn reads_of_the_first_get(options: &IngestExternalFileOptions) -> usize {
    let rig = Rig::new();
    let path = rig.file("table", 0..50, "value");
    rig.ingest(&path, options).unwrap();
    rig.file_system.set_read_logging(true);
    rig.db.get(&key(7)).unwrap().unwrap();
    rig.file_system.take_read_log().len()
}

#[test]
fn tables_are_opened_at_once_or_by_the_first_read() {
    let opened = reads_of_the_first_get(&all());
    assert_eq!(opened, 1, "a data block");
    let threads = IngestExternalFileOptions { file_opening_threads: 4, ..all() };
    assert_eq!(reads_of_the_first_get(&threads), opened);
    let later = IngestExternalFileOptions { fill_cache: false, ..all() };
    assert!(reads_of_the_first_get(&later) > opened);
    // An empty tree takes the file into its last level.
    let not_there = IngestExternalFileOptions { prefetch_lmax_index_and_filter_blocks: false, ..all() };
    assert!(reads_of_the_first_get(&not_there) > opened);
}

#[test]
fn checksums_of_blocks_are_compared_in_pieces_as_large_as_is_said() {
    let reads = |verify_checksums_readahead_size| {
        let mut rig = Rig::new();
        rig.family.compression = ferrock::options::CompressionType::NoCompression;
        let path = rig.file("table", 0..900, &"value".repeat(20));
        rig.file_system.set_read_logging(true);
        let verify_checksums_before_ingest = verify_checksums_readahead_size > 0;
        let options =
            IngestExternalFileOptions { verify_checksums_before_ingest, verify_checksums_readahead_size, ..all() };
        rig.ingest(&path, &options).unwrap();
        rig.file_system.take_read_log().len()
    };
    let (none, small, large) = (reads(0), reads(16 << 10), reads(1 << 20));
    assert!(none < large && large < small, "{none} {large} {small}");
}
