//! The stores behind one interface.
//!
//! A key has 8 bytes, a value 100. Each store is used as its own documentation has it, with a cache of the same size:
//!
//! ```text
//! ferrock   one put a key; durable puts wait for the log          reads pin a block of the cache
//! fjall     one insert a key; durable inserts persist the journal
//! redb      1000 keys a transaction, of which none waits for the disk but durable ones
//! lmdb      1000 keys a transaction, no syncs but for durable puts; reads are of a mapped file
//! ```

use std::error::Error;
use std::path::Path;

pub type Outcome<T> = Result<T, Box<dyn Error>>;
pub type Key = [u8; 8];

/// Keys that stores of transactions write together.
const TOGETHER: usize = 1000;

/// An open store. Closed when it is dropped.
pub trait Store {
    /// Writes keys and their values.
    fn put_all(&mut self, rows: &mut dyn Iterator<Item = (Key, Vec<u8>)>) -> Outcome<()>;
    /// Writes a key; it is on the disk when the call returns.
    fn put_durably(&mut self, key: Key, value: &[u8]) -> Outcome<()>;
    /// Shows the value, if there is one.
    fn get(&self, key: Key, show: &mut dyn FnMut(&[u8])) -> Outcome<()>;
    /// Shows at most so many rows from a key on.
    fn scan(&self, from: Key, rows: usize, show: &mut dyn FnMut(&[u8], &[u8])) -> Outcome<()>;
    /// Until nothing is left to do in the background, as far as the store can tell.
    fn settle(&mut self) -> Outcome<()>;
}

/// Opens a store of this name in an empty directory.
pub fn open(name: &str, directory: &Path, cache_bytes: u64) -> Outcome<Box<dyn Store>> {
    Ok(match name {
        "ferrock" => Box::new(Ferrock::open(directory, cache_bytes)?),
        "fjall" => Box::new(Fjall::open(directory, cache_bytes)?),
        "redb" => Box::new(Redb::open(directory, cache_bytes)?),
        "lmdb" => Box::new(Lmdb::open(directory)?),
        other => return Err(format!("there is no store `{other}`").into()),
    })
}

struct Ferrock(ferrock::Db);

impl Ferrock {
    fn open(directory: &Path, cache_bytes: u64) -> Outcome<Self> {
        let (mut db, mut family) = (ferrock::DbOptions::default(), ferrock::ColumnFamilyOptions::default());
        let table =
            format!("block_based_table_factory={{block_cache={cache_bytes};filter_policy=bloomfilter:10:false}}");
        let text = format!("create_if_missing=true;compression=kNoCompression;{table}");
        ferrock::options::apply_text(&mut db, &mut family, &text)?;
        Ok(Self(ferrock::Db::open_cf(directory, db, vec![("default".to_owned(), family)])?.0))
    }
}

impl Store for Ferrock {
    fn put_all(&mut self, rows: &mut dyn Iterator<Item = (Key, Vec<u8>)>) -> Outcome<()> {
        for (key, value) in rows {
            self.0.put(&key, &value)?;
        }
        Ok(())
    }
    fn put_durably(&mut self, key: Key, value: &[u8]) -> Outcome<()> {
        let mut batch = ferrock::WriteBatch::new();
        batch.put(&key, value)?;
        Ok(self.0.write(batch, &ferrock::WriteOptions::synced())?)
    }
    fn get(&self, key: Key, show: &mut dyn FnMut(&[u8])) -> Outcome<()> {
        if let Some(value) = self.0.get(&key)? {
            show(&value);
        }
        Ok(())
    }
    fn scan(&self, from: Key, rows: usize, show: &mut dyn FnMut(&[u8], &[u8])) -> Outcome<()> {
        let mut iter = self.0.iter(&ferrock::ReadOptions::default());
        iter.seek(&from);
        for _ in 0..rows {
            if !iter.valid() {
                break;
            }
            show(iter.key(), iter.value());
            iter.next();
        }
        Ok(iter.status()?)
    }
    fn settle(&mut self) -> Outcome<()> {
        self.0.flush()?;
        Ok(self.0.wait_for_compact(&ferrock::WaitForCompactOptions::default())?)
    }
}

struct Fjall {
    database: fjall::Database,
    rows: fjall::Keyspace,
}

impl Fjall {
    fn open(directory: &Path, cache_bytes: u64) -> Outcome<Self> {
        let database = fjall::Database::builder(directory).cache_size(cache_bytes).open()?;
        let rows = database.keyspace("rows", fjall::KeyspaceCreateOptions::default)?;
        Ok(Self { database, rows })
    }
}

impl Store for Fjall {
    fn put_all(&mut self, rows: &mut dyn Iterator<Item = (Key, Vec<u8>)>) -> Outcome<()> {
        for (key, value) in rows {
            self.rows.insert(key, value)?;
        }
        Ok(())
    }
    fn put_durably(&mut self, key: Key, value: &[u8]) -> Outcome<()> {
        self.rows.insert(key, value)?;
        Ok(self.database.persist(fjall::PersistMode::SyncData)?)
    }
    fn get(&self, key: Key, show: &mut dyn FnMut(&[u8])) -> Outcome<()> {
        if let Some(value) = self.rows.get(key)? {
            show(&value);
        }
        Ok(())
    }
    fn scan(&self, from: Key, rows: usize, show: &mut dyn FnMut(&[u8], &[u8])) -> Outcome<()> {
        for row in self.rows.range(from..).take(rows) {
            let (key, value) = row.into_inner()?;
            show(&key, &value);
        }
        Ok(())
    }
    fn settle(&mut self) -> Outcome<()> {
        Ok(self.rows.rotate_memtable_and_wait()?)
    }
}

const ROWS: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("rows");

struct Redb(redb::Database);

impl Redb {
    fn open(directory: &Path, cache_bytes: u64) -> Outcome<Self> {
        let builder = &mut redb::Database::builder();
        let database = builder.set_cache_size(usize::try_from(cache_bytes)?).create(directory.join("rows.redb"))?;
        let transaction = database.begin_write()?;
        transaction.open_table(ROWS)?;
        transaction.commit()?;
        Ok(Self(database))
    }
}

impl Store for Redb {
    fn put_all(&mut self, rows: &mut dyn Iterator<Item = (Key, Vec<u8>)>) -> Outcome<()> {
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let mut transaction = self.0.begin_write()?;
            transaction.set_durability(redb::Durability::None)?;
            {
                let mut table = transaction.open_table(ROWS)?;
                for (key, value) in rows.by_ref().take(TOGETHER) {
                    table.insert(key.as_slice(), value.as_slice())?;
                }
            }
            transaction.commit()?;
        }
        Ok(())
    }
    fn put_durably(&mut self, key: Key, value: &[u8]) -> Outcome<()> {
        let transaction = self.0.begin_write()?;
        transaction.open_table(ROWS)?.insert(key.as_slice(), value)?;
        Ok(transaction.commit()?)
    }
    fn get(&self, key: Key, show: &mut dyn FnMut(&[u8])) -> Outcome<()> {
        use redb::ReadableDatabase;
        let table = self.0.begin_read()?.open_table(ROWS)?;
        if let Some(value) = table.get(key.as_slice())? {
            show(value.value());
        }
        Ok(())
    }
    fn scan(&self, from: Key, rows: usize, show: &mut dyn FnMut(&[u8], &[u8])) -> Outcome<()> {
        use redb::ReadableDatabase;
        let table = self.0.begin_read()?.open_table(ROWS)?;
        for row in table.range(from.as_slice()..)?.take(rows) {
            let (key, value) = row?;
            show(key.value(), value.value());
        }
        Ok(())
    }
    fn settle(&mut self) -> Outcome<()> {
        // Makes the transactions before it durable.
        Ok(self.0.begin_write()?.commit()?)
    }
}

struct Lmdb {
    environment: heed::Env,
    rows: heed::Database<heed::types::Bytes, heed::types::Bytes>,
}

impl Lmdb {
    fn open(directory: &Path) -> Outcome<Self> {
        let mut options = heed::EnvOpenOptions::new();
        options.map_size(64 << 30);
        // SAFETY: the directory is this process's own, so that no other one changes the mapped file, and it is opened
        // once; without syncs a crash may damage it, and it is thrown away then.
        let environment = unsafe { options.flags(heed::EnvFlags::NO_SYNC).open(directory)? };
        let mut transaction = environment.write_txn()?;
        let rows = environment.create_database(&mut transaction, None)?;
        transaction.commit()?;
        Ok(Self { environment, rows })
    }
}

impl Store for Lmdb {
    fn put_all(&mut self, rows: &mut dyn Iterator<Item = (Key, Vec<u8>)>) -> Outcome<()> {
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let mut transaction = self.environment.write_txn()?;
            for (key, value) in rows.by_ref().take(TOGETHER) {
                self.rows.put(&mut transaction, &key, &value)?;
            }
            transaction.commit()?;
        }
        Ok(())
    }
    fn put_durably(&mut self, key: Key, value: &[u8]) -> Outcome<()> {
        let mut transaction = self.environment.write_txn()?;
        self.rows.put(&mut transaction, &key, value)?;
        transaction.commit()?;
        Ok(self.environment.force_sync()?)
    }
    fn get(&self, key: Key, show: &mut dyn FnMut(&[u8])) -> Outcome<()> {
        let transaction = self.environment.read_txn()?;
        if let Some(value) = self.rows.get(&transaction, &key)? {
            show(value);
        }
        Ok(())
    }
    fn scan(&self, from: Key, rows: usize, show: &mut dyn FnMut(&[u8], &[u8])) -> Outcome<()> {
        let transaction = self.environment.read_txn()?;
        let range = (std::ops::Bound::Included(from.as_slice()), std::ops::Bound::Unbounded);
        for row in self.rows.range(&transaction, &range)?.take(rows) {
            let (key, value) = row?;
            show(key, value);
        }
        Ok(())
    }
    fn settle(&mut self) -> Outcome<()> {
        Ok(self.environment.force_sync()?)
    }
}
