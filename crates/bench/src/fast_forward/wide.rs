//! Ferrock through `ferrock::wide`, on the same files: the driver's keys become tuples.
//!
//! ```text
//! large-part-ds1      (i32), (i32)         key      -> (1), (3)          a row
//! sb-*                (i64), (i64)         key 00   -> behind that row
//! small-part          (u64, i32), ()       a prefix -> all rows that begin with it
//! ```
//!
//! Ranges within one partition are slices of it, others are scans.

use super::dataset::Key;
use super::engine::{Bounds, Counters, Cursor, Database, Engine, Opening, Visit};
use super::ferrock::{FerrockDatabase, RANGES_AT_ONCE};
use ferrock::ReadOptions;
use ferrock::wide::{ColumnType, Component, Query, Rows, Schema, Table, Value};
use ferrock_console::failure::{Failure, Result};
use ferrock_format::wide::KeyDecoder;
use std::ops::Bound;
use std::path::Path;

/// The engine of this workspace, through its tables of wide partitions.
#[derive(Debug, Default)]
pub struct FerrockWide;

struct WideDatabase {
    inner: FerrockDatabase,
    table: Table,
    shape: Shape,
}

/// The components of a data set's keys.
#[derive(Clone, Debug)]
struct Shape {
    components: Vec<Component>,
    partition_count: usize,
}

type Tuple = Vec<Value>;
type Range = (Bound<Tuple>, Bound<Tuple>);

impl Shape {
    fn of(schema: &Schema) -> Self {
        let columns = schema.partition().iter().chain(schema.clustering());
        Self { components: columns.map(|column| column.component).collect(), partition_count: schema.partition().len() }
    }

    /// The values of a key, or of the components that it has, and whether it is the key behind a row.
    fn decode(&self, key: &[u8]) -> Result<(Tuple, bool)> {
        let (mut decoder, mut values) = (KeyDecoder::new(key), Tuple::new());
        for &component in &self.components {
            if decoder.position() == key.len() {
                return Ok((values, false));
            }
            values.push(decoder.next(component)?);
        }
        // Whatever more there is, it is behind that row and before the next.
        let is_behind = decoder.position() < key.len();
        Ok((values, is_behind))
    }

    fn range(&self, bounds: &Bounds) -> Result<Range> {
        let lower = match &bounds.lower {
            None => Bound::Unbounded,
            Some(key) => match self.decode(key)? {
                (values, false) => Bound::Included(values),
                (values, true) => Bound::Excluded(values),
            },
        };
        let upper = match &bounds.upper {
            None => Bound::Unbounded,
            Some(key) => match self.decode(key)? {
                (values, false) => Bound::Excluded(values),
                (values, true) => Bound::Included(values),
            },
        };
        Ok((lower, upper))
    }

    /// The partition that both ends of a range are in, and what the range is there.
    fn within_partition(&self, range: &Range) -> Option<(Tuple, Range)> {
        let split = |end: &Bound<Tuple>| match end {
            Bound::Unbounded => None,
            Bound::Included(values) => {
                let (own, rest) = values.split_at_checked(self.partition_count)?;
                Some((own.to_vec(), Bound::Included(rest.to_vec())))
            }
            Bound::Excluded(values) => {
                let (own, rest) = values.split_at_checked(self.partition_count)?;
                // Before, or behind, a whole partition.
                (!rest.is_empty()).then(|| (own.to_vec(), Bound::Excluded(rest.to_vec())))
            }
        };
        let ((partition, lower), (other, upper)) = (split(&range.0)?, split(&range.1)?);
        (partition == other).then_some((partition, (lower, upper)))
    }
}

/// As ScyllaDB's data sets have them; a prefix's length tells which.
fn schema(prefix_bytes: usize) -> Result<Schema> {
    match prefix_bytes {
        4 => Ok(Schema::new().partition_by("pk", ColumnType::I32).clustered_by("ck", ColumnType::I32)),
        8 => Ok(Schema::new().partition_by("pk", ColumnType::I64).clustered_by("ck", ColumnType::I64)),
        12 => Ok(Schema::new().partition_by("token", ColumnType::U64).partition_by("pk", ColumnType::I32)),
        other => Err(Failure::NotDone(format!("no data set has partitions of {other} bytes"))),
    }
}

impl Engine for FerrockWide {
    fn name(&self) -> String {
        format!("Ferrock {}, wide", env!("CARGO_PKG_VERSION"))
    }

    fn open(&self, directory: &Path, how: &Opening) -> Result<Box<dyn Database>> {
        let inner = FerrockDatabase::open(directory, how)?;
        let schema = schema(how.prefix_bytes)?;
        let options = ReadOptions { cache_data_blocks: how.caches_data, ..ReadOptions::default() };
        // Its values are plain bytes, and there is no schema record.
        let table = Table::attach(&inner.db, &inner.db.default_column_family()?, schema.clone())?;
        let table = table.with_read_options(options);
        Ok(Box::new(WideDatabase { inner, table, shape: Shape::of(&schema) }))
    }
}

impl WideDatabase {
    fn query(&self, bounds: &Bounds) -> Result<(Query<'_>, Option<Tuple>)> {
        let range = self.shape.range(bounds)?;
        Ok(match self.shape.within_partition(&range) {
            Some((partition, range)) => (self.table.partition(&partition).rows(range), Some(partition)),
            None => (self.table.scan().rows(range), None),
        })
    }
}

impl Database for WideDatabase {
    fn get(&self, key: &[u8], visit: Visit<'_>) -> Result<()> {
        let (values, _) = self.shape.decode(key)?;
        let (partition, clustering) = values.split_at(self.shape.partition_count.min(values.len()));
        match self.table.get(partition, clustering)? {
            Some(row) => visit(row.view().raw_key(), row.view().raw_value()),
            None => Ok(()),
        }
    }

    fn cursor(&self, bounds: &Bounds, limit: Option<u64>) -> Result<Box<dyn Cursor + '_>> {
        let (query, partition) = self.query(bounds)?;
        let query = query.limit(limit.unwrap_or(0));
        Ok(Box::new(WideCursor { database: self, query, partition, rows: None }))
    }

    fn ranges(&self, ranges: &mut dyn Iterator<Item = Bounds>, visit: Visit<'_>) -> Result<()> {
        loop {
            let mut query = self.table.scan();
            let mut count = 0;
            for bounds in std::iter::from_fn(|| ranges.next()).take(RANGES_AT_ONCE) {
                query = query.rows(self.shape.range(&bounds)?);
                count += 1;
            }
            if count > 0 {
                let mut rows = query.iter()?;
                while let Some(row) = rows.next_row()? {
                    visit(row.raw_key(), row.raw_value())?;
                }
            }
            if count < RANGES_AT_ONCE {
                return Ok(());
            }
        }
    }

    fn counters(&self) -> Result<Counters> {
        self.inner.counters()
    }

    fn clear_cache(&self) -> Result<()> {
        self.inner.clear_cache()
    }

    fn after_run(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<()> {
        self.inner.after_run(keys)
    }

    fn request_interface(&self) -> Option<String> {
        self.inner.request_interface()
    }

    fn close(self: Box<Self>) -> Result<()> {
        drop(self.table);
        Box::new(self.inner).close()
    }
}

struct WideCursor<'a> {
    database: &'a WideDatabase,
    query: Query<'a>,
    /// What the query is about, if not more than that.
    partition: Option<Tuple>,
    rows: Option<Rows>,
}

impl WideCursor<'_> {
    fn read_rows(&mut self, limit: u64, visit: Visit<'_>) -> Result<()> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        let mut left = limit;
        while left > 0
            && let Some(row) = rows.next_row()?
        {
            visit(row.raw_key(), row.raw_value())?;
            left -= 1;
        }
        Ok(())
    }
}

impl Cursor for WideCursor<'_> {
    fn to_first(&mut self) -> Result<()> {
        self.rows = Some(self.query.clone().iter()?);
        Ok(())
    }

    fn to_last(&mut self) -> Result<()> {
        self.rows = Some(self.query.clone().reverse().iter()?);
        Ok(())
    }

    fn fast_forward(&mut self, bounds: &Bounds) -> Result<()> {
        let shape = &self.database.shape;
        let range = shape.range(bounds)?;
        let own = match (&self.partition, shape.within_partition(&range)) {
            (None, _) => range,
            (Some(partition), Some((other, range))) if *partition == other => range,
            _ => return Err(Failure::NotDone("a cursor of a partition is to leave it".to_owned())),
        };
        let rows = match &mut self.rows {
            Some(rows) => rows,
            None => self.rows.insert(self.query.clone().iter()?),
        };
        Ok(rows.fast_forward(own)?)
    }

    fn read(&mut self, limit: u64, visit: Visit<'_>) -> Result<()> {
        self.read_rows(limit, visit)
    }

    fn read_back(&mut self, limit: u64, visit: Visit<'_>) -> Result<()> {
        self.read_rows(limit, visit)
    }
}
