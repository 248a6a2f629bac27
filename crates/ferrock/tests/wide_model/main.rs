//! Tables of wide partitions against a map of typed tuples: random schemas, writes of all kinds, queries of all kinds,
//! across flushes, compactions and reopening. The map knows nothing of bytes.
//!
//! `FERROCK_MODEL_SEED` and `FERROCK_MODEL_ROUNDS` choose other runs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod check;
mod model;
mod values;

use check::Checker;
use ferrock::options::{CacheOptions, TableBlockCache};
use ferrock::wide::{Batch, ColumnType, Schema, Table, Value, ValueRef};
use ferrock::{ColumnFamily, Db, DbOptions, ReadOptions, WriteOptions};
use ferrock_base::random::Random;
use ferrock_table::options::PartitionFromLevel;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use model::{Model, Shape, TupleRange};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::Arc;

const STEPS: u32 = 700;
const PATH: &str = "/db";

/// Types, directions and names at random.
fn random_schema(random: &mut Random) -> (Schema, Shape) {
    let (mut schema, mut shape) = (Schema::new(), Shape::default());
    let any_type = |random: &mut Random| ColumnType::ALL[random.below(ColumnType::ALL.len() as u64) as usize];
    for at in 0..1 + random.below(3) {
        let (column_type, name) = (any_type(random), format!("p{at}"));
        let is_descending = random.one_in(3);
        schema = if is_descending {
            schema.partition_by_descending(&name, column_type)
        } else {
            schema.partition_by(&name, column_type)
        };
        shape.components.push((column_type, is_descending));
    }
    shape.partition_count = shape.components.len();
    for at in 0..random.below(4) {
        let (column_type, name) = (any_type(random), format!("c{at}"));
        let is_descending = random.one_in(2);
        schema = if is_descending {
            schema.clustered_by_descending(&name, column_type)
        } else {
            schema.clustered_by(&name, column_type)
        };
        shape.components.push((column_type, is_descending));
    }
    for at in 0..random.below(5) {
        let (id, column_type) = (1 + at as u32 * (1 + random.below(50) as u32), any_type(random));
        if let Entry::Vacant(column) = shape.columns.entry(id) {
            schema = schema.column(id, &format!("v{id}"), column_type);
            column.insert(column_type);
        }
    }
    (schema, shape)
}

/// The database of a run, and how it is opened again.
struct Rig {
    file_system: Arc<dyn FileSystem>,
    schema: Schema,
    seed: u64,
    db: Option<Db>,
}

impl Rig {
    fn open(&mut self) -> Table {
        self.db = None;
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.components.file_system = Some(Arc::clone(&self.file_system));
        let capacity_bytes = [2 << 10, 0, 1 << 20, 300][(self.seed / 3 % 4) as usize];
        options.max_open_files = [-1, 1][(self.seed / 2 % 2) as usize];
        options.components.block_cache =
            Some(TableBlockCache::new(CacheOptions { capacity_bytes, ..CacheOptions::default() }));
        let mut family = self.schema.column_family_options();
        family.target_file_size_base = 6 << 10;
        family.level0_file_num_compaction_trigger = 3;
        family.table.block_size = [200, 1024][(self.seed / 2 % 2) as usize];
        family.table.metadata_block_size = 150;
        if self.seed % 3 == 1 {
            family.table.partition_filters = true;
            family.table.partition_from_level = PartitionFromLevel::Level(0);
            family.table.cache_index_and_filter_blocks = true;
        }
        family.table.whole_key_filtering = self.seed % 5 == 1;
        family.table.partition_cut = self.seed % 4 != 3;
        family.table.row_bounds = self.seed % 4 != 2;
        let families = vec![("default".to_owned(), family)];
        let (db, families) = Db::open_cf(PATH, options, families).unwrap();
        let table = Table::open(&db, &families[0], self.schema.clone()).unwrap();
        self.db = Some(db);
        table
    }
}

/// Writes of one step, to the table and to the map.
fn write(random: &mut Random, table: &Table, model: &mut Model) {
    let count = if random.one_in(6) { 1 + random.below(8) } else { 1 };
    let mut batch = Batch::new();
    for _ in 0..count {
        let (partition, clustering) = model.random_key(random);
        match random.below(100) {
            0..=69 => {
                let columns = model.random_columns(random);
                let mut given: Vec<(u32, ValueRef<'_>)> =
                    columns.iter().map(|(id, value)| (*id, value.as_ref())).collect();
                if random.one_in(4) {
                    given.reverse();
                }
                if count == 1 {
                    table.insert(&partition, &clustering, &given).unwrap();
                } else {
                    batch.insert(table, &partition, &clustering, &given).unwrap();
                }
                model.insert(&partition, &clustering, columns);
            }
            70..=84 => {
                if count == 1 {
                    table.delete_row(&partition, &clustering).unwrap();
                } else {
                    batch.delete_row(table, &partition, &clustering).unwrap();
                }
                model.delete_rows(&partition, &TupleRange::of(&clustering));
            }
            85..=95 => {
                let range = model.random_range(random, model.shape.partition_count);
                if count == 1 {
                    table.delete_rows(&partition, range.bounds()).unwrap();
                } else {
                    batch.delete_rows(table, &partition, range.bounds()).unwrap();
                }
                model.delete_rows(&partition, &range);
            }
            _ => {
                if count == 1 {
                    table.delete_partition(&partition).unwrap();
                } else {
                    batch.delete_partition(table, &partition).unwrap();
                }
                model.delete_rows(&partition, &TupleRange::all());
            }
        }
    }
    table.write(batch).unwrap();
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let (schema, shape) = random_schema(&mut random);
    let mut rig = Rig { file_system: Arc::new(MemoryFileSystem::new()), schema, seed, db: None };
    let mut model = Model::new(shape, &mut random);
    let mut table = rig.open();
    let mut snapshot: Option<(Table, Model)> = None;
    for step in 0..STEPS {
        match random.below(100) {
            0..=1 => rig.db.as_ref().unwrap().flush().unwrap(),
            2 => rig.db.as_ref().unwrap().compact_range(None, None).unwrap(),
            3 if random.one_in(3) => {
                snapshot = None;
                drop(table);
                table = rig.open();
            }
            4 => {
                let at = ReadOptions { snapshot: Some(rig.db.as_ref().unwrap().snapshot()), ..ReadOptions::default() };
                snapshot = Some((table.with_read_options(at), model.clone()));
            }
            5..=29 => {
                let mut checker = Checker { random: &mut random, context: format!("seed {seed}, step {step}") };
                checker.check(&table, &model);
                if let Some((table, model)) = &snapshot {
                    checker.check(table, model);
                }
            }
            _ => write(&mut random, &table, &mut model),
        }
    }
    rig.db.as_ref().unwrap().compact_range(None, None).unwrap();
    let mut checker = Checker { random: &mut random, context: format!("seed {seed}, at the end") };
    for _ in 0..20 {
        checker.check(&table, &model);
    }
}

#[test]
fn tables_are_as_a_map_of_tuples() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("FERROCK_MODEL_SEED").unwrap_or(1);
    for seed in first..first + number("FERROCK_MODEL_ROUNDS").unwrap_or(24) {
        run(seed);
    }
}

/// A database with a table `t` of one text and one number, in memory.
fn small() -> (Db, ColumnFamily, Table) {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
    let db = Db::open(Path::new(PATH), options).unwrap();
    let table = Table::open_or_create(&db, "t", small_schema()).unwrap();
    (db.clone(), db.column_family("t").unwrap(), table)
}

fn small_schema() -> Schema {
    Schema::new()
        .partition_by("name", ColumnType::Text)
        .clustered_by("n", ColumnType::U64)
        .column(1, "a", ColumnType::I64)
        .column(3, "b", ColumnType::Text)
}

#[test]
fn what_does_not_fit_is_named() {
    let (db, family, table) = small();
    let message = |result: ferrock::Result<()>| result.unwrap_err().to_string();
    let none: &[(u32, ValueRef<'_>)] = &[];
    for (error, part) in [
        (message(table.insert(7, 1, none)), "\"name\""),
        (message(table.insert("x", -1, none)), "\"n\""),
        (message(table.insert("x", (1, 2), none)), "2 values for the components (n)"),
        (message(table.insert("x", (), none)), "0 values for the components (n)"),
        (message(table.insert((), 1, none)), "0 values for the components (name)"),
        (message(table.insert("x", 1, &[(2, 1.into())])), "no column 2"),
        (message(table.insert("x", 1, &[("c", 1.into())])), "no column \"c\""),
        (message(table.insert("x", 1, &[("b", 1.into())])), "\"b\""),
        (message(table.insert("x", 1, &[("a", 1.into()), ("a", 2.into())])), "given twice"),
        (message(table.insert("x".repeat(70_000), 1, none)), "65535"),
        (message(table.partition(7).iter().map(drop)), "\"name\""),
        (message(table.partition("x").rows("y"..).iter().map(drop)), "\"n\""),
        (message(table.partition("x").page(b"").iter().map(drop)), "page token"),
    ] {
        assert!(error.contains(part), "{error} has not {part}");
    }
    // A number of another type, and an order of columns of the caller's own.
    table.insert("x", 1i32, &[("b", "t".into()), ("a", 5i32.into())]).unwrap();
    let row = table.get("x", 1u64).unwrap().unwrap();
    assert_eq!(row.get("a").unwrap(), Some(ValueRef::I64(5)));
    assert_eq!((row.component("name").unwrap(), row.component("n").unwrap()), ("x".into(), Value::U64(1)));
    assert!(row.get("name").is_err() && row.component("a").is_err());
    assert_eq!(format!("{row:?}"), r#"{"name": Text("x"), "n": U64(1), "a": I64(5), "b": Text("t")}"#);
    // Other schemas of the same family.
    let other = |schema: Schema| Table::open(&db, &family, schema).unwrap_err().to_string();
    let text_only = Schema::new().partition_by("name", ColumnType::Text);
    assert!(other(text_only.clone()).contains("components never change"));
    let narrower = text_only.clustered_by("n", ColumnType::U64);
    assert!(other(narrower.clone().column(1, "a", ColumnType::Text)).contains("new id"));
    assert!(other(narrower.clone().column(2, "a", ColumnType::Text)).contains("two are called"));
    assert!(other(Schema::new().partition_by("k", ColumnType::U64)).contains("prefix_extractor"));
    // Columns that the caller does not name stay; new ones are added, for later openers, too.
    let more = Table::open(&db, &family, narrower.column(9, "c", ColumnType::Bool)).unwrap();
    assert_eq!(more.schema().columns().len(), 3);
    assert_eq!(Table::open_existing(&db, &family).unwrap().schema(), more.schema());
    more.insert("x", 2, &[("c", true.into()), ("a", 1.into())]).unwrap();
    let row = table.get("x", 2).unwrap().unwrap();
    assert_eq!(row.columns().unwrap().count(), 2, "also one that the schema of this handle does not have");
    // Families that are something else.
    let plain = db.create_column_family("plain", small_schema().column_family_options()).unwrap();
    db.put_cf(&plain, b"k", b"v", &WriteOptions::default()).unwrap();
    assert!(Table::open(&db, &plain, small_schema()).unwrap_err().to_string().contains("no schema record"));
    assert!(Table::open_existing(&db, &plain).unwrap_err().is_not_found());
    let attached = Table::attach(&db, &plain, small_schema()).unwrap();
    let error = attached.scan().iter().unwrap().next().unwrap().unwrap().partition().unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("component 1"), "{error}");
}

#[test]
fn tokens_of_other_queries_are_refused() {
    let (db, _, table) = small();
    let other = Table::open_or_create(&db, "other", small_schema()).unwrap();
    for n in 0..10 {
        table.insert("x", n, &[("a", n.into())]).unwrap();
        other.insert("x", n, &[("a", n.into())]).unwrap();
    }
    let query = || table.partition("x").rows(2..9);
    let mut rows = query().limit(3).iter().unwrap();
    assert!(rows.page_token().is_none(), "before the first row");
    rows.by_ref().for_each(|row| drop(row.unwrap()));
    let token = rows.page_token().unwrap();
    let next = |query: ferrock::wide::Query<'_>| query.page(&token).iter().map(|rows| rows.count());
    assert_eq!(next(query().limit(1)).unwrap(), 1, "the limit may change");
    assert_eq!(next(query()).unwrap(), 4);
    for wrong in [
        table.partition("x").rows(2..8),
        table.partition("x").rows(2..),
        table.partition("x"),
        table.partition("y").rows(2..9),
        query().reverse(),
        query().rows(1..2),
        table.scan(),
        other.partition("x").rows(2..9),
    ] {
        let error = next(wrong).unwrap_err().to_string();
        assert!(error.contains("page token"), "{error}");
    }
    let mut all = query().iter().unwrap();
    all.by_ref().for_each(|row| drop(row.unwrap()));
    assert!(all.page_token().is_none(), "all were shown");
}

/// The greatest partition of all, whose keys have nothing behind them.
#[test]
fn the_last_partition_can_be_deleted() {
    let (db, ..) = small();
    let schema = Schema::new().partition_by("p", ColumnType::U32).clustered_by("c", ColumnType::Bytes);
    let table = Table::open_or_create(&db, "last", schema).unwrap();
    let none: &[(u32, ValueRef<'_>)] = &[];
    for key in [&b""[..], &[0xff; 40], &[0xff; 60_000]] {
        table.insert(u32::MAX, key, none).unwrap();
        table.insert(u32::MAX - 1, key, none).unwrap();
    }
    assert_eq!(table.partition(u32::MAX).iter().unwrap().count(), 3);
    assert_eq!(table.partition(u32::MAX).reverse().limit(1).iter().unwrap().count(), 1);
    table.delete_rows(u32::MAX, &[0xff; 40][..]..).unwrap();
    assert_eq!(table.partition(u32::MAX).iter().unwrap().count(), 1);
    table.delete_partition(u32::MAX).unwrap();
    db.flush().unwrap();
    assert_eq!(table.partition(u32::MAX).iter().unwrap().count(), 0);
    assert_eq!(table.scan().iter().unwrap().count(), 3);
    assert_eq!(table.scan().rows(..=u32::MAX).iter().unwrap().count(), 3);
}

/// Whatever the options say, a database opened by its OPTIONS file alone has the prefixes of the table.
#[test]
fn the_options_file_brings_the_prefixes_back() {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(file_system);
    let db = Db::open(Path::new(PATH), options.clone()).unwrap();
    let table = Table::open_or_create(&db, "t", small_schema()).unwrap();
    table.insert("x", 1, &[("a", 1.into())]).unwrap();
    drop(table);
    db.close().unwrap();
    // Nothing is written where nothing may be; a schema that adds a column would have to be.
    let (db, families) = Db::open_read_only(PATH, options.clone(), None).unwrap();
    assert_eq!(Table::open(&db, &families[1], small_schema()).unwrap().scan().iter().unwrap().count(), 1);
    let error = Table::open(&db, &families[1], small_schema().column(9, "c", ColumnType::Bool)).unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
    drop((db, families));
    let (db, families) = Db::open_with_latest_options(Path::new(PATH), options).unwrap();
    assert_eq!(db.option_notes(), &[] as &[String]);
    let table = Table::open_existing(&db, &families[1]).unwrap();
    assert_eq!(table.schema(), &small_schema());
    let rows: Vec<BTreeMap<u32, Value>> = table
        .scan()
        .iter()
        .unwrap()
        .map(|row| {
            row.unwrap().columns().unwrap().map(|column| column.map(|(id, v)| (id, v.to_value())).unwrap()).collect()
        })
        .collect();
    assert_eq!(rows, [BTreeMap::from([(1, Value::I64(1))])]);
}
