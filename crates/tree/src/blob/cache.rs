//! Values of blob files in a cache.
//!
//! ```text
//! key      number of the blob file ^ 64 random bits | offset of the value ^ 64 random bits     16 bytes
//! entry    the value, uncompressed; charged with its length; role BlobValue, priority Bottom
//! ```
//!
//! The random bits are drawn anew when a database is opened, so that databases which share a cache never meet in it,
//! nor does a database meet what an earlier open of it left there. Numbers of files are not used twice while a database
//! is open.
//!
//! Invariants: what a read finds here is kept in place and never copied. Jobs neither look here nor leave anything: a
//! value may have been read without its checksum, and a compaction that moved it would give it a good one.
//!
//! Charging (`cache_usage_options` with `kBlobCache`): the usage of the cache as a whole is reserved in the block
//! cache, in steps. Where there is no room the value that was read is handed out beside the cache.

use super::BlobValue;
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_cache::{CacheKey, EntryRole, Handle, Priority, Reservation};
use ferrock_format::blob_index::BlobReference;
use ferrock_statistics::{PerfMetric, PerfRecorder, Statistics, Ticker};
use ferrock_table::{BlockPin, CachedBlock, TableBlockCache, ValuePin};
use parking_lot::Mutex;
use std::sync::Arc;

/// Steps of the reservation in the block cache, as RocksDB's dummy entries.
const STEP_BYTES: usize = 256 << 10;

/// The random part of the keys of the values in the cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlobCacheSession(pub u64, pub u64);

/// The cache of a family's values in blob files.
#[derive(Debug)]
pub struct BlobCache {
    cache: Arc<TableBlockCache>,
    session: BlobCacheSession,
    /// What of the block cache stands for this cache.
    charge: Option<Mutex<Reservation>>,
    statistics: Option<Arc<Statistics>>,
}

impl BlobCache {
    /// The values of one database in `cache`. With `charged_to`, a block cache that is another one, the usage of
    /// `cache` is reserved there.
    #[must_use]
    pub fn new(
        cache: Arc<TableBlockCache>,
        session: BlobCacheSession,
        charged_to: Option<&Arc<TableBlockCache>>,
    ) -> Self {
        let charged_to = charged_to.filter(|block_cache| !Arc::ptr_eq(block_cache, &cache));
        let charge = charged_to.map(|block_cache| Mutex::new(block_cache.reservation(EntryRole::BlobCache)));
        Self { cache, session, charge, statistics: None }
    }

    /// The same, which counts what it does.
    #[must_use]
    pub fn counting(self, statistics: Option<Arc<Statistics>>) -> Self {
        Self { statistics, ..self }
    }

    fn count(&self, counts: &[(Ticker, u64)]) {
        if let Some(recorder) = self.statistics.as_ref().and_then(|statistics| statistics.recorder()) {
            counts.iter().for_each(|(ticker, amount)| recorder.add(*ticker, *amount));
        }
    }

    fn count_insert(&self, bytes: usize) {
        self.count(&[(Ticker::BlobDbCacheAdd, 1), (Ticker::BlobDbCacheBytesWrite, bytes as u64)]);
    }

    /// Counts a value that a full cache refused; other errors are those of its read.
    fn count_refusal(&self, error: &Error) {
        if error.kind() == ErrorKind::MemoryLimit {
            self.count(&[(Ticker::BlobDbCacheAddFailures, 1)]);
        }
    }

    /// The cache itself.
    #[must_use]
    pub fn cache(&self) -> &Arc<TableBlockCache> {
        &self.cache
    }

    fn key(&self, file: FileNumber, offset: u64) -> CacheKey {
        CacheKey::new((self.session.0 ^ file.0, self.session.1), offset)
    }

    /// The value, if it is there. A miss is counted.
    pub(super) fn get(&self, reference: &BlobReference) -> Option<BlobValue> {
        let key = self.key(reference.file_number, reference.offset);
        let found = self.cache.lookup_as(&key, EntryRole::BlobValue).map(pinned);
        match &found {
            Some(value) => {
                let bytes = value.as_slice().len() as u64;
                self.count(&[(Ticker::BlobDbCacheHit, 1), (Ticker::BlobDbCacheBytesRead, bytes)]);
                if let Some(perf) = PerfRecorder::of_thread() {
                    perf.add_all([(PerfMetric::BlobCacheHitCount, 1), (PerfMetric::BlobCacheReadByte, bytes)]);
                }
            }
            None => self.count(&[(Ticker::BlobDbCacheMiss, 1)]),
        }
        found
    }

    /// The value, or what `read` makes of its place; once if many ask for it.
    pub(super) fn load(&self, reference: &BlobReference, read: impl FnOnce() -> Result<Vec<u8>>) -> Result<BlobValue> {
        let key = self.key(reference.file_number, reference.offset);
        let load = || {
            let value = read()?;
            self.count_insert(value.len());
            Ok(block(value.into()))
        };
        let handle = self.cache.load_missing(&key, EntryRole::BlobValue, Priority::Bottom, load);
        let handle = handle.inspect_err(|error| self.count_refusal(error))?;
        Ok(self.charged(&key, handle))
    }

    /// Takes a value that was read, and returns it pinned.
    pub(super) fn keep(&self, reference: &BlobReference, value: Vec<u8>) -> Result<BlobValue> {
        let key = self.key(reference.file_number, reference.offset);
        if let Some(present) = self.cache.peek(&key) {
            return Ok(pinned(present));
        }
        let (block, charge) = block(value.into());
        let handle = self.cache.insert_or_fail(&key, block, charge, EntryRole::BlobValue, Priority::Bottom);
        let handle = handle.inspect_err(|error| self.count_refusal(error))?;
        self.count_insert(charge);
        Ok(self.charged(&key, handle))
    }

    /// Takes a value that was written just now, if there is room.
    pub(crate) fn warm(&self, reference: &BlobReference, value: &[u8]) {
        let key = self.key(reference.file_number, reference.offset);
        let (block, charge) = block(value.into());
        match self.cache.insert(&key, block, charge, EntryRole::BlobValue, Priority::Bottom) {
            Ok(handle) => {
                self.count_insert(value.len());
                self.charged(&key, handle);
            }
            Err(_) => self.count(&[(Ticker::BlobDbCacheAddFailures, 1)]),
        }
    }

    /// Follows the usage of the cache with the reservation. Without room for that the entry leaves the cache.
    fn charged(&self, key: &CacheKey, handle: Handle<CachedBlock>) -> BlobValue {
        if let Some(charge) = &self.charge {
            let mut reservation = charge.lock();
            let usage = self.cache.usage().div_ceil(STEP_BYTES) * STEP_BYTES;
            if usage != reservation.bytes() && reservation.resize(usage).is_err() {
                self.cache.erase(key);
            }
        }
        pinned(handle)
    }
}

fn block(value: Box<[u8]>) -> (CachedBlock, usize) {
    let block = CachedBlock::Blob(value);
    let charge = block.memory_bytes();
    (block, charge)
}

fn pinned(handle: Handle<CachedBlock>) -> BlobValue {
    let pin = BlockPin::of_blob(handle);
    let length = pin.value().len();
    BlobValue::Pinned(ValuePin::Block(pin), 0..length)
}
