//! Tables from outside, written and taken in by both.
//!
//! ```text
//! turn 1..  Ferrock or RocksDB opens the directory and reads what the other left
//!           writes, deletes, merges, flushes, compacts; between them tables are ingested
//!           that either of them wrote: copied or moved, with the number in the file or not, beside a snapshot or not
//!           the family is exported, imported by either into a database of its own, and read there by both
//! ```
//!
//! What must be there is kept in a sorted map. Values are numbers of eight bytes, which the merge operator adds.

use crate::engine::Outcome;
use crate::random::Random;
use crate::seeds::Suite;
use ferrock::backup::Checkpoint;
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, Db, DbOptions, ExportImportFilesMetadata, ExportedFile,
    ImportColumnFamilyOptions, IngestExternalFileOptions, SequenceNumber, SstFileReader, SstFileWriter,
};
use ferrock_base::merge::UInt64Add;
use ferrock_c_library::{Database, ExportedTable, Functions, IngestHow, TableEntry};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const KEYS: usize = 200;
const TURNS: usize = 6;
const STEPS: usize = 60;
/// Of RocksDB, as its text of options; Ferrock's are the same.
const OPTIONS: &str = "create_if_missing=true;merge_operator=uint64add;write_buffer_size=64k;\
                       level0_file_num_compaction_trigger=3;max_bytes_for_level_base=8k;target_file_size_base=4k";

type Rows = BTreeMap<Vec<u8>, u64>;

/// How the cases are played and told of.
pub const SUITE: Suite =
    Suite { name: "ingestions", case: "ingestion-case", counted: "tables", means: "of both were taken in by both" };

fn text(error: ferrock::Error) -> String {
    format!("Ferrock: {error}")
}

fn key(number: usize) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

fn options() -> (DbOptions, ColumnFamilyOptions) {
    let mut db = DbOptions::default();
    db.create_if_missing = true;
    let mut family = ColumnFamilyOptions::default();
    family.merge_operator = Some(Arc::new(UInt64Add));
    family.write_buffer_size = 64 << 10;
    family.level0_file_num_compaction_trigger = 3;
    family.max_bytes_for_level_base = 8 << 10;
    family.target_file_size_base = 4 << 10;
    (db, family)
}

/// An open database of either.
enum Opened {
    Ferrock(Db),
    RocksDb(Database),
}

impl Opened {
    fn put(&self, key: &[u8], value: &[u8]) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => db.put(key, value).map_err(text),
            Self::RocksDb(db) => db.put(key, value, false),
        }
    }

    fn merge(&self, key: &[u8], operand: &[u8]) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => db.merge(key, operand).map_err(text),
            Self::RocksDb(db) => db.merge(key, operand),
        }
    }

    fn delete(&self, key: &[u8]) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => db.delete(key).map_err(text),
            Self::RocksDb(db) => db.delete(key),
        }
    }

    fn flush(&self) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => db.flush().map_err(text),
            Self::RocksDb(db) => db.flush(),
        }
    }

    fn compact(&self) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => db.compact_range(None, None).map_err(text),
            Self::RocksDb(db) => db.compact(),
        }
    }

    fn ingest(&self, paths: &[&Path], how: IngestHow, has_snapshot: bool) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => {
                let snapshot = has_snapshot.then(|| db.snapshot());
                let options = IngestExternalFileOptions {
                    move_files: how.move_files,
                    write_global_seqno: how.write_global_seqno,
                    verify_checksums_before_ingest: true,
                    ..IngestExternalFileOptions::default()
                };
                let result = db.ingest_external_file(paths, &options).map_err(text);
                drop(snapshot);
                result
            }
            Self::RocksDb(db) if has_snapshot => db.with_snapshot(|| db.ingest(paths, how)),
            Self::RocksDb(db) => db.ingest(paths, how),
        }
    }

    /// Exports the family. Returns what both can be told of it.
    fn export(&self, directory: &Path) -> Outcome<Vec<ExportedTable>> {
        match self {
            Self::Ferrock(db) => {
                let family = db.default_column_family().map_err(text)?;
                let exported = Checkpoint::new(db).export_column_family(&family, directory).map_err(text)?;
                Ok(exported.files.iter().map(told).collect())
            }
            Self::RocksDb(db) => db.export(directory).map_err(|error| format!("RocksDB exports: {error}")),
        }
    }

    fn rows(&self) -> Outcome<Rows> {
        match self {
            Self::Ferrock(db) => self.rows_of(Some(&db.default_column_family().map_err(text)?)),
            Self::RocksDb(_) => self.rows_of(None),
        }
    }

    /// Of a family of Ferrock, or of that with which RocksDB was opened.
    fn rows_of(&self, family: Option<&ColumnFamily>) -> Outcome<Rows> {
        let mut rows = Rows::new();
        let mut add = |key: &[u8], value: &[u8]| {
            let bytes = value.try_into().map_err(|_| format!("a value of {} bytes", value.len()))?;
            rows.insert(key.to_vec(), u64::from_le_bytes(bytes));
            Ok::<(), String>(())
        };
        match self {
            Self::Ferrock(db) => {
                let family = family.ok_or("no family is named")?;
                let mut iter = db.iter_cf(family, &ferrock::ReadOptions::default());
                iter.seek_to_first();
                while iter.valid() {
                    add(iter.key(), iter.value())?;
                    iter.next();
                }
                iter.status().map_err(text)?;
                db.verify_checksum().map_err(text)?;
            }
            Self::RocksDb(db) => {
                let mut iter = db.rows();
                iter.seek_to_first();
                while iter.valid() {
                    add(iter.key(), iter.value())?;
                    iter.next();
                }
                iter.status()?;
            }
        }
        Ok(rows)
    }

    fn close(self) -> Outcome<()> {
        match self {
            Self::Ferrock(db) => db.close().map_err(text),
            Self::RocksDb(db) => {
                drop(db);
                Ok(())
            }
        }
    }
}

/// What RocksDB's interface can be told of a table.
fn told(file: &ExportedFile) -> ExportedTable {
    ExportedTable {
        path: file.path.clone(),
        level: i32::try_from(file.level).unwrap_or(i32::MAX),
        size_bytes: usize::try_from(file.size_bytes).unwrap_or(usize::MAX),
        smallest_sequence: file.smallest_sequence.0,
        largest_sequence: file.largest_sequence.0,
    }
}

fn as_exported(table: &ExportedTable) -> ExportedFile {
    ExportedFile {
        path: table.path.clone(),
        level: usize::try_from(table.level).unwrap_or(usize::MAX),
        size_bytes: table.size_bytes as u64,
        smallest_sequence: SequenceNumber(table.smallest_sequence),
        largest_sequence: SequenceNumber(table.largest_sequence),
        ..ExportedFile::default()
    }
}

/// The family that is imported.
const IMPORTED: &str = "imported";

struct Case<'a> {
    random: Random,
    directory: &'a Path,
    functions: &'static Functions,
    rows: Rows,
    next_file: usize,
    tables: u64,
}

impl Case<'_> {
    fn open(&self, is_ferrock: bool) -> Outcome<Opened> {
        let path = self.directory.join("db");
        if is_ferrock {
            let (db, family) = options();
            let families = vec![("default".to_owned(), family)];
            return Db::open_cf(path, db, families).map(|(db, _)| Opened::Ferrock(db)).map_err(text);
        }
        Database::open(self.functions, &path, OPTIONS).map(Opened::RocksDb).map_err(|error| format!("RocksDB: {error}"))
    }

    fn check(&self, db: &Opened, when: &str) -> Outcome<()> {
        let found = db.rows()?;
        if found == self.rows {
            return Ok(());
        }
        let keys = found.keys().chain(self.rows.keys());
        let different =
            keys.into_iter().find(|key| found.get(*key) != self.rows.get(*key)).cloned().unwrap_or_default();
        let engine = if matches!(db, Opened::Ferrock(_)) { "Ferrock" } else { "RocksDB" };
        Err(format!(
            "{engine}, {when}: key {} is {:?}, not {:?}",
            different.escape_ascii(),
            found.get(&different),
            self.rows.get(&different)
        ))
    }

    fn entries(&mut self) -> Vec<TableEntry> {
        let (from, width) = (self.random.below(KEYS), 1 + self.random.below(40));
        let mut entries = Vec::new();
        for number in from..(from + width).min(KEYS) {
            let value = self.random.next().to_le_bytes().to_vec();
            entries.push(match self.random.below(5) {
                0 | 1 => TableEntry::Put(key(number), value),
                2 => TableEntry::Merge(key(number), value),
                3 => TableEntry::Delete(key(number)),
                _ => continue,
            });
        }
        if entries.is_empty() || self.random.below(3) == 0 {
            let from = self.random.below(KEYS);
            entries.push(TableEntry::DeleteRange(key(from), key(from + 1 + self.random.below(20))));
        }
        entries
    }

    fn apply(&mut self, entries: &[TableEntry]) {
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        for entry in entries {
            if let TableEntry::DeleteRange(begin, end) = entry {
                self.rows.retain(|key, _| key < begin || key >= end);
            }
        }
        for entry in entries {
            match entry {
                TableEntry::Put(key, value) => drop(self.rows.insert(key.clone(), number(value))),
                TableEntry::Merge(key, operand) => {
                    let value = self.rows.entry(key.clone()).or_default();
                    *value = value.wrapping_add(number(operand));
                }
                TableEntry::Delete(key) => drop(self.rows.remove(key)),
                TableEntry::DeleteRange(..) => {}
            }
        }
    }

    fn write_table(&self, db: &Opened, path: &Path, entries: &[TableEntry], is_ferrock: bool) -> Outcome<()> {
        let by_rocksdb = |db: &Database| db.write_table(path, entries).map_err(|error| format!("RocksDB: {error}"));
        if !is_ferrock {
            if let Opened::RocksDb(db) = db {
                return by_rocksdb(db);
            }
            // Its writer takes the options of a database.
            return by_rocksdb(&Database::open(self.functions, &self.directory.join("aside"), OPTIONS)?);
        }
        let (db, family) = options();
        let mut writer = SstFileWriter::new(&db, family.clone());
        writer.open(path).map_err(text)?;
        for entry in entries {
            match entry {
                TableEntry::Put(key, value) => writer.put(key, value),
                TableEntry::Merge(key, operand) => writer.merge(key, operand),
                TableEntry::Delete(key) => writer.delete(key),
                TableEntry::DeleteRange(begin, end) => writer.delete_range(begin, end),
            }
            .map_err(text)?;
        }
        writer.finish().map_err(text)?;
        SstFileReader::open(path, &db, family).and_then(|reader| reader.verify_checksum()).map_err(text)
    }

    fn ingest(&mut self, db: &Opened) -> Outcome<()> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for _ in 0..=self.random.below(3) {
            self.next_file += 1;
            let path = self.directory.join(format!("{}.sst", self.next_file));
            let (entries, is_ferrock) = (self.entries(), self.random.below(2) == 0);
            self.write_table(db, &path, &entries, is_ferrock)?;
            self.apply(&entries);
            paths.push(path);
        }
        let how = IngestHow { move_files: self.random.below(2) == 0, write_global_seqno: self.random.below(2) == 0 };
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        self.tables += paths.len() as u64;
        db.ingest(&paths, how, self.random.below(3) == 0)
    }

    /// Exports the family; either imports it into a new database, and both read that.
    fn export_and_import(&mut self, db: &Opened, turn: usize) -> Outcome<()> {
        let directory = self.directory.join(format!("export{turn}"));
        // A family without tables is none.
        db.put(&key(0), &1_u64.to_le_bytes())?;
        self.rows.insert(key(0), 1);
        let tables = db.export(&directory)?;
        self.tables += tables.len() as u64;
        let (path, by_ferrock) = (self.directory.join(format!("imported{turn}")), self.random.below(2) == 0);
        let (move_files, comparator) = (self.random.below(2) == 0, "leveldb.BytewiseComparator");
        if by_ferrock {
            let (db, family) = options();
            let db = Db::open_cf(&path, db, vec![("default".to_owned(), family.clone())]).map_err(text)?.0;
            let files = tables.iter().map(as_exported).collect();
            let exports = [ExportImportFilesMetadata { comparator_name: comparator.to_owned(), files }];
            let import = ImportColumnFamilyOptions { move_files };
            db.create_column_family_with_import(IMPORTED, family, &import, &exports).map_err(text)?;
            db.close().map_err(text)?;
        } else {
            let db = Database::open(self.functions, &path, OPTIONS)?;
            match db.import(IMPORTED, comparator, &tables, move_files) {
                // It opens the tables as if they had number 0, and those that have another one in them are refused.
                Err(error) if error.contains("have global seqno property") => return Ok(()),
                imported => imported.map_err(|error| format!("turn {turn}, RocksDB imports: {error}"))?,
            }
        }
        let by = if by_ferrock { "Ferrock" } else { "RocksDB" };
        for is_ferrock in [by_ferrock, !by_ferrock] {
            let found = self.imported_rows(&path, is_ferrock)?;
            if found != self.rows {
                let reader = if is_ferrock { "Ferrock" } else { "RocksDB" };
                return Err(format!("turn {turn}: {reader} reads other rows in the family that {by} imported"));
            }
        }
        Ok(())
    }

    fn imported_rows(&self, path: &Path, is_ferrock: bool) -> Outcome<Rows> {
        if !is_ferrock {
            let db = Database::open_family(self.functions, path, OPTIONS, IMPORTED);
            return Opened::RocksDb(db.map_err(|error| format!("RocksDB: {error}"))?).rows();
        }
        let (db, family) = options();
        let families = ["default", IMPORTED].map(|name| (name.to_owned(), family.clone())).to_vec();
        let (db, families) = Db::open_cf(path, db, families).map_err(text)?;
        Opened::Ferrock(db).rows_of(families.last())
    }

    fn turn(&mut self, turn: usize, is_ferrock: bool) -> Outcome<()> {
        let db = self.open(is_ferrock)?;
        self.check(&db, &format!("turn {turn}, opened"))?;
        for step in 0..STEPS {
            let number = self.random.below(KEYS);
            let value = self.random.next();
            match self.random.below(20) {
                0..=7 => {
                    db.put(&key(number), &value.to_le_bytes())?;
                    self.rows.insert(key(number), value);
                }
                8..=10 => {
                    db.merge(&key(number), &value.to_le_bytes())?;
                    let kept = self.rows.entry(key(number)).or_default();
                    *kept = kept.wrapping_add(value);
                }
                11 | 12 => {
                    db.delete(&key(number))?;
                    self.rows.remove(&key(number));
                }
                13 => db.flush()?,
                14 if step % 4 == 0 => db.compact()?,
                14 => {}
                _ => {
                    self.ingest(&db)?;
                    self.check(&db, &format!("turn {turn}, step {step}"))?;
                }
            }
        }
        self.check(&db, &format!("turn {turn}, at its end"))?;
        self.export_and_import(&db, turn)?;
        db.close()
    }
}

/// One seed, from the first write to the last comparison.
pub fn play(seed: u64, directory: &Path, library: &Path) -> Outcome<serde_json::Value> {
    let functions = Functions::load(library)?;
    let mut case = Case { random: Random::new(seed), directory, functions, rows: Rows::new(), next_file: 0, tables: 0 };
    for turn in 0..TURNS {
        case.turn(turn, (turn as u64 + seed).is_multiple_of(2))?;
    }
    for is_ferrock in [true, false] {
        let db = case.open(is_ferrock)?;
        case.check(&db, "at the end")?;
        db.close()?;
    }
    Ok(json!({ "tables": case.tables }))
}
