//! A table: a column family whose keys and values are rows of a schema.

use super::row::{ColumnKey, Row};
use super::schema::Schema;
use super::scratch::with_scratch;
use super::shared::Core;
use super::tuple::KeyTuple;
use ferrock_base::hash::hash128;
use ferrock_base::{Error, Result};
use ferrock_engine::options::{ReadOptions, WriteOptions};
use ferrock_engine::{ColumnFamily, Comparator, Db, WriteBatch};
use ferrock_format::wide::{Component, SCHEMA_KEY, SchemaRecord, ValueRef};
use std::fmt;
use std::sync::Arc;

/// A table of wide partitions: the rows of a [`Schema`] in a column family of their own. Cheap to clone, `Send` and
/// `Sync`; keeps the database open.
#[derive(Clone)]
pub struct Table {
    pub(super) core: Arc<Core>,
    pub(super) write_options: WriteOptions,
    read_options: ReadOptions,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("family", &self.core.family).field("schema", &self.core.schema).finish()
    }
}

impl Table {
    /// Opens the table in a column family. An empty family becomes one of this schema; columns that an existing one
    /// does not have yet are added.
    ///
    /// # Errors
    /// `Invalid argument` when the family's comparator is not `leveldb.BytewiseComparator`, its prefix extractor not
    /// that of the schema (open the database with [`Schema::column_family_options`] or
    /// [`Db::open_with_latest_options`]), when it has keys but no schema, or another schema.
    pub fn open(db: &Db, family: &ColumnFamily, schema: Schema) -> Result<Self> {
        schema.record().check()?;
        let wanted = schema.prefix_extractor();
        let options = family.options();
        if options.prefix_extractor.as_ref() != Some(&wanted) {
            let own = options.prefix_extractor.as_ref().map_or_else(|| "nullptr".to_owned(), |own| own.name());
            return Err(Error::invalid_argument(format!(
                "table {}: its prefix_extractor is {own}, not {}; open the family with Schema::column_family_options",
                family.name(),
                wanted.name()
            )));
        }
        let record = match stored_schema(db, family)? {
            Some(stored) => {
                let merged = schema.added_to(&stored).map_err(|error| {
                    Error::invalid_argument(format!("table {}: {}", family.name(), error.message()))
                })?;
                if merged != stored {
                    db.put_cf(family, SCHEMA_KEY, &merged.encode(), &WriteOptions::synced())?;
                }
                merged
            }
            None => {
                check_empty(db, family)?;
                db.put_cf(family, SCHEMA_KEY, &schema.record().encode(), &WriteOptions::synced())?;
                schema.record().clone()
            }
        };
        Self::attach(db, family, Schema::from_record(record))
    }

    /// Opens the table in the family of a name, which is created with [`Schema::column_family_options`] when there is
    /// none.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`Db::create_column_family`].
    pub fn open_or_create(db: &Db, name: &str, schema: Schema) -> Result<Self> {
        schema.record().check()?;
        let family = match db.column_family(name) {
            Some(family) => family,
            None => db.create_column_family(name, schema.column_family_options())?,
        };
        Self::open(db, &family, schema)
    }

    /// Opens the table that a family has, with the schema that it was written with.
    ///
    /// # Errors
    /// `Not found` when the family has none; as [`open`](Self::open).
    pub fn open_existing(db: &Db, family: &ColumnFamily) -> Result<Self> {
        let stored = stored_schema(db, family)?.ok_or_else(|| {
            let message = format!("column family {} has no schema record: it is no wide table", family.name());
            Error::new(ferrock_base::ErrorKind::NotFound, message)
        })?;
        Self::open(db, family, Schema::from_record(stored))
    }

    /// Treats a family as a table of this schema without a check: no schema record is read or written, any prefix
    /// extractor is accepted. For families that another program fills with such keys; rows that do not fit the schema
    /// are errors when they are read.
    ///
    /// # Errors
    /// `Invalid argument` for an invalid schema, and a comparator other than `leveldb.BytewiseComparator`.
    pub fn attach(db: &Db, family: &ColumnFamily, schema: Schema) -> Result<Self> {
        schema.record().check()?;
        if !matches!(family.comparator(), Comparator::Bytewise) {
            let (name, comparator) = (family.name(), family.comparator().name());
            return Err(Error::invalid_argument(format!(
                "table {name}: its comparator is {comparator}; keys of wide tables are in the order of \
                 leveldb.BytewiseComparator"
            )));
        }
        let components: Vec<Component> =
            schema.partition().iter().chain(schema.clustering()).map(|column| column.component).collect();
        let mut identity = family.name().as_bytes().to_vec();
        identity.push(0);
        schema.record().encode_key_part(&mut identity);
        let core = Core {
            db: db.clone(),
            family: family.clone(),
            components,
            partition_count: schema.partition().len(),
            fingerprint: hash128(&identity, 0).0,
            schema,
        };
        Ok(Self { core: Arc::new(core), write_options: WriteOptions::default(), read_options: ReadOptions::default() })
    }

    /// A handle that writes with these options.
    #[must_use]
    pub fn with_write_options(&self, options: WriteOptions) -> Self {
        Self { write_options: options, ..self.clone() }
    }

    /// A handle that reads with these options: at a snapshot, say. Bounds, limit hint and what that minimises are those
    /// of each query, not these.
    #[must_use]
    pub fn with_read_options(&self, options: ReadOptions) -> Self {
        Self { read_options: options, ..self.clone() }
    }

    /// The schema: that of the caller and whatever columns the table had besides.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.core.schema
    }

    /// Its column family.
    #[must_use]
    pub fn family(&self) -> &ColumnFamily {
        &self.core.family
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(super) fn read_options(&self) -> &ReadOptions {
        &self.read_options
    }

    /// Writes a whole row: an existing one is replaced, with all its columns. Columns are given by id or by name; by id
    /// and in the order of ids is fastest. Other columns have no value.
    ///
    /// **Cost:** no read; a `put` of key and row, and at most 0.15 times its instructions for encoding them.
    ///
    /// # Errors
    /// `Invalid argument` naming the component or column that does not fit; as [`Db::write`].
    #[inline]
    pub fn insert<K: ColumnKey>(
        &self,
        partition: impl KeyTuple,
        clustering: impl KeyTuple,
        columns: &[(K, ValueRef<'_>)],
    ) -> Result<()> {
        let core = &*self.core;
        let batch = with_scratch(|scratch| {
            core.encode_key(&partition, &clustering, &mut scratch.key)?;
            scratch.encode_row(core, columns)?;
            let mut batch = WriteBatch::with_capacity(scratch.key.len() + scratch.row.len() + 20);
            batch.put_cf(core.family.id(), &scratch.key, &scratch.row).map(|()| batch)
        })?;
        core.db.write(batch, &self.write_options)
    }

    /// A row.
    ///
    /// **Cost:** one read of its block (1 KiB before compression), none when the block is in the cache. None for an
    /// absent partition, up to the filter's false positives (1 %), and for an absent row that lies between two blocks.
    ///
    /// # Errors
    /// `Invalid argument` naming the component that does not fit; as [`Db::get_cf`].
    pub fn get(&self, partition: impl KeyTuple, clustering: impl KeyTuple) -> Result<Option<Row>> {
        let core = &self.core;
        let mut key = Vec::new();
        core.encode_key(&partition, &clustering, &mut key)?;
        let value = core.db.get_cf(&core.family, &self.read_options, &key)?;
        Ok(value.map(|value| Row { core: Arc::clone(core), key, value }))
    }

    /// Many rows, in the order of `keys`: partition and clustering of each.
    ///
    /// **Cost:** as [`get`](Self::get), and their reads are made together.
    ///
    /// # Errors
    /// For each key, as [`get`](Self::get).
    #[must_use]
    pub fn get_many<P: KeyTuple, C: KeyTuple>(&self, keys: &[(P, C)]) -> Vec<Result<Option<Row>>> {
        let core = &self.core;
        let encode = |(partition, clustering): &(P, C)| {
            let mut key = Vec::new();
            core.encode_key(partition, clustering, &mut key).map(|()| key)
        };
        let encoded: Vec<Result<Vec<u8>>> = keys.iter().map(encode).collect();
        let good: Vec<&[u8]> = encoded.iter().flatten().map(|key| &key[..]).collect();
        let mut values = core.db.multi_get_cf(&core.family, &self.read_options, &good).into_iter();
        let row = |key: Result<Vec<u8>>| {
            let key = key?;
            let value = values.next().unwrap_or(Ok(None))?;
            Ok(value.map(|value| Row { core: Arc::clone(core), key, value }))
        };
        encoded.into_iter().map(row).collect()
    }
}

fn stored_schema(db: &Db, family: &ColumnFamily) -> Result<Option<SchemaRecord>> {
    let Some(value) = db.get_cf(family, &ReadOptions::default(), SCHEMA_KEY)? else { return Ok(None) };
    SchemaRecord::decode(&value).map(Some).map_err(|error| error.context(&format!("column family {}", family.name())))
}

fn check_empty(db: &Db, family: &ColumnFamily) -> Result<()> {
    let mut iter = db.iter_cf(family, &ReadOptions { limit_hint: 1, ..ReadOptions::default() });
    iter.seek_to_first();
    iter.status()?;
    if iter.valid() {
        return Err(Error::invalid_argument(format!(
            "column family {} has keys, but no schema record: it is no wide table; give the table a family of its own, or \
             attach to this one if its keys are rows",
            family.name()
        )));
    }
    Ok(())
}
