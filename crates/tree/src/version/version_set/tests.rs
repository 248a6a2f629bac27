use super::*;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::{ErrorKind, Result, Temperature, ValueType};
use ferrock_format::version_edit::{NewFile, WalAddition};
use ferrock_options::ColumnFamilyOptions;
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, MemoryFileSystem, OperationKind, Trigger, read_file, write_file_synced,
};
use std::fmt::Write;

mod followed;

const DB: &str = "/db";

fn options() -> Arc<ColumnFamilyOptions> {
    Arc::new(ColumnFamilyOptions::default())
}

fn families(names: &[&str]) -> Vec<FamilyToOpen> {
    names.iter().map(|&name| FamilyToOpen { name: name.to_owned(), options: options() }).collect()
}

fn open_with(
    file_system: &Arc<dyn FileSystem>,
    db_options: DbOptions,
    names: &[&str],
    mode: RecoverMode,
) -> Result<VersionSet> {
    VersionSet::recover(Arc::clone(file_system), Path::new(DB), Arc::new(db_options), &families(names), mode)
}

fn open(file_system: &Arc<dyn FileSystem>, names: &[&str]) -> Result<VersionSet> {
    open_with(file_system, DbOptions::default(), names, RecoverMode::ReadWrite)
}

fn size_limits(max_manifest_file_size: u64, max_manifest_space_amp_pct: i32) -> DbOptions {
    let settings =
        ferrock_options::DbSettings { max_manifest_file_size, max_manifest_space_amp_pct, ..Default::default() };
    DbOptions { settings, ..DbOptions::default() }
}

fn new_database() -> Arc<dyn FileSystem> {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    file_system.create_dir_all(Path::new(DB)).unwrap();
    VersionSet::create(
        &*file_system,
        Path::new(DB),
        Some("id-of-the-database"),
        SequenceNumber(0),
        Temperature::Unknown,
    )
    .unwrap();
    file_system
}

/// A database directory that holds nothing but a MANIFEST.
fn database_of(manifest: &[u8]) -> Arc<dyn FileSystem> {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    file_system.create_dir_all(Path::new(DB)).unwrap();
    write_file_synced(&*file_system, &Path::new(DB).join("MANIFEST-000005"), manifest).unwrap();
    write_file_synced(&*file_system, &Path::new(DB).join("CURRENT"), b"MANIFEST-000005\n").unwrap();
    file_system
}

fn new_file(version_set: &VersionSet, level: u32, keys: &str, sequence: u64) -> NewFile {
    let (smallest, largest) = keys.split_once("..").unwrap();
    NewFile {
        level,
        number: version_set.new_file_number(),
        size_bytes: 1000,
        smallest: make_internal_key(smallest.as_bytes(), SequenceNumber(sequence), ValueType::Value),
        largest: make_internal_key(largest.as_bytes(), SequenceNumber(sequence), ValueType::Value),
        smallest_seqno: SequenceNumber(sequence),
        largest_seqno: SequenceNumber(sequence),
        epoch_number: Some(version_set.new_epoch_number(0).unwrap()),
        unique_id: Some([1, 2]),
        ..NewFile::default()
    }
}

fn adding(id: u32, file: NewFile) -> VersionEdit {
    VersionEdit { new_files: vec![file], ..VersionEdit::for_column_family(id) }
}

/// Everything that a MANIFEST is about, as text.
fn describe(version_set: &VersionSet) -> String {
    let mut out = String::new();
    let scalars = (version_set.last_sequence().0, version_set.min_log_number_to_keep().0);
    writeln!(out, "sequence {} keep {} id {:?}", scalars.0, scalars.1, version_set.db_id()).unwrap();
    let wals = version_set.tracked_wals();
    if !wals.is_empty() {
        let wals: Vec<_> = wals.iter().map(|(number, size)| (number.0, *size)).collect();
        writeln!(out, "wals {wals:?}").unwrap();
    }
    for family in version_set.families() {
        writeln!(out, "family {} {} log {}", family.id, family.name, family.log_number.0).unwrap();
        for (_, file) in family.current.files() {
            writeln!(out, "  {file:?}").unwrap();
        }
    }
    out
}

#[test]
fn the_manifest_of_a_fresh_database_is_byte_for_byte_that_of_rocksdb() {
    let golden = include_bytes!("testdata/rocksdb-11.9-empty.manifest");
    let recovered = open(&database_of(golden), &["default"]).unwrap();
    let file_system = new_database();
    let version_set = open(&file_system, &["default"]).unwrap();
    version_set.set_db_id(recovered.db_id().unwrap());
    while version_set.next_file_number() < FileNumber(5) {
        version_set.new_file_number();
    }
    version_set.log_and_apply(vec![VersionEdit::new()]).unwrap();
    assert_eq!(version_set.manifest_number(), FileNumber(5));
    let written = read_file(&*file_system, &version_set.manifest_path()).unwrap();
    assert_eq!(written.escape_ascii().to_string(), golden.escape_ascii().to_string());
    assert_eq!(read_file(&*file_system, &Path::new(DB).join("CURRENT")).unwrap(), b"MANIFEST-000005\n");
}

#[test]
fn real_manifests_are_recovered_and_survive_being_written_anew() {
    let cases: [(&[u8], usize); 3] = [
        (include_bytes!("testdata/rocksdb-11.9-column-families.manifest"), 2),
        (include_bytes!("testdata/rocksdb-7.8-column-families.manifest"), 2),
        (include_bytes!("testdata/rocksdb-11.9-wal-tracked.manifest"), 0),
    ];
    for (manifest, min_files) in cases {
        let file_system = database_of(manifest);
        let listed = list_column_families(&*file_system, Path::new(DB)).unwrap();
        let to_open: Vec<FamilyToOpen> = listed
            .into_iter()
            .map(|(_, name, comparator)| {
                let comparator = ferrock_base::Comparator::built_in(&comparator.unwrap()).unwrap();
                let options = ColumnFamilyOptions { comparator, ..ColumnFamilyOptions::default() };
                FamilyToOpen { name, options: Arc::new(options) }
            })
            .collect();
        let open = || {
            let db_options = Arc::new(DbOptions::default());
            VersionSet::recover(Arc::clone(&file_system), Path::new(DB), db_options, &to_open, RecoverMode::ReadWrite)
        };
        let version_set = open().unwrap();
        let before = describe(&version_set);
        let files: usize = version_set.families().iter().map(|family| family.current.num_files()).sum();
        assert!(files >= min_files, "{before}");
        version_set.log_and_apply(vec![VersionEdit::new()]).unwrap();
        assert_ne!(version_set.manifest_number(), FileNumber(5));
        assert_eq!(describe(&open().unwrap()), before);
    }
}

#[test]
fn changes_survive_reopening() {
    let file_system = new_database();
    let version_set = open(&file_system, &["default"]).unwrap();
    let first = new_file(&version_set, 0, "a..m", 5);
    let mut flush = adding(0, first.clone());
    flush.log_number = Some(FileNumber(7));
    let keep = VersionEdit { min_log_number_to_keep: Some(FileNumber(7)), ..VersionEdit::default() };
    version_set.log_and_apply(vec![flush, keep]).unwrap();
    let id = version_set.create_column_family("other", options(), FileNumber(7)).unwrap();
    let mut moving = adding(0, NewFile { level: 6, ..first.clone() });
    moving.delete_file(0, first.number);
    version_set.log_and_apply(vec![moving]).unwrap();
    let second = new_file(&version_set, 0, "b..c", 9);
    version_set.log_and_apply(vec![adding(id, second.clone())]).unwrap();

    assert_eq!(version_set.current(0).unwrap().level(6)[0].recorded(), &NewFile { level: 6, ..first });
    assert_eq!(version_set.last_sequence(), SequenceNumber(9));
    let before = describe(&version_set);
    let next = version_set.next_file_number();
    let reopened = open(&file_system, &["default", "other"]).unwrap();
    assert_eq!(describe(&reopened), before);
    assert!(reopened.next_file_number() >= next);
    assert!(reopened.new_epoch_number(id).unwrap() > second.epoch_number.unwrap());
    // Once more through a new MANIFEST, then through the appended one.
    reopened.log_and_apply(vec![VersionEdit::new()]).unwrap();
    reopened.log_and_apply(vec![VersionEdit::new()]).unwrap();
    assert_eq!(describe(&open(&file_system, &["other", "default"]).unwrap()), before);
}

#[test]
fn families_come_and_go_and_ids_stay_unique() {
    let file_system = new_database();
    let version_set = open(&file_system, &["default"]).unwrap();
    let one = version_set.create_column_family("one", options(), FileNumber(0)).unwrap();
    assert_eq!(
        version_set.create_column_family("one", options(), FileNumber(0)).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        version_set.create_column_family("", options(), FileNumber(0)).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    let file = new_file(&version_set, 0, "a..b", 1);
    version_set.log_and_apply(vec![adding(one, file.clone())]).unwrap();
    let reader = version_set.current(one).unwrap();
    version_set.drop_column_family(one, LogRelease::default()).unwrap();
    assert_eq!(
        version_set.drop_column_family(0, LogRelease::default()).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        version_set.drop_column_family(one, LogRelease::default()).unwrap_err().kind(),
        ErrorKind::ColumnFamilyDropped
    );
    let late = adding(one, new_file(&version_set, 0, "c..d", 1));
    assert_eq!(version_set.log_and_apply(vec![late]).unwrap_err().kind(), ErrorKind::ColumnFamilyDropped);

    let live = version_set.live_files();
    assert!(live.tables.contains(&file.number) && live.zombie_tables.get(&file.number) == Some(&file.size_bytes));
    drop(reader);
    assert!(!version_set.live_files().tables.contains(&file.number));

    let reopened = open(&file_system, &["default"]).unwrap();
    assert_eq!(reopened.create_column_family("one", options(), FileNumber(0)).unwrap(), one + 1);
    let error = open(&file_system, &["default"]).unwrap_err();
    assert!(error.message().contains("Column families not opened: one"), "{error}");
    // "one" needs logs from 3 on, the default family from 9 on.
    let logs = |id, number| VersionEdit { log_number: Some(FileNumber(number)), ..VersionEdit::for_column_family(id) };
    reopened.log_and_apply(vec![logs(one + 1, 3), logs(0, 9)]).unwrap();
    let partly = open_with(&file_system, DbOptions::default(), &["default"], RecoverMode::ReadOnly).unwrap();
    assert_eq!(partly.families().len(), 1);
    assert_eq!(partly.oldest_needed_log(), FileNumber(3), "a family that is not open counts");
    assert_eq!(partly.log_and_apply(vec![VersionEdit::new()]).unwrap_err().kind(), ErrorKind::NotSupported);
    assert!(open(&file_system, &["one"]).unwrap_err().message().contains("default"));
}

/// A MANIFEST with an atomic group over two families in its middle, and the states after each of its records.
fn manifest_with_states() -> (Vec<u8>, Vec<String>) {
    let file_system = new_database();
    let version_set = open(&file_system, &["default"]).unwrap();
    let id = version_set.create_column_family("other", options(), FileNumber(0)).unwrap();
    let mut states = vec![describe(&version_set)];
    let first = new_file(&version_set, 0, "a..m", 5);
    let steps = [
        vec![adding(0, first)],
        vec![adding(0, new_file(&version_set, 0, "b..n", 8)), adding(id, new_file(&version_set, 0, "c..d", 9))],
        vec![adding(id, new_file(&version_set, 2, "e..f", 3))],
    ];
    for edits in steps {
        version_set.log_and_apply_atomic(edits).unwrap();
        states.push(describe(&version_set));
    }
    (read_file(&*file_system, &version_set.manifest_path()).unwrap(), states)
}

const BOTH: &[&str] = &["default", "other"];

#[test]
fn a_manifest_cut_anywhere_holds_a_prefix_of_its_changes() {
    let (manifest, states) = manifest_with_states();
    let mut reached = 0;
    for length in 0..=manifest.len() {
        match open(&database_of(&manifest[..length]), BOTH) {
            Ok(version_set) => {
                let state = describe(&version_set);
                if let Some(index) = states.iter().position(|known| *known == state) {
                    assert!(index >= reached, "more of the file gave less");
                    reached = index;
                } else {
                    // Before the records of the first state were complete.
                    assert_eq!(reached, 0, "cut at {length}: {state}");
                }
            }
            Err(error) => assert!(reached == 0, "cut at {length}: {error}"),
        }
    }
    assert_eq!(reached, states.len() - 1);
}

#[test]
fn a_manifest_with_any_byte_changed_is_refused_or_cut() {
    let (manifest, states) = manifest_with_states();
    let mut refused = 0;
    for position in 0..manifest.len() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut damaged = manifest.clone();
            damaged[position] ^= flip;
            match open(&database_of(&damaged), BOTH) {
                Ok(version_set) => {
                    let state = describe(&version_set);
                    assert!(states.contains(&state), "byte {position} ^ {flip:#x} gave\n{state}");
                }
                Err(error) => {
                    refused += 1;
                    let place = error.file().map(|file| file.to_string_lossy().into_owned());
                    let names_file = place.is_some_and(|place| place.contains("MANIFEST-000005"));
                    assert!(names_file || error.kind() == ErrorKind::InvalidArgument, "byte {position}: {error}");
                }
            }
        }
    }
    assert!(refused > manifest.len(), "most flips are noticed: {refused} of {}", manifest.len() * 3);
}

#[test]
fn records_that_must_not_be_are_refused() {
    let base = VersionEdit {
        log_number: Some(FileNumber(0)),
        next_file_number: Some(FileNumber(9)),
        last_sequence: Some(SequenceNumber(0)),
        ..VersionEdit::default()
    };
    let manifest_of = |edits: &[VersionEdit]| {
        let mut log = ferrock_format::log::LogWriter::new(FileNumber(0), ferrock_format::log::HeaderFamily::Legacy);
        let mut out = Vec::new();
        for edit in edits {
            log.encode_record(&[&edit.encode()], &mut out);
        }
        out
    };
    let refuse = |edits: &[VersionEdit], message: &str| {
        let error = open(&database_of(&manifest_of(edits)), &["default"]).unwrap_err();
        assert!(error.to_string().contains(message), "{error} does not say {message}");
        assert!(error.to_string().contains("MANIFEST-000005"), "{error}");
    };
    assert!(open(&database_of(&manifest_of(std::slice::from_ref(&base))), &["default"]).is_ok());
    refuse(&[], "no meta-nextfile entry");
    refuse(&[VersionEdit { next_file_number: None, ..base.clone() }], "no meta-nextfile entry");
    refuse(&[VersionEdit { last_sequence: None, ..base.clone() }], "no last-sequence-number entry");
    refuse(&[VersionEdit { log_number: None, ..base.clone() }], "no log_file_number entry");
    refuse(&[base.clone(), VersionEdit::for_column_family(3)], "column family 3, which does not exist");
    refuse(
        &[VersionEdit { comparator: Some("mine".into()), ..base.clone() }],
        "does not match existing comparator mine",
    );
    refuse(&[VersionEdit { last_sequence: Some(SequenceNumber(1 << 56)), ..base.clone() }], "56 bits");
    refuse(&[VersionEdit { next_file_number: Some(FileNumber(u64::MAX)), ..base.clone() }], "not a file number");
    let add = VersionEdit {
        column_family_change: Some(ferrock_format::version_edit::ColumnFamilyChange::Add("x".into())),
        ..VersionEdit::for_column_family(2)
    };
    refuse(&[base.clone(), add.clone(), add.clone()], "added twice");
    refuse(&[base.clone(), VersionEdit { column_family: 0, ..add }], "added twice");
    let drop_edit = VersionEdit {
        column_family_change: Some(ferrock_format::version_edit::ColumnFamilyChange::Drop),
        ..VersionEdit::for_column_family(2)
    };
    refuse(&[base.clone(), drop_edit], "dropped, but does not exist");
    let table = |number: u64, keys: (&[u8], &[u8])| NewFile {
        level: 1,
        number: FileNumber(number),
        smallest: make_internal_key(keys.0, SequenceNumber(1), ValueType::Value),
        largest: make_internal_key(keys.1, SequenceNumber(1), ValueType::Value),
        ..NewFile::default()
    };
    let overlapping =
        VersionEdit { new_files: vec![table(4, (b"a", b"f")), table(5, (b"c", b"z"))], ..VersionEdit::default() };
    refuse(&[base, overlapping], "#000004 [a@1/1 .. f@1/1] epoch 1 and #000005 [c@1/1 .. z@1/1]");
}

#[test]
fn a_failed_write_leaves_everything_as_it_was_and_the_next_one_begins_anew() {
    for operation in [OperationKind::Append, OperationKind::Sync, OperationKind::Rename, OperationKind::SyncDir] {
        let fault_system = Arc::new(FaultInjectionFileSystem::new(new_database()));
        let file_system: Arc<dyn FileSystem> = Arc::clone(&fault_system) as _;
        // Every change begins a new MANIFEST, so that each operation of a switch can fail.
        let db_options = size_limits(1, 0);
        let version_set = open_with(&file_system, db_options, &["default"], RecoverMode::ReadWrite).unwrap();
        let first = new_file(&version_set, 0, "a..m", 5);
        version_set.log_and_apply(vec![adding(0, first)]).unwrap();
        let before = describe(&version_set);
        let manifest = version_set.manifest_number();

        fault_system.add_rule(FaultRule::new(operation, "*", Fault::Io).when(Trigger::Always));
        let second = new_file(&version_set, 0, "b..c", 5);
        let error = version_set.log_and_apply(vec![adding(0, second.clone())]).unwrap_err();
        assert!(error.message().contains("MANIFEST could not be written"), "{operation:?}: {error}");
        assert_eq!(describe(&version_set), before);
        assert_eq!(version_set.manifest_number(), manifest);
        assert!(version_set.live_files().tables.contains(&second.number), "the record may be on disk after all");

        fault_system.clear_rules();
        let third = new_file(&version_set, 0, "d..e", 5);
        version_set.log_and_apply(vec![adding(0, third)]).unwrap();
        assert!(!version_set.live_files().tables.contains(&second.number));
        assert_eq!(version_set.current(0).unwrap().level(0).len(), 2);
        assert_eq!(describe(&open(&file_system, &["default"]).unwrap()), describe(&version_set));
    }
}

#[test]
fn a_manifest_is_replaced_when_it_has_grown() {
    let file_system = new_database();
    let db_options = size_limits(1000, 100);
    let version_set = open_with(&file_system, db_options, &["default"], RecoverMode::ReadWrite).unwrap();
    let mut manifests = Vec::new();
    for sequence in 0..200 {
        let file = new_file(&version_set, 0, "a..b", sequence);
        version_set.log_and_apply(vec![adding(0, file)]).unwrap();
        manifests.push(version_set.manifest_number());
    }
    manifests.dedup();
    // 200 records of some 70 bytes: by the size limit alone there would be a dozen, by doubling there are few.
    assert!((3..=6).contains(&manifests.len()), "{manifests:?}");
    assert_eq!(describe(&open(&file_system, &["default"]).unwrap()), describe(&version_set));
}

#[test]
fn tracked_wals_are_kept_until_they_are_gone() {
    let file_system = new_database();
    let version_set = open(&file_system, &["default"]).unwrap();
    let wal = |number, size| WalAddition { log_number: FileNumber(number), synced_size_bytes: size };
    let tracking = VersionEdit { wal_additions: vec![wal(4, Some(100)), wal(6, None)], ..VersionEdit::default() };
    version_set.log_and_apply(vec![tracking]).unwrap();
    let reopened = open(&file_system, &["default"]).unwrap();
    assert_eq!(reopened.tracked_wals().len(), 2);
    let keep = VersionEdit { min_log_number_to_keep: Some(FileNumber(6)), ..VersionEdit::default() };
    reopened.log_and_apply(vec![keep]).unwrap();
    let again = open(&file_system, &["default"]).unwrap();
    assert_eq!(again.tracked_wals().into_keys().collect::<Vec<_>>(), [FileNumber(6)]);
    // What recovery does: the edit that adds the tables of a flushed log says that the log is not needed any more.
    let flushed =
        VersionEdit { min_log_number_to_keep: Some(FileNumber(7)), ..adding(0, new_file(&again, 0, "a..b", 10)) };
    again.log_and_apply(vec![flushed]).unwrap();
    let emptied = open(&file_system, &["default"]).unwrap();
    assert_eq!(emptied.tracked_wals().len(), 0, "RocksDB refuses a database whose tracked WAL is not there");
    assert_eq!(emptied.current(0).unwrap().level(0).len(), 1);
    // Synced while a flush made it needless: nothing will say again that it is gone.
    let late = VersionEdit { wal_additions: vec![wal(5, Some(9)), wal(8, Some(10))], ..VersionEdit::default() };
    emptied.log_and_apply(vec![late]).unwrap();
    for version_set in [&emptied, &open(&file_system, &["default"]).unwrap()] {
        assert_eq!(version_set.tracked_wals().into_keys().collect::<Vec<_>>(), [FileNumber(8)]);
    }
}

#[test]
fn options_take_effect_on_the_version() {
    let version_set = open(&new_database(), &["default"]).unwrap();
    let changed = ColumnFamilyOptions {
        settings: ferrock_options::ColumnFamilySettings {
            level_compaction_dynamic_level_bytes: false,
            max_bytes_for_level_base: 77,
            ..Default::default()
        },
        ..Default::default()
    };
    version_set.set_options(0, Arc::new(changed)).unwrap();
    let version = version_set.current(0).unwrap();
    assert_eq!((version.base_level(), version.targets().max_bytes(1)), (1, 77));
}

#[test]
fn a_record_that_was_not_written_vouches_for_no_sequence_numbers() {
    let files = new_database();
    let faults = FaultInjectionFileSystem::new(Arc::clone(&files));
    let faulty: Arc<dyn FileSystem> = Arc::new(faults.clone());
    let version_set = open(&faulty, &["default"]).unwrap();
    version_set.log_and_apply(vec![VersionEdit::for_column_family(0)]).unwrap();
    faults.add_rule(FaultRule::new(OperationKind::Append, "MANIFEST-*", Fault::NoSpace).when(Trigger::Nth(1)));
    let lost = VersionEdit { last_sequence: Some(SequenceNumber(100)), ..VersionEdit::for_column_family(0) };
    version_set.log_and_apply(vec![lost]).unwrap_err();
    faults.clear_rules();
    version_set.log_and_apply(vec![VersionEdit::for_column_family(0)]).unwrap();
    assert_eq!(version_set.last_sequence(), SequenceNumber(0));
    assert_eq!(open(&files, &["default"]).unwrap().last_sequence(), SequenceNumber(0));
}

#[derive(Debug, Default)]
struct Releases(std::sync::atomic::AtomicUsize);

impl ReleaseObserver for Releases {
    fn on_version_released(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn the_last_drop_of_a_version_tells_its_observer() {
    let file_system = new_database();
    let version_set = open(&file_system, &["default"]).unwrap();
    let releases = Arc::new(Releases::default());
    version_set.observe_releases(Arc::clone(&releases) as Arc<dyn ReleaseObserver>);
    let count = || releases.0.load(Ordering::SeqCst);
    let first = version_set.current(0).unwrap();
    version_set.log_and_apply(vec![adding(0, new_file(&version_set, 0, "a..b", 1))]).unwrap();
    assert_eq!(count(), 0, "a reader holds the first version");
    drop(first);
    assert_eq!(count(), 1);
    version_set.log_and_apply(vec![adding(0, new_file(&version_set, 0, "c..d", 1))]).unwrap();
    assert_eq!(count(), 2, "only the set held the second");
}

/// What is moved stays, what a reader holds waits, and where the option is 0 nothing is noted.
#[test]
fn tables_that_leave_the_tree_are_noted_for_the_cache() {
    let with = |uncache_aggressiveness| {
        let mut options = ColumnFamilyOptions::default();
        options.uncache_aggressiveness = uncache_aggressiveness;
        Arc::new(options)
    };
    let version_set = open(&new_database(), &["default"]).unwrap();
    let files: Vec<NewFile> =
        (0..4).map(|number| new_file(&version_set, 1, &format!("{number}a..{number}z"), 5 + number)).collect();
    version_set.log_and_apply(vec![VersionEdit { new_files: files.clone(), ..VersionEdit::default() }]).unwrap();
    let delete = |file: &NewFile| {
        let mut edit = VersionEdit::default();
        edit.delete_file(1, file.number);
        edit
    };
    let take = || {
        let (gone, live) = (version_set.take_gone_tables(), version_set.live_files().tables);
        let (held, free): (Vec<_>, Vec<_>) = gone.into_iter().partition(|table| live.contains(&table.number()));
        version_set.put_back_gone_tables(held);
        free.iter().map(GoneTable::number).collect::<Vec<_>>()
    };
    version_set.log_and_apply(vec![delete(&files[0])]).unwrap();
    assert_eq!(take(), [], "the option is 0");
    version_set.set_options(0, with(7)).unwrap();
    let reader = version_set.current(0).unwrap();
    let moved = VersionEdit { new_files: vec![NewFile { level: 2, ..files[1].clone() }], ..delete(&files[1]) };
    version_set.log_and_apply(vec![moved, delete(&files[2])]).unwrap();
    assert_eq!(take(), [], "a reader holds it");
    drop(reader);
    assert_eq!(take(), [files[2].number], "and not the one that was moved");
    assert_eq!(take(), [], "once");
    version_set.set_options(0, with(0)).unwrap();
    version_set.log_and_apply(vec![delete(&files[3])]).unwrap();
    assert_eq!(take(), []);
}
