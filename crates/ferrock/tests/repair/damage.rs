//! Every file, damaged in every way: the report names the file and what was done to it, and nothing else; the repair
//! keeps what the report said, and what it loses lies in the ranges that the report named.

use super::world::{PATH, World, assert_same, contents_at, db_options, descriptors, examine, filled, repair, use_it};
use ferrock::options::WalRecoveryMode;
use ferrock::repair::{Problem, Remedy, Repair, Report, Use};
use ferrock::{Db, DbOptions, ErrorKind, FileKind};
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Damage {
    Flip,
    Truncate,
    Remove,
    Swap,
}

pub(crate) const ALL: [Damage; 4] = [Damage::Flip, Damage::Truncate, Damage::Remove, Damage::Swap];

pub(crate) fn names_of(files: &MemoryFileSystem) -> Vec<String> {
    let mut names = files.children(Path::new(PATH)).unwrap();
    names.sort();
    names
}

fn write(files: &MemoryFileSystem, name: &str, bytes: &[u8]) {
    write_file_synced(files, &Path::new(PATH).join(name), bytes).unwrap();
}

/// Does it; false where it changed nothing.
pub(crate) fn inflict(
    files: &MemoryFileSystem,
    other: &MemoryFileSystem,
    name: &str,
    damage: Damage,
    random: &mut Random,
) -> bool {
    let path = Path::new(PATH).join(name);
    let mut bytes = read_file(files, &path).unwrap();
    match damage {
        Damage::Flip if bytes.is_empty() => return false,
        Damage::Flip => {
            let place = random.below(bytes.len() as u64) as usize;
            bytes[place] ^= 1 << random.below(8);
            write(files, name, &bytes);
        }
        Damage::Truncate if bytes.len() < 2 => return false,
        Damage::Truncate => {
            let length = random.below(bytes.len() as u64) as usize;
            write(files, name, &bytes[..length]);
        }
        Damage::Remove => files.remove_file(&path).unwrap(),
        Damage::Swap => match read_file(other, &path) {
            Ok(another) if another != bytes => write(files, name, &another),
            _ => return false,
        },
    }
    true
}

pub(crate) fn kind_of(name: &str) -> Option<FileKind> {
    ferrock_format::file_name::parse(name).map(|name| name.kind)
}

/// Files whose damage loses data, keeps a database from opening, or changes how it works.
pub(crate) fn is_judged(kind: FileKind) -> bool {
    use FileKind as Kind;
    matches!(
        kind,
        Kind::Current | Kind::Manifest | Kind::Identity | Kind::Options | Kind::Table | Kind::Blob | Kind::Log
    )
}

/// True for a row that a remedy may lose, as the report says.
pub(crate) fn may_be_lost(remedy: &Remedy, family: &str, key: &[u8]) -> bool {
    remedy.lost.iter().any(|range| {
        range.family.as_deref().is_none_or(|own| own == family)
            && range.from.as_deref().is_none_or(|from| from <= key)
            && range.to.as_deref().is_none_or(|to| key <= to)
    })
}

/// Differences between two worlds that no lost range explains.
fn unexplained(report: &Report, before: &World, after: &World) -> Vec<String> {
    let mut unexplained = Vec::new();
    for (family, rows) in before {
        let Some(now) = after.get(family) else {
            unexplained.push(format!("family {family} is gone"));
            continue;
        };
        let keys = rows.keys().chain(now.keys()).filter(|key| rows.get(*key) != now.get(*key));
        for key in keys.filter(|key| !may_be_lost(&report.repair, family, key)) {
            unexplained.push(format!("{family} {}", key.escape_ascii()));
        }
    }
    unexplained
}

#[test]
fn a_sound_database_is_told_to_be_sound_and_a_repair_loses_nothing() {
    for seed in 0..6 {
        let (files, before) = filled(seed);
        let operations = files.operation_count();
        let report = examine(&files);
        assert_eq!(files.operation_count(), operations, "an examination writes nothing");
        assert!(!report.is_damaged(), "{report:#?}");
        assert_eq!((report.repair.entries_lost, report.repair.lost.len()), (0, 0));
        assert!(report.point_in_time.is_possible && report.best_efforts.is_possible);
        let done = repair(&files).unwrap();
        assert_eq!(done.entries, report.repair.entries_kept, "seed {seed}");
        assert!(done.entries_from_logs > 0);
        assert_same(&contents_at(&files, PATH).unwrap(), &before, &format!("seed {seed}"));
        let again = examine(&files);
        assert!(!again.is_damaged(), "{again:#?}");
        assert_same(&use_it(&files, PATH), &before, &format!("seed {seed}, in use"));
    }
}

#[test]
fn damage_is_named_and_what_is_kept_is_what_was_said() {
    let (mut named, mut harmless) = (0, 0);
    for seed in 0..4 {
        let (template, before) = filled(seed);
        let (other, _) = filled(seed + 100);
        for name in names_of(&template) {
            let Some(kind) = kind_of(&name).filter(|kind| is_judged(*kind)) else { continue };
            for damage in ALL {
                for attempt in 0..3 {
                    let files = template.crash_clone(ferrock_vfs::CrashPolicy::KeepAll);
                    let mut random = Random::new(seed * 1000 + attempt);
                    if !inflict(&files, &other, &name, damage, &mut random) {
                        continue;
                    }
                    let what = format!("seed {seed}, {name}, {damage:?} {attempt}");
                    let was_needed = examine(&template).file(&name).is_some_and(|file| file.used == Use::Needed);
                    let report = examine(&files);
                    let file = report.file(&name);
                    let is_named = file.is_some_and(|file| !file.findings.is_empty()) || !report.findings.is_empty();
                    // A log that is gone leaves no trace; one of another database may look right; a bit of a name or
                    // in a place that nothing reads changes nothing.
                    // The end of a MANIFEST may be cut by a crash. The repair has to keep everything all the same.
                    let is_cut = kind == FileKind::Manifest && damage == Damage::Truncate;
                    // A text without a checksum may say something else now, and an older one may be left.
                    let is_text = kind == FileKind::Options;
                    let may_be_unnoticed =
                        !was_needed || kind == FileKind::Log || damage == Damage::Flip || is_cut || is_text;
                    assert!(is_named || may_be_unnoticed, "{what}: {report:#?}");
                    (named, harmless) = (named + u64::from(is_named), harmless + u64::from(!is_named));
                    let innocent = report
                        .files
                        .iter()
                        .filter(|file| file.is_damaged() && file.path != Path::new(PATH).join(&name));
                    let innocent: Vec<_> = innocent
                        .filter(|file| file.findings.iter().any(|finding| finding.problem != Problem::BrokenReferences))
                        .filter(|file| !(kind == FileKind::Current && file.kind == FileKind::Manifest))
                        .filter(|file| !(kind == FileKind::Manifest && file.kind == FileKind::Identity))
                        .collect();
                    assert!(innocent.is_empty() || !is_named || kind == FileKind::Log, "{what}: {innocent:#?}");
                    check_repair(&files, &report, &before, kind, damage, &what);
                }
            }
        }
    }
    assert!(named > 200 && harmless < named, "{named} of {} were named", named + harmless);
}

fn check_repair(files: &MemoryFileSystem, report: &Report, before: &World, kind: FileKind, damage: Damage, what: &str) {
    let done = repair(files).unwrap_or_else(|error| panic!("{what}: {error}\n{report:#?}"));
    // Where the MANIFEST is lost, what is there twice counts once.
    let is_merged = done.entries <= report.repair.entries_kept;
    assert!(is_merged, "{what}: {} entries, {:?}", done.entries, report.repair);
    if matches!(kind, FileKind::Table | FileKind::Blob | FileKind::Log) {
        assert_eq!(done.entries, report.repair.entries_kept, "{what}");
    }
    let after = contents_at(files, PATH).unwrap_or_else(|error| panic!("{what}: {error}\n{done:#?}"));
    let missing_log = kind == FileKind::Log && matches!(damage, Damage::Remove | Damage::Swap | Damage::Truncate);
    // What a damaged last record held cannot be told from what a crash has cut.
    let is_torn = report.files.iter().flat_map(|file| &file.findings).any(|found| found.problem == Problem::TornEnd);
    let missing_log = missing_log || (kind == FileKind::Log && is_torn);
    let unexplained = unexplained(report, before, &after);
    assert!(unexplained.is_empty() || missing_log, "{what}: {unexplained:?}\n{report:#?}\n{done:#?}");
    let again = examine(files);
    // A repair leaves OPTIONS to the next open, which writes a new one.
    let is_damaged = again.files.iter().any(|file| file.is_damaged() && file.kind != FileKind::Options);
    assert!(!is_damaged && again.findings.is_empty(), "{what}: {again:#?}");
    assert_same(&use_it(files, PATH), &after, what);
    assert!(kind != FileKind::Options || !examine(files).is_damaged(), "{what}");
}

#[test]
fn a_lost_manifest_costs_nothing() {
    for seed in 0..12 {
        let (files, before) = filled(seed);
        for name in names_of(&files) {
            if matches!(kind_of(&name), Some(FileKind::Manifest | FileKind::Current | FileKind::Options)) {
                files.remove_file(&Path::new(PATH).join(name)).unwrap();
            }
        }
        let report = examine(&files);
        assert!(report.is_damaged() && report.repair.entries_lost == 0, "{report:#?}");
        repair(&files).unwrap();
        assert_same(&contents_at(&files, PATH).unwrap(), &before, &format!("seed {seed}"));
        assert_same(&use_it(&files, PATH), &before, &format!("seed {seed}, in use"));
    }
}

#[test]
fn a_copy_leaves_the_source_as_it_is() {
    let (files, before) = filled(7);
    files.remove_file(&Path::new(PATH).join("CURRENT")).unwrap();
    let names = names_of(&files);
    let mut options = db_options(&files);
    options.create_if_missing = false;
    let done = Repair::new(options).into_copy("/data/copy").run(PATH).unwrap();
    assert!(done.moved.is_empty());
    assert_eq!(names_of(&files), names);
    assert_same(&use_it(&files, "/data/copy"), &before, "the copy");
    assert!(Db::list_column_families(PATH, &db_options(&files)).is_err(), "the source is as it was");
}

#[test]
fn what_is_replaced_is_in_lost() {
    let (files, _) = filled(3);
    let victim = names_of(&files).into_iter().find(|name| kind_of(name) == Some(FileKind::Table)).unwrap();
    let bytes = read_file(&files, &Path::new(PATH).join(&victim)).unwrap();
    let mut damaged = bytes;
    damaged[10] ^= 0xFF;
    write(&files, &victim, &damaged);
    let done = repair(&files).unwrap();
    assert!(done.moved.contains(&victim), "{:?}", done.moved);
    let lost = Path::new(PATH).join("lost");
    assert_eq!(read_file(&files, &lost.join(&victim)).unwrap(), damaged);
    for name in &done.moved {
        assert!(files.exists(&lost.join(name)).unwrap(), "{name}");
        assert!(!files.exists(&Path::new(PATH).join(name)).unwrap(), "{name}");
    }
}

/// Whatever lies in the files, nothing panics, and what is reported can be repaired or is refused.
#[test]
fn random_damage_never_panics() {
    let (template, _) = filled(11);
    let (other, _) = filled(12);
    let names: Vec<String> = names_of(&template).into_iter().filter(|name| kind_of(name).is_some()).collect();
    for seed in 0..150 {
        let files = template.crash_clone(ferrock_vfs::CrashPolicy::KeepAll);
        let mut random = Random::new(seed);
        for _ in 0..1 + random.below(6) {
            let name = &names[random.below(names.len() as u64) as usize];
            if files.exists(&Path::new(PATH).join(name)).unwrap() {
                let damage = ALL[random.below(4) as usize];
                inflict(&files, &other, name, damage, &mut random);
            }
        }
        let report = examine(&files);
        let done = repair(&files);
        if let Err(error) = &done {
            assert!(!report.repair.is_possible || error.kind() != ErrorKind::Corruption, "{seed}: {error}");
            continue;
        }
        use_it(&files, PATH);
    }
}

/// What the repair does not look at is lost, and what is another database's is not to be taken.
#[test]
fn places_that_would_have_to_be_guessed_are_refused() {
    let files = MemoryFileSystem::new();
    let mut elsewhere = db_options(&files);
    (elsewhere.create_if_missing, elsewhere.wal_dir) = (true, "/data/logs".to_owned());
    let db = Db::open(PATH, elsewhere.clone()).unwrap();
    db.put(b"key", b"value").unwrap();
    drop(db);
    let names = || (names_of(&files), files.children(Path::new("/data/logs")).unwrap());
    let before = names();
    let refused = |options: DbOptions, what: &str| {
        let error = Repair::new(options).run(PATH).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!((names_of(&files), names().1), before);
    };
    // A copy of this database would name the same directory.
    refused(db_options(&files), "/data/logs");
    let mut missing = db_options(&files);
    missing.wal_dir = "/data/not/mounted".to_owned();
    refused(missing, "/data/not/mounted");
    let report = Repair::new(elsewhere.clone()).run(PATH).unwrap();
    assert_eq!(report.entries_from_logs, 1);
    // The directory has no log now, as one that is not mounted.
    elsewhere.wal_recovery_mode = WalRecoveryMode::SkipAnyCorruptedRecords;
    let db = Db::open(PATH, elsewhere).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
}

/// No bit of a header ends a log without a word.
#[test]
fn a_changed_header_of_a_log_is_told_or_harmless() {
    let (template, before) = filled(3);
    let logs = names_of(&template).into_iter().filter(|name| kind_of(name) == Some(FileKind::Log));
    let log = logs.max_by_key(|name| read_file(&template, &Path::new(PATH).join(name)).unwrap().len()).unwrap();
    for bit in 0..88 {
        let files = template.crash_clone(ferrock_vfs::CrashPolicy::KeepAll);
        let mut bytes = read_file(&files, &Path::new(PATH).join(&log)).unwrap();
        bytes[bit / 8] ^= 1 << (bit % 8);
        write(&files, &log, &bytes);
        let report = examine(&files);
        repair(&files).unwrap();
        let after = contents_at(&files, PATH).unwrap();
        assert!(report.is_damaged() || after == before, "bit {bit} of the header of {log}");
        assert_eq!(unexplained(&report, &before, &after), [""; 0], "bit {bit} of the header of {log}");
    }
}

/// What a crash leaves of a flush or a compaction says nothing against the MANIFEST.
#[test]
fn an_unfinished_table_costs_nothing() {
    let (files, before) = filled(4);
    // A recovery that puts the logs into tables: the first log that is needed then has the next free number of before,
    // and is no file.
    let mut options = db_options(&files);
    options.avoid_flush_during_recovery = false;
    let (db, families) = Db::open_cf(PATH, options, descriptors()).unwrap();
    let files = files.crash_clone(ferrock_vfs::CrashPolicy::KeepAll);
    drop((db, families));
    let names = names_of(&files);
    let numbers = names.iter().filter_map(|name| ferrock_format::file_name::parse(name)).map(|name| name.number.0);
    let next = numbers.max().unwrap() + 500;
    let table = names.iter().find(|name| name.ends_with(".sst")).unwrap();
    let bytes = read_file(&files, &Path::new(PATH).join(table)).unwrap();
    for length in [bytes.len() / 2, bytes.len()] {
        let files = files.crash_clone(ferrock_vfs::CrashPolicy::KeepAll);
        write(&files, &format!("{next:06}.sst"), &bytes[..length]);
        let report = examine(&files);
        let manifest = report.files.iter().find(|file| file.kind == FileKind::Manifest).unwrap();
        assert!(manifest.findings.is_empty(), "{length} bytes: {manifest:#?}");
        repair(&files).unwrap();
        assert_same(&contents_at(&files, PATH).unwrap(), &before, &format!("{length} bytes"));
    }
}
