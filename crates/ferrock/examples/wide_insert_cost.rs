//! Instructions of a wide `insert`, beside those of the `put` that it becomes: the same keys, values and column family.
//!
//!     cargo build --release -p ferrock --example wide_insert_cost
//!     valgrind --tool=callgrind --toggle-collect='*measured*' target/release/examples/wide_insert_cost insert 20000
//!     valgrind --tool=callgrind --toggle-collect='*measured*' target/release/examples/wide_insert_cost put 20000
//!
//! The difference of two counts of rows, divided by the difference of rows, is what one costs.

use ferrock::wide::{ColumnType, Schema, Table, Timestamp};
use ferrock::{Db, DbOptions, ReadOptions, WriteOptions};
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;

const AUTHOR: u32 = 1;
const BODY: u32 = 2;
const SCORE: u32 = 3;

fn schema() -> Schema {
    Schema::new()
        .partition_by("room", ColumnType::Text)
        .clustered_by_descending("at", ColumnType::Timestamp)
        .clustered_by("number", ColumnType::U32)
        .column(AUTHOR, "author", ColumnType::Text)
        .column(BODY, "body", ColumnType::Bytes)
        .column(SCORE, "score", ColumnType::F64)
}

/// Rooms in turn, as messages come; the body has 100 bytes.
fn insert(table: &Table, rooms: &[String], row: u32, body: &[u8]) -> ferrock::Result<()> {
    let room = &rooms[row as usize % rooms.len()];
    let columns = [(AUTHOR, "ada".into()), (BODY, body.into()), (SCORE, f64::from(row).into())];
    table.insert(room, (Timestamp(1_700_000_000_000_000 + i64::from(row)), row), &columns)
}

#[inline(never)]
fn measured_inserts(table: &Table, rooms: &[String], rows: u32, body: &[u8]) -> ferrock::Result<()> {
    (0..rows).try_for_each(|row| insert(table, rooms, row, body))
}

#[inline(never)]
fn measured_puts(db: &Db, table: &Table, pairs: &[(Vec<u8>, Vec<u8>)]) -> ferrock::Result<()> {
    let options = WriteOptions::default();
    pairs.iter().try_for_each(|(key, value)| db.put_cf(table.family(), key, value, &options))
}

fn open() -> ferrock::Result<(Db, Table)> {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
    let families = vec![("default".to_owned(), schema().column_family_options())];
    let (db, families) = Db::open_cf("/db", options, families)?;
    let table = Table::open(&db, &families[0], schema())?;
    Ok((db, table))
}

fn main() -> ferrock::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let rows = arguments.get(2).and_then(|rows| rows.parse().ok()).unwrap_or(20_000);
    let rooms: Vec<String> = (0..50).map(|room| format!("room number {room}")).collect();
    let body = [b'b'; 100];
    let (db, table) = open()?;
    if arguments.get(1).is_some_and(|what| what == "put") {
        // What the inserts become, by another database.
        let (other, source) = open()?;
        (0..rows).try_for_each(|row| insert(&source, &rooms, row, &body))?;
        let mut pairs = Vec::new();
        for row in 0..rows {
            let key = (Timestamp(1_700_000_000_000_000 + i64::from(row)), row);
            let found = source.get(&rooms[row as usize % rooms.len()], key)?;
            pairs.extend(found.map(|row| (row.view().raw_key().to_vec(), row.view().raw_value().to_vec())));
        }
        drop((source, other));
        measured_puts(&db, &table, &pairs)?;
    } else {
        measured_inserts(&table, &rooms, rows, &body)?;
    }
    let mut iter = db.iter_cf(table.family(), &ReadOptions::default());
    iter.seek_to_last();
    println!("{rows} rows, the last key has {} bytes, its value {}", iter.key().len(), iter.value().len());
    Ok(())
}
