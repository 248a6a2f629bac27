//! Checksums of whole files: which files have them, in the MANIFEST and in all that tells of it, and what is found by
//! comparing them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use common::{contents, key, options_on};
use ferrock::backup::{BackupEngine, BackupEngineOptions, Checkpoint, CreateBackupOptions};
use ferrock::options::{
    CompactionStyle, Crc32cFactory, FileChecksumContext, FileChecksumGenFactory, FileChecksumGenerator,
    FileTemperatureAge, Temperature, load_latest,
};
use ferrock::repair::{Repair, Surgery};
use ferrock::{
    ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ErrorKind, FileChecksum, FileKind,
    ImportColumnFamilyOptions, IngestExternalFileArg, IngestExternalFileOptions, LiveFilesStorageOptions, ReadOptions,
    SstFileWriter,
};
use ferrock_base::checksum::crc32c;
use ferrock_base::clock::ManualClock;
use ferrock_vfs::{
    CrashPolicy, Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger,
    read_file, write_file_synced,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PATH: &str = "/db";

fn with_checksums(files: Arc<dyn FileSystem>) -> DbOptions {
    let mut options = options_on(files);
    options.components.file_checksum_gen_factory = Some(Arc::new(Crc32cFactory));
    options
}

fn open(files: &MemoryFileSystem, family: ColumnFamilyOptions) -> Db {
    open_as(with_checksums(Arc::new(files.clone())), family)
}

fn open_as(options: DbOptions, family: ColumnFamilyOptions) -> Db {
    Db::open_cf(PATH, options, vec![("default".to_owned(), family)]).unwrap().0
}

fn manual() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family
}

fn with_blobs() -> ColumnFamilyOptions {
    let mut family = manual();
    family.enable_blob_files = true;
    family.min_blob_size = 100;
    family.enable_blob_garbage_collection = true;
    family.blob_garbage_collection_age_cutoff = 1.0;
    family
}

fn fill(db: &Db, keys: std::ops::Range<u64>, byte: u8) {
    keys.for_each(|number| db.put(&key(number), &[byte; 150]).unwrap());
    db.flush().unwrap();
}

fn crc_of(files: &dyn FileSystem, path: &Path) -> FileChecksum {
    let bytes = read_file(files, path).unwrap();
    FileChecksum { function_name: "FileChecksumCrc32c".to_owned(), value: crc32c(&bytes).to_be_bytes().to_vec() }
}

/// Every table and blob file has the checksum of its bytes; so many there are of both.
fn check(files: &dyn FileSystem, db: &Db, what: &str) -> (usize, usize) {
    let list = LiveFilesStorageOptions { wal_size_for_flush: u64::MAX, include_checksum_info: true };
    let mut counts = (0, 0);
    for file in db.live_files_storage_info(&list).unwrap() {
        let told = (&file.file_checksum_func_name[..], &file.file_checksum[..]);
        match file.kind {
            FileKind::Table => counts.0 += 1,
            FileKind::Blob => counts.1 += 1,
            _ => {
                assert_eq!(told, ("", &[][..]), "{what}: {}", file.relative_filename);
                continue;
            }
        }
        let expected = crc_of(files, &file.path());
        let expected = (&expected.function_name[..], &expected.value[..]);
        assert_eq!(told, expected, "{what}: {}", file.relative_filename);
    }
    for file in db.live_files() {
        let expected = crc_of(files, &file.directory.join(file.name()));
        assert_eq!((file.file_checksum_function_name, file.file_checksum), (expected.function_name, expected.value));
    }
    db.verify_file_checksums(&ReadOptions::default()).unwrap();
    counts
}

#[test]
fn every_file_that_is_written_has_its_checksum() {
    // By `file_checksum_gen_factory`.
    let files = MemoryFileSystem::new();
    let db = open(&files, with_blobs());
    fill(&db, 0..500, 1);
    assert_eq!(check(&files, &db, "flush"), (1, 1));
    fill(&db, 200..700, 2);
    db.put(b"in the log", &[3; 300]).unwrap();
    let force = CompactRangeOptions {
        bottommost_level_compaction: ferrock::options::BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compact_range_cf(&db.default_column_family().unwrap(), None, None, &force).unwrap();
    let (tables, blobs) = check(&files, &db, "compaction");
    assert!(tables >= 1 && blobs >= 1);
    let before = contents(&db, &ReadOptions::default());
    db.close().unwrap();
    // A crash: the log becomes a table.
    let crashed = files.crash_clone(CrashPolicy::KeepAll);
    let db = open(&crashed, with_blobs());
    db.put(b"in the log", b"again").unwrap();
    drop(db);
    let db = open(&crashed, with_blobs());
    check(&crashed, &db, "recovery");
    assert_eq!(contents(&db, &ReadOptions::default()).len(), before.len());
    drop(db);
    // The OPTIONS file keeps the factory.
    let mut base = DbOptions::default();
    base.components.file_system = Some(Arc::new(crashed.clone()));
    let (db, ..) = Db::open_with_latest_options(PATH, base).unwrap();
    fill(&db, 0..100, 9);
    check(&crashed, &db, "options of the file");
}

#[test]
fn values_that_are_written_at_once_are_in_files_with_checksums() {
    let files = MemoryFileSystem::new();
    let mut family = with_blobs();
    family.enable_blob_direct_write = true;
    family.blob_file_size = 20_000;
    let options = |files: &MemoryFileSystem| {
        let mut options = with_checksums(Arc::new(files.clone()));
        options.allow_concurrent_memtable_write = false;
        options
    };
    let db = open_as(options(&files), family.clone());
    for number in 0..500 {
        db.put(&key(number), &[number as u8; 150]).unwrap();
    }
    let crashed = files.crash_clone(CrashPolicy::KeepAll);
    db.flush().unwrap();
    let (_, blobs) = check(&files, &db, "direct writes");
    assert!(blobs > 2, "{blobs}");
    // The writer of the last file was cut off.
    let db = open_as(options(&crashed), family);
    let (tables, blobs) = check(&crashed, &db, "files that were cut off");
    assert!(tables == 1 && blobs > 2, "{tables} {blobs}");
    assert_eq!(contents(&db, &ReadOptions::default()).len(), 500);
}

#[test]
fn a_blob_file_that_failed_and_is_copied_has_the_checksum_of_its_copy() {
    let memory = MemoryFileSystem::new();
    let files = FaultInjectionFileSystem::new(Arc::new(memory.clone()));
    let mut family = with_blobs();
    family.enable_blob_direct_write = true;
    let mut options = with_checksums(Arc::new(files.clone()));
    options.allow_concurrent_memtable_write = false;
    let db = open_as(options, family);
    (0..50).for_each(|number| db.put(&key(number), &[1; 150]).unwrap());
    files.add_rule(FaultRule::new(OperationKind::Append, "*.blob", Fault::Io).when(Trigger::Nth(1)));
    assert!(db.put(b"lost", &[2; 150]).is_err());
    files.clear_rules();
    db.resume().unwrap();
    db.flush().unwrap();
    check(&memory, &db, "a copy");
    assert_eq!(db.get(&key(7)).unwrap().as_deref(), Some(&[1; 150][..]));
}

#[test]
fn a_table_that_is_copied_for_its_temperature_keeps_its_checksum() {
    let files = MemoryFileSystem::new();
    let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
    let mut options = with_checksums(Arc::new(files.clone()));
    options.components.clock = Some(Arc::clone(&clock) as _);
    let mut family = ColumnFamilyOptions::default();
    family.compaction_style = CompactionStyle::Fifo;
    family.num_levels = 1;
    family.compaction_options_fifo.allow_trivial_copy_when_change_temperature = true;
    family.compaction_options_fifo.file_temperature_age_thresholds =
        vec![FileTemperatureAge { temperature: Temperature::Cold, age: 100 }];
    let db = open_as(options, family);
    fill(&db, 0..100, 1);
    clock.advance(std::time::Duration::from_secs(1000));
    fill(&db, 100..200, 1);
    common::threads::wait_until("a table is cold", || {
        db.live_files().iter().any(|file| file.temperature == Temperature::Cold)
    });
    check(&files, &db, "a copy");
}

#[test]
fn a_file_that_changed_is_found() {
    let files = MemoryFileSystem::new();
    let db = open(&files, with_blobs());
    fill(&db, 0..100, 1);
    let list = LiveFilesStorageOptions { wal_size_for_flush: u64::MAX, include_checksum_info: true };
    for file in db.live_files_storage_info(&list).unwrap() {
        if !matches!(file.kind, FileKind::Table | FileKind::Blob) {
            continue;
        }
        let whole = read_file(&files, &file.path()).unwrap();
        let mut changed = whole.clone();
        *changed.last_mut().unwrap() ^= 1;
        write_file_synced(&files, &file.path(), &changed).unwrap();
        let error = db.verify_file_checksums(&ReadOptions::default()).unwrap_err();
        let hex =
            |bytes: &[u8]| crc32c(bytes).to_be_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{text}");
        for part in [&file.relative_filename[..], "FileChecksumCrc32c", &hex(&whole), &hex(&changed)] {
            assert!(text.contains(part), "{part}: {text}");
        }
        write_file_synced(&files, &file.path(), &whole).unwrap();
        db.verify_file_checksums(&ReadOptions::default()).unwrap();
    }
    let read = ReadOptions { deadline: std::time::Duration::from_secs(1), ..ReadOptions::default() };
    assert_eq!(db.verify_file_checksums(&read).unwrap_err().kind(), ErrorKind::TimedOut);
}

#[test]
fn files_without_a_checksum_are_passed_over_and_no_factory_is_an_error() {
    let files = MemoryFileSystem::new();
    let db = open_as(options_on(Arc::new(files.clone())), manual());
    fill(&db, 0..100, 1);
    let error = db.verify_file_checksums(&ReadOptions::default()).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("file_checksum_gen_factory"));
    assert_eq!(db.live_files()[0].file_checksum_function_name, "");
    drop(db);
    let db = open(&files, manual());
    fill(&db, 100..200, 2);
    db.verify_file_checksums(&ReadOptions::default()).unwrap();
    let functions: Vec<String> = db.live_files().into_iter().map(|file| file.file_checksum_function_name).collect();
    assert_eq!(functions, ["FileChecksumCrc32c", ""]);
}

/// The sum of all bytes.
struct Sum(u64);

impl FileChecksumGenerator for Sum {
    fn name(&self) -> &str {
        "test.Sum"
    }
    fn update(&mut self, bytes: &[u8]) {
        self.0 += bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    }
    fn finish(&mut self) -> Vec<u8> {
        self.0.to_string().into_bytes()
    }
}

struct Sums;

impl FileChecksumGenFactory for Sums {
    fn name(&self) -> &str {
        "test.Sums"
    }
    fn create(&self, context: &FileChecksumContext<'_>) -> Option<Box<dyn FileChecksumGenerator>> {
        context.requested_function.is_none_or(|name| name == "test.Sum").then(|| Box::new(Sum(0)) as _)
    }
}

#[test]
fn a_factory_of_the_caller_makes_checksums_of_its_own() {
    let files = MemoryFileSystem::new();
    let options = |factory: Arc<dyn FileChecksumGenFactory>| {
        let mut options = options_on(Arc::new(files.clone()));
        options.components.file_checksum_gen_factory = Some(factory);
        options
    };
    let options_text = || {
        let mut names = files.children(Path::new(PATH)).unwrap();
        names.retain(|name| name.starts_with("OPTIONS-"));
        names.sort();
        let path = Path::new(PATH).join(names.last().unwrap());
        String::from_utf8(read_file(&files, &path).unwrap()).unwrap()
    };
    drop(open_as(options_on(Arc::new(files.clone())), manual()));
    assert!(options_text().contains("\n  file_checksum_gen_factory=nullptr\n"), "{}", options_text());
    drop(open(&files, manual()));
    assert!(options_text().contains("\n  file_checksum_gen_factory=FileChecksumGenCrc32cFactory\n"));
    let db = open_as(options(Arc::new(Sums)), manual());
    assert!(options_text().contains("\n  file_checksum_gen_factory=test.Sums\n"));
    fill(&db, 0..100, 1);
    let file = &db.live_files()[0];
    let bytes = read_file(&files, &file.directory.join(file.name())).unwrap();
    let sum: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
    assert_eq!(
        (&file.file_checksum_function_name[..], &file.file_checksum[..]),
        ("test.Sum", sum.to_string().as_bytes())
    );
    db.verify_file_checksums(&ReadOptions::default()).unwrap();
    drop(db);
    // Another factory does not know the function.
    let db = open(&files, manual());
    let error = db.verify_file_checksums(&ReadOptions::default()).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("test.Sum"), "{error}");
    drop(db);
    // Its name in the OPTIONS file is kept, and said.
    drop(open_as(options(Arc::new(Sums)), manual()));
    let loaded = load_latest(&files, Path::new(PATH)).unwrap().unwrap();
    assert!(loaded.notes.iter().any(|note| note.contains("test.Sums is not built in")), "{:?}", loaded.notes);
    assert!(loaded.unknown.is_empty() && loaded.db.components.file_checksum_gen_factory.is_none());
    let mut base = DbOptions::default();
    base.components.file_system = Some(Arc::new(files.clone()));
    drop(Db::open_with_latest_options(PATH, base).unwrap());
    assert!(options_text().contains("\n  file_checksum_gen_factory=test.Sums\n"), "{}", options_text());
}

#[test]
fn outputs_are_compared_where_that_is_asked_for() {
    for (flags, is_found) in [(0, false), (4, false), (4 | 1 << 10, true)] {
        let files = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
        let mut family = manual();
        family.compression = ferrock::options::CompressionType::NoCompression;
        family.verify_output_flags = flags;
        let db = open_as(with_checksums(Arc::new(files.clone())), family);
        fill(&db, 0..1000, 1);
        fill(&db, 0..1000, 2);
        // A bit changes on its way to the file, within the data blocks, which are not read.
        files
            .add_rule(FaultRule::new(OperationKind::Append, "*.sst", Fault::BitFlip { seed: 1 }).when(Trigger::Nth(1)));
        let compacted = db.compact_range(None, None);
        match compacted {
            Ok(()) => assert!(!is_found, "{flags}"),
            Err(error) => {
                assert!(is_found && error.kind() == ErrorKind::Corruption, "{error}");
                assert!(error.to_string().contains("file checksum mismatch"), "{error}");
            }
        }
    }
}

fn external(files: &MemoryFileSystem, name: &str, factory: Option<Arc<dyn FileChecksumGenFactory>>) -> FileChecksum {
    files.create_dir_all(Path::new("/outside")).unwrap();
    let mut options = options_on(Arc::new(files.clone()));
    options.components.file_checksum_gen_factory = factory;
    let mut writer = SstFileWriter::new(&options, ColumnFamilyOptions::default());
    writer.open(Path::new("/outside").join(name)).unwrap();
    writer.put(name.as_bytes(), &[7; 1000]).unwrap();
    writer.finish().unwrap().file_checksum.unwrap_or(FileChecksum { function_name: String::new(), value: Vec::new() })
}

#[test]
fn a_checksum_that_is_given_is_compared_or_taken() {
    let files = MemoryFileSystem::new();
    let db = open(&files, manual());
    let family = db.default_column_family().unwrap();
    let ingest = |names: &[&str], sums: &[FileChecksum], verify_file_checksum: bool| {
        let paths: Vec<PathBuf> = names.iter().map(|name| Path::new("/outside").join(name)).collect();
        let options = IngestExternalFileOptions { verify_file_checksum, ..IngestExternalFileOptions::default() };
        let (family, file_checksums) = (family.clone(), sums.to_vec());
        db.ingest_external_files(&[IngestExternalFileArg { family, files: paths, options, file_checksums }])
    };
    let own = external(&files, "a", Some(Arc::new(Crc32cFactory)));
    assert_eq!(own, crc_of(&files, Path::new("/outside/a")), "what the writer tells");
    assert_eq!(external(&files, "b", None).value, b"");
    // Nothing is given: the file is read.
    ingest(&["b"], &[], true).unwrap();
    check(&files, &db, "nothing given");
    ingest(&["a"], std::slice::from_ref(&own), true).unwrap();
    check(&files, &db, "what the writer tells");

    let wrong = FileChecksum { value: vec![1, 2, 3, 4], ..own.clone() };
    let unknown = FileChecksum { function_name: "Md5".to_owned(), ..own.clone() };
    let crc_c = external(&files, "c", Some(Arc::new(Crc32cFactory)));
    external(&files, "d", None);
    let error = ingest(&["c"], std::slice::from_ref(&wrong), true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains("/outside/c") && error.to_string().contains("01020304"), "{error}");
    for (names, sums, verifies, part) in [
        (&["c"][..], &[unknown.clone()][..], true, "Md5"),
        (&["c"], &[unknown], false, "Md5"),
        (&["c", "d"], std::slice::from_ref(&crc_c), true, "1 file_checksums are given for 2 files"),
    ] {
        let error = ingest(names, sums, verifies).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains(part), "{error}");
    }
    assert_eq!(db.live_files().len(), 2);
    // It is taken as it is, and the comparison finds it out.
    ingest(&["c"], &[wrong], false).unwrap();
    let error = db.verify_file_checksums(&ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    // The number would be written behind the checksum.
    let options = IngestExternalFileOptions { write_global_seqno: true, ..IngestExternalFileOptions::default() };
    let error = db.ingest_external_file(&["/outside/d"], &options).unwrap_err();
    assert!(error.kind() == ErrorKind::NotSupported && error.to_string().contains("write_global_seqno"), "{error}");
    // A database that makes none.
    let other = Db::open("/other", options_on(Arc::new(files.clone()))).unwrap();
    let arg = IngestExternalFileArg {
        family: other.default_column_family().unwrap(),
        files: vec![PathBuf::from("/outside/d")],
        options: IngestExternalFileOptions::default(),
        file_checksums: vec![crc_c],
    };
    let error = other.ingest_external_files(&[arg]).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("file_checksum_gen_factory"));
}

#[test]
fn an_export_tells_checksums_and_an_import_compares_them() {
    let files = MemoryFileSystem::new();
    let db = open(&files, manual());
    fill(&db, 0..100, 1);
    let default = db.default_column_family().unwrap();
    let exported = Checkpoint::new(&db).export_column_family(&default, "/exported").unwrap();
    let path = exported.files[0].path.clone();
    assert_eq!(exported.files[0].checksum, Some(crc_of(&files, &path)));
    let import = |name: &str| {
        let (family, how) = (ColumnFamilyOptions::default(), ImportColumnFamilyOptions::default());
        db.create_column_family_with_import(name, family, &how, std::slice::from_ref(&exported))
    };
    import("good").unwrap();
    assert_eq!(check(&files, &db, "import"), (2, 0));
    let mut other = exported.clone();
    other.files[0].checksum.as_mut().unwrap().value = vec![0; 4];
    let (family, how) = (ColumnFamilyOptions::default(), ImportColumnFamilyOptions::default());
    let error = db.create_column_family_with_import("bad", family, &how, &[other]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(db.column_family("bad").is_none());
}

#[test]
fn a_checkpoint_has_the_checksums() {
    let files = MemoryFileSystem::new();
    let db = open(&files, with_blobs());
    fill(&db, 0..100, 1);
    Checkpoint::new(&db).create("/copy").unwrap();
    let copy =
        Db::open_cf("/copy", with_checksums(Arc::new(files.clone())), vec![("default".to_owned(), with_blobs())])
            .unwrap()
            .0;
    assert_eq!(check(&files, &copy, "a checkpoint"), (1, 1));
}

#[test]
fn a_backup_refuses_a_file_that_is_not_what_was_written() {
    let files = MemoryFileSystem::new();
    let db = open(&files, manual());
    fill(&db, 0..100, 1);
    let mut options = BackupEngineOptions::new("/backups");
    options.backup_file_system = Arc::new(files.clone());
    options.db_file_system = Arc::new(files.clone());
    let engine = BackupEngine::open(options).unwrap();
    let file = &db.live_files()[0];
    let path = file.directory.join(file.name());
    let whole = read_file(&files, &path).unwrap();
    let mut changed = whole.clone();
    changed[10] ^= 1;
    write_file_synced(&files, &path, &changed).unwrap();
    let error = engine.create_backup(&db, &CreateBackupOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    write_file_synced(&files, &path, &whole).unwrap();
    engine.create_backup(&db, &CreateBackupOptions::default()).unwrap();
}

#[test]
fn a_repair_gives_checksums() {
    let files = MemoryFileSystem::new();
    let db = open_as(options_on(Arc::new(files.clone())), with_blobs());
    fill(&db, 0..100, 1);
    db.put(b"in the log", b"value").unwrap();
    drop(db);
    for name in files.children(Path::new(PATH)).unwrap() {
        if name.starts_with("MANIFEST-") || name == "CURRENT" {
            files.remove_file(&Path::new(PATH).join(name)).unwrap();
        }
    }
    Repair::new(with_checksums(Arc::new(files.clone()))).run(PATH).unwrap();
    let surgery = Surgery::open_read_only(PATH, options_on(Arc::new(files.clone()))).unwrap();
    let families = surgery.files();
    assert!(families[0].tables.len() == 2 && families[0].blob_files.len() == 1, "{families:?}");
    for table in &families[0].tables {
        assert_eq!(table.checksum, Some(crc_of(&files, &table.path)));
    }
    for blob in &families[0].blob_files {
        assert_eq!(blob.checksum, Some(crc_of(&files, &blob.path)));
    }
    let db = open(&files, with_blobs());
    check(&files, &db, "repair");
    assert_eq!(contents(&db, &ReadOptions::default()).len(), 101);
}
