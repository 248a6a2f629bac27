//! Every file, damaged in every way; then each remedy that the report names is carried out on a copy. What it loses or
//! changes lies in the ranges that the report names, nothing appears that was never written, and what the report calls
//! impossible fails.

use super::damage::{ALL, Damage, inflict, is_judged, kind_of, may_be_lost, names_of};
use super::world::{Drawn, Obsolete, PATH, World, Written, db_options, descriptors, drawn, examine, repair};
use ferrock::repair::{Examination, Problem, Remedy, Report, Surgery, Use};
use ferrock::{ColumnFamily, Db, DbOptions, FileKind, ReadOptions};
use ferrock_base::random::Random;
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Repair,
    PointInTime,
    RemoveTables,
    BestEfforts,
}

const WAYS: [Way; 4] = [Way::Repair, Way::PointInTime, Way::RemoveTables, Way::BestEfforts];

impl Way {
    fn of(self, report: &Report) -> &Remedy {
        match self {
            Self::Repair => &report.repair,
            Self::PointInTime => &report.point_in_time,
            Self::RemoveTables => &report.remove_tables,
            Self::BestEfforts => &report.best_efforts,
        }
    }

    /// Carries it out: the database is open behind it.
    fn carry_out(self, files: &MemoryFileSystem, report: &Report) -> ferrock::Result<(Db, Vec<ColumnFamily>)> {
        let open = |options: DbOptions| {
            // The program knows its families where CURRENT does not tell them.
            let mut known = descriptors();
            if let Ok(names) = Db::list_column_families(PATH, &options) {
                known.retain(|(known, _)| names.contains(known));
            }
            Db::open_cf(PATH, options, known)
        };
        let mut options = db_options(files);
        match self {
            Self::PointInTime => {}
            Self::Repair => _ = repair(files)?,
            Self::RemoveTables => {
                let surgery = Surgery::open(PATH, db_options(files))?;
                let tables = report.files.iter().filter(|file| file.kind == FileKind::Table);
                for file in tables.filter(|file| file.used == Use::Needed && file.is_damaged()) {
                    surgery.remove_table(file.number)?;
                }
            }
            Self::BestEfforts => options.best_efforts_recovery = true,
        }
        open(options)
    }
}

/// A report in lines that can be read.
fn told(report: &Report) -> String {
    let mut lines = Vec::new();
    for file in report.files.iter().filter(|file| !file.findings.is_empty()) {
        lines.push(format!("{}, {}: {:?}", file.path.display(), file.used.name(), file.findings));
    }
    for way in WAYS {
        let Remedy { is_possible, note, entries_kept, entries_lost, lost } = way.of(report);
        lines.push(format!("{way:?} {is_possible}: {note}; {entries_kept} kept, {entries_lost} lost"));
        lines.extend(lost.iter().map(|range| format!("    {range}")));
    }
    lines.join("\n")
}

/// What a row is now; an error is told by its text.
type Row = Result<Option<Vec<u8>>, String>;

fn rows(db: &Db, families: &[ColumnFamily], written: &Written) -> BTreeMap<(String, Vec<u8>), Row> {
    let mut rows = BTreeMap::new();
    for family in families {
        for (name, key) in written.keys().filter(|(name, _)| name == family.name()) {
            let row = db.get_cf(family, &ReadOptions::default(), key);
            let row = row.map(|row| row.map(|value| value.to_vec())).map_err(|error| error.to_string());
            rows.insert((name.clone(), key.clone()), row);
        }
    }
    rows
}

/// What is not as the report says.
fn wrong(remedy: &Remedy, before: &World, written: &Written, now: &BTreeMap<(String, Vec<u8>), Row>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, ever) in written {
        let (family, key) = place;
        let expected = before.get(family).and_then(|rows| rows.get(key));
        let found = now.get(place).cloned().unwrap_or_else(|| Err("the family is gone".to_owned()));
        if found.as_ref().ok().map(Option::as_ref) != Some(expected) && !may_be_lost(remedy, family, key) {
            let found = found.as_ref().map(|row| row.as_ref().map(|value| value.escape_ascii().to_string()));
            wrong.push(format!("{family} {}: {found:?}", key.escape_ascii()));
        }
        if let Ok(Some(value)) = &found
            && !value.split(|byte| *byte == b',').all(|part| ever.contains(part))
        {
            wrong.push(format!("{family} {}: {} was never written", key.escape_ascii(), value.escape_ascii()));
        }
    }
    wrong
}

/// What no report can know: what a log held that is gone, is another one or was cut; what edits an intact MANIFEST had
/// behind its end.
fn cannot_be_known(kind: FileKind, damage: Damage, report: &Report) -> bool {
    let is_torn = report.files.iter().flat_map(|file| &file.findings).any(|found| found.problem == Problem::TornEnd);
    match kind {
        FileKind::Log => damage != Damage::Flip || is_torn,
        FileKind::Manifest => damage != Damage::Remove && !report.is_damaged(),
        _ => false,
    }
}

#[test]
fn every_remedy_loses_what_the_report_says() {
    let mut done: BTreeMap<(Way, bool), u64> = BTreeMap::new();
    let (mut lossless, mut partial) = (BTreeMap::<Way, u64>::new(), BTreeMap::<Way, u64>::new());
    for seed in 0..4 {
        let obsolete = if seed % 2 == 0 { Obsolete::Goes } else { Obsolete::Stays };
        let Drawn { files: template, world: before, written } = drawn(seed, obsolete);
        let other = drawn(seed + 100, obsolete).files;
        for name in names_of(&template) {
            let Some(kind) = kind_of(&name).filter(|kind| is_judged(*kind)) else { continue };
            for damage in ALL {
                for attempt in 0..2 {
                    let files = template.crash_clone(CrashPolicy::KeepAll);
                    if !inflict(&files, &other, &name, damage, &mut Random::new(seed * 1000 + attempt)) {
                        continue;
                    }
                    let report = examine(&files);
                    for way in WAYS {
                        let what = format!("seed {seed}, {name}, {damage:?} {attempt}, {way:?}");
                        let remedy = way.of(&report);
                        let copy = files.crash_clone(CrashPolicy::KeepAll);
                        let outcome = way.carry_out(&copy, &report);
                        *done.entry((way, remedy.is_possible)).or_default() += 1;
                        assert_eq!(
                            outcome.as_ref().err().is_none(),
                            remedy.is_possible,
                            "{what}: {:?} {}",
                            outcome.as_ref().err(),
                            told(&report)
                        );
                        let Ok((db, families)) = outcome else {
                            assert!(remedy.lost.is_empty() && remedy.entries_kept == 0, "{what}: {remedy:?}");
                            continue;
                        };
                        if cannot_be_known(kind, damage, &report) {
                            continue;
                        }
                        let now = rows(&db, &families, &written);
                        let wrong = wrong(remedy, &before, &written, &now);
                        assert!(wrong.is_empty(), "{what}: {wrong:#?}\n{}", told(&report));
                        let has_damaged =
                            report.files.iter().any(|file| file.kind == FileKind::Table && file.is_damaged());
                        if way == Way::BestEfforts && !has_damaged {
                            let entries: u64 = db.live_files().iter().map(|file| file.num_entries).sum();
                            assert_eq!(entries, remedy.entries_kept, "{what}: {remedy:?}");
                        }
                        let is_all = remedy.lost.iter().any(|range| range.from.is_none() && range.to.is_none());
                        *lossless.entry(way).or_default() += u64::from(remedy.lost.is_empty());
                        *partial.entry(way).or_default() += u64::from(!remedy.lost.is_empty() && !is_all);
                    }
                }
            }
        }
    }
    eprintln!("{done:?}\nlossless {lossless:?}\npartial {partial:?}");
    for way in WAYS {
        assert!(done[&(way, true)] > 100, "{done:?}");
        assert!(way == Way::Repair || done.get(&(way, false)).is_some_and(|count| *count > 40), "{done:?}");
        assert!(partial[&way] > 20, "{partial:?}");
    }
}

/// The directory of the logs is chosen as an open does it.
#[test]
fn logs_that_are_elsewhere_are_found_or_missed_as_by_an_open() {
    let files = MemoryFileSystem::new();
    let elsewhere = Path::new("/data/logs");
    let mut options = db_options(&files);
    (options.create_if_missing, options.wal_dir) = (true, elsewhere.display().to_string());
    options.avoid_flush_during_shutdown = true;
    let db = Db::open(PATH, options.clone()).unwrap();
    db.put(b"key", b"value").unwrap();
    db.sync_wal().unwrap();
    drop(db);
    // Whether the program names the directory, or the OPTIONS file alone.
    for options in [options, db_options(&files)] {
        let report = Examination::new(options.clone()).run(PATH).unwrap();
        assert!(report.point_in_time.is_possible && report.remove_tables.is_possible, "{}", told(&report));
        assert_eq!((report.point_in_time.entries_kept, report.point_in_time.lost.len()), (1, 0), "{}", told(&report));
        let copy = files.crash_clone(CrashPolicy::KeepAll);
        let (db, _) = Db::open_with_latest_options(PATH, db_options(&copy)).unwrap();
        assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    }
    // The directory is one that is not mounted.
    for name in files.children(elsewhere).unwrap() {
        files.remove_file(&elsewhere.join(name)).unwrap();
    }
    let report = Examination::new(db_options(&files)).run(PATH).unwrap();
    assert!(!report.point_in_time.is_possible, "{}", told(&report));
    assert!(report.point_in_time.note.contains("/data/logs"), "{}", told(&report));
    assert!(Db::open_with_latest_options(PATH, db_options(&files)).is_err());
}
