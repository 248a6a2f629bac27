//! Tables from outside where the MANIFEST is lost: how old their data is was in it alone. A repair does not guess.

use super::world::{PATH, db_options};
use ferrock::repair::{Examination, Repair};
use ferrock::{ColumnFamilyOptions, Db, ErrorKind, IngestExternalFileOptions, SstFileWriter};
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::path::{Path, PathBuf};

/// What else has keys between those of the ingested table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Beside {
    Nothing,
    Table,
    Log,
}

const OUTSIDE: &str = "/data/outside.sst";

/// A closed database that has ingested a table with the keys `b` to `d`, without its MANIFEST. Before it there was `c`
/// in a table, or after it in a log.
fn without_manifest(beside: Beside) -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.create_dir_all(Path::new("/data")).unwrap();
    let mut options = db_options(&files);
    (options.create_if_missing, options.avoid_flush_during_shutdown) = (true, true);
    let mut writer = SstFileWriter::new(&options, ColumnFamilyOptions::default());
    writer.open(OUTSIDE).unwrap();
    for key in [b"b", b"c", b"d"] {
        writer.put(key, b"ingested").unwrap();
    }
    writer.finish().unwrap();
    let db = Db::open(PATH, options).unwrap();
    db.put(b"a", b"own").unwrap();
    if beside == Beside::Table {
        db.put(b"c", b"before").unwrap();
    }
    db.flush().unwrap();
    db.ingest_external_file(&[OUTSIDE], &IngestExternalFileOptions::default()).unwrap();
    if beside == Beside::Log {
        db.put(b"c", b"behind").unwrap();
        db.sync_wal().unwrap();
    }
    drop(db);
    for name in files.children(Path::new(PATH)).unwrap() {
        if name.starts_with("MANIFEST") || name == "CURRENT" {
            files.remove_file(&Path::new(PATH).join(name)).unwrap();
        }
    }
    files
}

fn get(files: &MemoryFileSystem, key: &[u8]) -> Option<Vec<u8>> {
    Db::open(PATH, db_options(files)).unwrap().get(key).unwrap().map(|value| value.to_vec())
}

#[test]
fn a_table_whose_age_does_not_matter_is_kept() {
    let files = without_manifest(Beside::Nothing);
    let report = Examination::new(db_options(&files)).run(PATH).unwrap();
    assert!(report.repair.is_possible, "{}", report.repair.note);
    Repair::new(db_options(&files)).run(PATH).unwrap();
    assert_eq!(get(&files, b"c").as_deref(), Some(&b"ingested"[..]));
    assert_eq!(get(&files, b"a").as_deref(), Some(&b"own"[..]));
}

#[test]
fn a_table_whose_age_matters_is_refused_and_can_be_ingested_again() {
    for beside in [Beside::Table, Beside::Log] {
        let files = without_manifest(beside);
        let names = files.children(Path::new(PATH)).unwrap();
        let report = Examination::new(db_options(&files)).run(PATH).unwrap();
        assert!(!report.repair.is_possible && report.repair.note.contains("was ingested"), "{}", report.repair.note);
        let error = Repair::new(db_options(&files)).run(PATH).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{beside:?}: {error}");
        let place: PathBuf = error.file().unwrap().to_path_buf();
        let mut left = files.children(Path::new(PATH)).unwrap();
        left.retain(|name| name != "LOCK");
        assert!(left.iter().all(|name| names.contains(name)) && left.len() + 1 >= names.len(), "{left:?}, {names:?}");
        // What the error says to do.
        let bytes = read_file(&files, &place).unwrap();
        write_file_synced(&files, Path::new("/data/away.sst"), &bytes).unwrap();
        files.remove_file(&place).unwrap();
        let report = Examination::new(db_options(&files)).run(PATH).unwrap();
        assert!(report.repair.is_possible, "{beside:?}: {}", report.repair.note);
        Repair::new(db_options(&files)).run(PATH).unwrap();
        let expected = if beside == Beside::Table { &b"before"[..] } else { &b"behind"[..] };
        assert_eq!(get(&files, b"c").as_deref(), Some(expected));
        let db = Db::open(PATH, db_options(&files)).unwrap();
        db.ingest_external_file(&["/data/away.sst"], &IngestExternalFileOptions::default()).unwrap();
        assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"ingested"[..]), "{beside:?}");
        assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"own"[..]), "{beside:?}");
    }
}
