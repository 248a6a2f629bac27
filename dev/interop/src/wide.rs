//! Tables of wide partitions, written by Ferrock, read and rewritten by RocksDB, read by Ferrock again.
//!
//! ```text
//! Ferrock   ferrock::wide: rows, deletions of rows, ranges and partitions; flushes, a compaction; the log not flushed
//! RocksDB   opens by the OPTIONS file, unknown names refused: every key and value, both ways; writes; compacts all
//! Ferrock   the rows of the table by their tuples, those that RocksDB put included
//! ```
//!
//! What must be there is kept in a map of bytes, encoded here component by component.

use crate::c_engine::CEngine;
use crate::engine::{Database, Engine, IterHow, OpenMode, Outcome, Record, WriteHow};
use crate::random::Random;
use crate::seeds::Suite;
use crate::settings::Settings;
use ferrock::wide::{Batch, ColumnType, Schema, Table, Timestamp, Value};
use ferrock::{Db, DbOptions};
use ferrock_format::wide::{SCHEMA_KEY, begin_row, put_column};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

const FAMILY: &str = "wide";
const STEPS: u64 = 3000;
/// Of the value of a row.
const BODY: u32 = 1;
const SCORE: u32 = 200;

/// How the cases are played and told of.
pub const SUITE: Suite = Suite {
    name: "wide",
    case: "wide-case",
    counted: "rows",
    means: "of RocksDB are as Ferrock wrote them, and those of its tables",
};

/// Partitions of a fixed length, and such as end with a mark, both ways.
fn schema(seed: u64) -> Schema {
    let schema = match seed % 3 {
        0 => Schema::new().partition_by("p", ColumnType::U64),
        1 => Schema::new().partition_by("p", ColumnType::Text).partition_by_descending("q", ColumnType::U32),
        _ => Schema::new().partition_by_descending("p", ColumnType::Text),
    };
    let schema = match seed / 3 % 2 {
        0 => schema.clustered_by_descending("at", ColumnType::Timestamp),
        _ => schema.clustered_by("x", ColumnType::F64).clustered_by_descending("b", ColumnType::Bytes),
    };
    schema.column(BODY, "body", ColumnType::Bytes).column(SCORE, "score", ColumnType::F64)
}

fn value(random: &mut Random, column_type: ColumnType) -> Value {
    match column_type {
        ColumnType::U64 => Value::U64([0, 1, 2, 3, u64::MAX][random.below(5)]),
        ColumnType::U32 => Value::U32(random.below(2) as u32),
        ColumnType::Text => Value::Text(["", "a", "a\0", "ab", "é"][random.below(5)].to_owned()),
        ColumnType::F64 => Value::F64((random.below(40) as f64 - 20.0) / 4.0),
        ColumnType::Bytes => Value::Bytes((0..random.below(3)).map(|_| [0, 1, 0xff][random.below(3)]).collect()),
        _ => Value::Timestamp(Timestamp(random.below(400) as i64 - 200)),
    }
}

/// A table and what it must hold.
struct Case {
    random: Random,
    schema: Schema,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

fn text(error: ferrock::Error) -> String {
    format!("Ferrock: {error}")
}

impl Case {
    fn tuple(&mut self, is_partition: bool) -> Vec<Value> {
        let components = if is_partition { self.schema.partition() } else { self.schema.clustering() };
        components.iter().map(|column| value(&mut self.random, column.component.column_type)).collect()
    }

    fn bytes(&self, partition: &[Value], clustering: &[Value]) -> Outcome<Vec<u8>> {
        let mut key = Vec::new();
        let components = self.schema.partition().iter().chain(self.schema.clustering());
        for (column, value) in components.zip(partition.iter().chain(clustering)) {
            column.component.encode(value.as_ref(), &mut key).map_err(text)?;
        }
        Ok(key)
    }

    fn open(&self, directory: &Path) -> Outcome<(Db, Table)> {
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.create_missing_column_families = true;
        let mut family = self.schema.column_family_options();
        family.write_buffer_size = 64 << 10;
        family.target_file_size_base = 32 << 10;
        let families =
            vec![("default".to_owned(), ferrock::ColumnFamilyOptions::default()), (FAMILY.to_owned(), family)];
        let (db, families) = Db::open_cf(directory, options, families).map_err(text)?;
        let table = Table::open(&db, &families[1], self.schema.clone()).map_err(text)?;
        Ok((db, table))
    }

    fn write(&mut self, directory: &Path) -> Outcome<()> {
        let (db, table) = self.open(directory)?;
        self.rows.insert(
            SCHEMA_KEY.to_vec(),
            db.get_cf(table.family(), &ferrock::ReadOptions::default(), SCHEMA_KEY)
                .map_err(text)?
                .ok_or("no schema record")?
                .to_vec(),
        );
        for step in 0..STEPS {
            let (partition, clustering) = (self.tuple(true), self.tuple(false));
            let key = self.bytes(&partition, &clustering)?;
            match self.random.below(100) {
                0..=84 => {
                    let body = vec![self.random.next() as u8; self.random.below(300)];
                    let columns = [(BODY, (&body).into()), (SCORE, (step as f64).into())];
                    table.insert(&partition, &clustering, &columns).map_err(text)?;
                    let mut row = Vec::new();
                    begin_row(&mut row);
                    columns.into_iter().for_each(|(id, value)| put_column(&mut row, id, value));
                    self.rows.insert(key, row);
                }
                85..=96 => {
                    table.delete_row(&partition, &clustering).map_err(text)?;
                    self.rows.remove(&key);
                }
                97 | 98 => {
                    let mut batch = Batch::new();
                    batch.delete_rows(&table, &partition, &clustering..).map_err(text)?;
                    table.write(batch).map_err(text)?;
                    let prefix = self.bytes(&partition, &[])?;
                    self.rows.retain(|row, _| !row.starts_with(&prefix) || *row < key);
                }
                _ => {
                    table.delete_partition(&partition).map_err(text)?;
                    let prefix = self.bytes(&partition, &[])?;
                    self.rows.retain(|row, _| !row.starts_with(&prefix));
                }
            }
            if self.random.below(500) == 0 {
                db.flush().map_err(text)?;
            }
            if step == STEPS / 2 {
                let options = ferrock::CompactRangeOptions::default();
                db.compact_range_cf(table.family(), None, None, &options).map_err(text)?;
            }
        }
        drop(table);
        db.close().map_err(text)
    }

    /// Everything, both ways, and every key.
    fn compare(&self, db: &dyn Database, family: usize) -> Outcome<()> {
        let mut cursor = db.iterate(family, &IterHow::default())?;
        for is_forward in [true, false] {
            let mut seen = Vec::new();
            if is_forward {
                cursor.seek_to_first()
            } else {
                cursor.seek_to_last()
            }
            while cursor.valid() {
                seen.push((cursor.key().to_vec(), cursor.value().to_vec()));
                if is_forward { cursor.next() } else { cursor.prev() }
            }
            cursor.status()?;
            if !is_forward {
                seen.reverse();
            }
            if !seen.iter().map(|(key, value)| (key, value)).eq(self.rows.iter()) {
                return Err(format!("a scan (forward: {is_forward}) has {} of {} keys", seen.len(), self.rows.len()));
            }
        }
        for (key, value) in &self.rows {
            if db.get(family, key, None)?.as_ref() != Some(value) {
                return Err(format!("get {}", key.escape_ascii()));
            }
        }
        db.verify_checksum().map(drop)
    }

    /// RocksDB's part.
    fn by_rocksdb(&mut self, directory: &Path, library: &Path) -> Outcome<()> {
        let engine = CEngine::load(library)?;
        for mode in [OpenMode::ReadOnly, OpenMode::ReadWrite] {
            let said = |error: String| format!("RocksDB, {mode:?}: {error}");
            let mut db = engine.open(directory, mode, &Settings::default()).map_err(said)?;
            let family = db.family(FAMILY).ok_or("the family is gone")?;
            self.compare(&*db, family).map_err(said)?;
            if mode == OpenMode::ReadWrite {
                // A row more, as bytes; then every table is RocksDB's.
                let (partition, clustering) = (self.tuple(true), self.tuple(false));
                let (key, mut row) = (self.bytes(&partition, &clustering)?, Vec::new());
                begin_row(&mut row);
                put_column(&mut row, SCORE, 0.5.into());
                self.rows.insert(key.clone(), row.clone());
                db.write(&[Record::Put(family, key, row)], WriteHow::default()).map_err(said)?;
                db.flush(family).map_err(said)?;
                db.compact(family, None, None, true).map_err(said)?;
                self.compare(&*db, family).map_err(said)?;
            }
            db.close()?;
        }
        Ok(())
    }

    /// The rows of the table, by partitions.
    fn by_ferrock(&self, directory: &Path) -> Outcome<()> {
        let (db, table) = self.open(directory)?;
        let (mut rows, mut partitions) = (0, Vec::<Vec<Value>>::new());
        for row in table.scan().iter().map_err(text)? {
            let partition = row.map_err(text)?.partition().map_err(text)?;
            rows += 1;
            if partitions.last() != Some(&partition) {
                partitions.push(partition);
            }
        }
        if rows + 1 != self.rows.len() {
            return Err(format!("Ferrock: {rows} rows of {}", self.rows.len() - 1));
        }
        for partition in &partitions {
            for row in table.partition(partition).iter().map_err(text)? {
                let row = row.map_err(text)?;
                let key = self.bytes(partition, &row.clustering().map_err(text)?)?;
                if self.rows.get(&key).map(Vec::as_slice) != Some(row.view().raw_value()) {
                    return Err(format!("Ferrock: row {}", key.escape_ascii()));
                }
                rows -= 1;
            }
        }
        if rows != 0 {
            return Err(format!("Ferrock: {rows} rows are in no partition"));
        }
        drop(table);
        db.close().map_err(text)
    }
}

/// One seed, from the first write to the last comparison.
pub fn play(seed: u64, directory: &Path, library: &Path) -> Outcome<serde_json::Value> {
    let mut case = Case { random: Random::new(seed), schema: schema(seed), rows: BTreeMap::new() };
    case.write(directory)?;
    case.by_rocksdb(directory, library)?;
    case.by_ferrock(directory)?;
    Ok(json!({ "rows": case.rows.len() - 1 }))
}
