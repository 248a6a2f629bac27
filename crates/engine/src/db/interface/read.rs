//! Reading: keys, ranges, snapshots, futures.

use super::Db;
use crate::column_family::{ColumnFamily, ColumnFamilyData};
use crate::db::iter_source::{self, IterSource};
use crate::db::{AsyncScan, GetAsync, Iter, KeyVersions, MultiGetAsync, MultiScan, PinnedSlice, ScanRange};
use crate::db::{
    approximate, async_get, async_multi_get, async_scan, file_checksums, multi_get, multi_scan, read, search,
    snapshots, versions,
};
use crate::options::ReadOptions;
use crate::snapshot::Snapshot;
use ferrock_base::{Error, Result, SequenceNumber};
use std::sync::Arc;

impl Db {
    /// The value of a key of the default family.
    ///
    /// # Errors
    /// Those of [`get_cf`](Self::get_cf).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// if let Some(value) = db.get(b"key")? {
    ///     // Pinned in its block, not copied.
    ///     assert_eq!(&value[..], b"value");
    /// }
    /// assert!(db.get(b"other")?.is_none());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn get(&self, key: &[u8]) -> Result<Option<PinnedSlice>> {
        static OPTIONS: ReadOptions = ReadOptions::DEFAULT;
        self.get_with(&OPTIONS, key)
    }

    /// The value of a key of the default family.
    ///
    /// # Errors
    /// Those of [`get_cf`](Self::get_cf).
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(&path, options.clone())?;
    /// use ferrock::ReadOptions;
    ///
    /// db.put(b"key", b"old")?;
    /// let before = db.snapshot();
    /// db.put(b"key", b"new")?;
    /// let options = ReadOptions { snapshot: Some(before), ..ReadOptions::default() };
    /// assert_eq!(db.get_with(&options, b"key")?.as_deref(), Some(&b"old"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn get_with(&self, options: &ReadOptions, key: &[u8]) -> Result<Option<PinnedSlice>> {
        let families = self.core().families.load();
        let data = families.default_family()?;
        self.core().tracer.get(data.id, key);
        search::get(self.core(), data, options, key)
    }

    /// The value of a key of a family.
    ///
    /// # Errors
    /// A key that is not there is `Ok(None)`. `Corruption` naming file and offset when a block is damaged or the merge
    /// operator fails, `Io` when a file cannot be read, `Incomplete` when [`read_tier`](ReadOptions::read_tier) forbids
    /// the read, `TimedOut` after the deadline of the options, `MemoryLimit` when a block does not fit into a cache
    /// that refuses what is too much, `InvalidArgument` for merge operands without an operator.
    pub fn get_cf(&self, family: &ColumnFamily, options: &ReadOptions, key: &[u8]) -> Result<Option<PinnedSlice>> {
        self.core().tracer.get(family.data.id, key);
        search::get(self.core(), &family.data, options, key)
    }

    /// The value of a key of the default family, as a future for any executor.
    ///
    /// The call itself does what can be done in memory, as of now. A key that finds its way there is `Ready` at the
    /// first poll and costs what a [`get`](Self::get) costs. Otherwise the read of the first block that is missing is
    /// on its way when the call returns. The number of reads that follow each other is that of [`get`](Self::get): one
    /// data block for each table that the filters do not exclude, and one more for each further block that the versions
    /// of the key fill; index and filter partitions that are not in the block cache; the record, for a value in a blob
    /// file.
    ///
    /// A polling thread reads nothing: a table or blob file that is not open is opened by a thread of the database,
    /// once for all futures that wait for it.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// use std::future::Future;
    /// use std::task::{Context, Poll, Waker};
    /// db.put(b"key", b"value")?;
    /// let mut read = std::pin::pin!(db.get_async(&ferrock::ReadOptions::default(), b"key"));
    /// // What is in memory is there at the first poll.
    /// let Poll::Ready(value) = read.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { panic!() };
    /// assert_eq!(value?.as_deref(), Some(&b"value"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_async(&self, options: &ReadOptions, key: &[u8]) -> GetAsync {
        match self.core().default_family() {
            Ok(data) => self.traced_get_async(&data, options, key),
            Err(error) => GetAsync::ready(Err(error)),
        }
    }

    /// The value of a key of a family, as a future: see [`get_async`](Self::get_async).
    pub fn get_cf_async(&self, family: &ColumnFamily, options: &ReadOptions, key: &[u8]) -> GetAsync {
        self.traced_get_async(&family.data, options, key)
    }

    fn traced_get_async(&self, data: &Arc<ColumnFamilyData>, options: &ReadOptions, key: &[u8]) -> GetAsync {
        self.core().tracer.get(data.id, key);
        async_get::get_async(self.core(), data, options, key)
    }

    /// The values of many keys of the default family.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"a", b"1")?;
    /// db.put(b"c", b"3")?;
    /// let values = db.multi_get(&[b"a", b"b", b"c"]).into_iter().collect::<ferrock::Result<Vec<_>>>()?;
    /// assert_eq!(values[2].as_deref(), Some(&b"3"[..]));
    /// assert!(values[1].is_none());
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn multi_get(&self, keys: &[&[u8]]) -> Vec<Result<Option<PinnedSlice>>> {
        match self.core().default_family() {
            Ok(data) => self.traced_multi_get(&data, &ReadOptions::default(), keys),
            Err(error) => keys.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// The values of many keys of a family, in the order of `keys`. What they have to wait for is read together.
    #[must_use]
    pub fn multi_get_cf(
        &self,
        family: &ColumnFamily,
        options: &ReadOptions,
        keys: &[&[u8]],
    ) -> Vec<Result<Option<PinnedSlice>>> {
        self.traced_multi_get(&family.data, options, keys)
    }

    fn traced_multi_get(
        &self,
        data: &ColumnFamilyData,
        options: &ReadOptions,
        keys: &[&[u8]],
    ) -> Vec<Result<Option<PinnedSlice>>> {
        self.core().tracer.multi_get(keys.iter().map(|key| (data.id, *key)));
        multi_get::multi_get(self.core(), data, options, keys)
    }

    /// The values of many keys, each of the family beside it, in the order of `keys` and all as of one moment. What
    /// they have to wait for is read together, whichever family it belongs to.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// let users = db.create_column_family("users", ferrock::ColumnFamilyOptions::default())?;
    /// let orders = db.create_column_family("orders", ferrock::ColumnFamilyOptions::default())?;
    /// db.put_cf(&users, b"7", b"Ada", &ferrock::WriteOptions::default())?;
    /// let keys = [(&users, &b"7"[..]), (&orders, b"7")];
    /// let values = db.multi_get_families(&ferrock::ReadOptions::default(), &keys);
    /// assert_eq!(values[0].as_ref().unwrap().as_ref().unwrap(), b"Ada");
    /// assert!(values[1].as_ref().unwrap().is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn multi_get_families(
        &self,
        options: &ReadOptions,
        keys: &[(&ColumnFamily, &[u8])],
    ) -> Vec<Result<Option<PinnedSlice>>> {
        self.core().tracer.multi_get(keys.iter().map(|(family, key)| (family.data.id, *key)));
        let (families, keys): (Vec<&ColumnFamily>, Vec<&[u8]>) = keys.iter().copied().unzip();
        multi_get::multi_get_families(self.core(), &families, options, &keys)
    }

    /// The values of many keys of the default family, in the order of `keys` and as of one moment, as a future for any
    /// executor.
    ///
    /// The call itself does what can be done in memory; the blocks that are missing are on their way when it returns,
    /// each once. The number of reads that follow each other is that of the key which lacks most blocks, as in
    /// [`multi_get`](Self::multi_get). Tables that are not open, and values in blob files, are waited for as by
    /// [`get_async`](Self::get_async); a polling thread reads nothing.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = pin!(future);
    /// #     loop {
    /// #         let mut context = Context::from_waker(Waker::noop());
    /// #         if let Poll::Ready(out) = future.as_mut().poll(&mut context) { return out; }
    /// #     }
    /// # }
    /// db.put(b"a", b"1")?;
    /// let values = block_on(db.multi_get_async(&ferrock::ReadOptions::default(), &[b"a", b"b"]));
    /// assert_eq!(values[0].as_ref().unwrap().as_ref().unwrap(), b"1");
    /// assert!(values[1].as_ref().unwrap().is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn multi_get_async(&self, options: &ReadOptions, keys: &[&[u8]]) -> MultiGetAsync {
        match self.core().default_family() {
            Ok(data) => self.traced_multi_get_async(&data, options, keys),
            Err(error) => MultiGetAsync::failed(&error, keys.len()),
        }
    }

    /// The values of many keys of a family, as a future: see [`multi_get_async`](Self::multi_get_async).
    pub fn multi_get_cf_async(&self, family: &ColumnFamily, options: &ReadOptions, keys: &[&[u8]]) -> MultiGetAsync {
        self.traced_multi_get_async(&family.data, options, keys)
    }

    fn traced_multi_get_async(
        &self,
        data: &Arc<ColumnFamilyData>,
        options: &ReadOptions,
        keys: &[&[u8]],
    ) -> MultiGetAsync {
        self.core().tracer.multi_get(keys.iter().map(|key| (data.id, *key)));
        async_multi_get::multi_get_async(self.core(), data, options, keys)
    }

    /// The values of many keys, each of the family beside it, in the order of `keys` and all as of one moment, as a
    /// future: [`multi_get_families`](Self::multi_get_families) for any executor. Costs as
    /// [`multi_get_async`](Self::multi_get_async); the reads of all families are on their way when the call returns.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = pin!(future);
    /// #     loop {
    /// #         let mut context = Context::from_waker(Waker::noop());
    /// #         if let Poll::Ready(out) = future.as_mut().poll(&mut context) { return out; }
    /// #     }
    /// # }
    /// let users = db.create_column_family("users", ferrock::ColumnFamilyOptions::default())?;
    /// let orders = db.create_column_family("orders", ferrock::ColumnFamilyOptions::default())?;
    /// db.put_cf(&users, b"7", b"Ada", &ferrock::WriteOptions::default())?;
    /// let keys = [(&users, &b"7"[..]), (&orders, b"7")];
    /// let values = block_on(db.multi_get_families_async(&ferrock::ReadOptions::default(), &keys));
    /// assert_eq!(values[0].as_ref().unwrap().as_ref().unwrap(), b"Ada");
    /// assert!(values[1].as_ref().unwrap().is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn multi_get_families_async(&self, options: &ReadOptions, keys: &[(&ColumnFamily, &[u8])]) -> MultiGetAsync {
        self.core().tracer.multi_get(keys.iter().map(|(family, key)| (family.data.id, *key)));
        let (families, keys): (Vec<&ColumnFamily>, Vec<&[u8]>) = keys.iter().copied().unzip();
        async_multi_get::multi_get_families_async(self.core(), &families, options, &keys)
    }

    /// An iterator over the default family, not positioned yet.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// for key in [b"a", b"b", b"c"] {
    ///     db.put(key, b"value")?;
    /// }
    /// let mut iter = db.iter(&ferrock::ReadOptions::default());
    /// iter.seek(b"b");
    /// while iter.valid() {
    ///     println!("{:?} = {:?}", iter.key(), iter.value());
    ///     iter.next();
    /// }
    /// iter.status()?;
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn iter(&self, options: &ReadOptions) -> Iter {
        match self.core().families.load().default_family() {
            Ok(data) => self.traced_iter(data, options),
            Err(error) => Iter::failed(error),
        }
    }

    /// An iterator over a family, not positioned yet.
    #[must_use]
    pub fn iter_cf(&self, family: &ColumnFamily, options: &ReadOptions) -> Iter {
        self.traced_iter(&family.data, options)
    }

    #[inline]
    fn traced_iter(&self, data: &Arc<ColumnFamilyData>, options: &ReadOptions) -> Iter {
        let mut iter = iter_source::iter(self.core(), data, options);
        if self.core().tracer.is_on() {
            iter.begin_trace(&self.core().tracer, data.id, options);
        }
        iter
    }

    /// Scans the default family between the bounds of `options`, in batches of rows that are futures for any executor.
    ///
    /// All batches are as of the moment of the call. The iterator of [`iter`](Self::iter) works beneath, on the polling
    /// thread, and reads what a blocking scan reads: the read of the first block of each table that the bounds ask for
    /// goes out at once, and what follows is read ahead as the scan goes on.
    ///
    /// Where a table is to be opened, or a value in a blob file to be read, the batch is filled by one of at most four
    /// threads of the database, which are there while there is something to do.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = pin!(future);
    /// #     loop {
    /// #         let mut context = Context::from_waker(Waker::noop());
    /// #         if let Poll::Ready(out) = future.as_mut().poll(&mut context) { return out; }
    /// #     }
    /// # }
    /// for key in [b"a", b"b", b"c"] { db.put(key, b"1")?; }
    /// let keys = block_on(async {
    ///     let options = ferrock::ReadOptions { lower_bound: Some(b"b".to_vec()), ..Default::default() };
    ///     let mut scan = db.scan_async(&options);
    ///     let mut keys = Vec::new();
    ///     while let Some(batch) = scan.next_batch().await? {
    ///         keys.extend(batch.rows().map(|(key, _)| key.to_vec()));
    ///     }
    ///     ferrock::Result::Ok(keys)
    /// })?;
    /// assert_eq!(keys, [b"b", b"c"]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn scan_async(&self, options: &ReadOptions) -> AsyncScan {
        match self.core().default_family() {
            Ok(data) => async_scan::scan_async(self.core(), &data, options),
            Err(error) => AsyncScan::failed(error),
        }
    }

    /// Scans a family in batches of rows: see [`scan_async`](Self::scan_async).
    #[must_use]
    pub fn scan_cf_async(&self, family: &ColumnFamily, options: &ReadOptions) -> AsyncScan {
        async_scan::scan_async(self.core(), &family.data, options)
    }

    /// The rows of many ranges of the default family, whose first reads are made together. The ranges may come in any
    /// order and overlap; the bounds and the limit hint of `options` are not looked at.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// for key in [b"a1", b"a2", b"b1", b"c1", b"c2", b"c3"] {
    ///     db.put(key, b"")?;
    /// }
    /// let ranges = [ferrock::ScanRange::new(b"c", b"d").with_limit(2), ferrock::ScanRange::new(b"a", b"b")];
    /// let mut scan = db.multi_scan(&ferrock::ReadOptions::default(), &ranges);
    /// let mut rows = Vec::new();
    /// while let Some(row) = scan.next_row() {
    ///     let row = row?;
    ///     rows.push((row.range, row.key.to_vec()));
    /// }
    /// assert_eq!(rows, [(0, b"c1".to_vec()), (0, b"c2".to_vec()), (1, b"a1".to_vec()), (1, b"a2".to_vec())]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn multi_scan(&self, options: &ReadOptions, ranges: &[ScanRange]) -> MultiScan {
        match self.core().default_family() {
            Ok(data) => multi_scan::multi_scan(self.core(), &data, options, ranges),
            Err(error) => MultiScan::new(Err::<IterSource, Error>(error), options, ranges),
        }
    }

    /// The same of a family.
    #[must_use]
    pub fn multi_scan_cf(&self, family: &ColumnFamily, options: &ReadOptions, ranges: &[ScanRange]) -> MultiScan {
        multi_scan::multi_scan(self.core(), &family.data, options, ranges)
    }

    /// A state of the whole database that stays readable until the last clone of the snapshot goes.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"before")?;
    /// let snapshot = db.snapshot();
    /// db.put(b"key", b"after")?;
    /// let then = ferrock::ReadOptions { snapshot: Some(snapshot), ..Default::default() };
    /// assert_eq!(db.get_with(&then, b"key")?.as_deref(), Some(&b"before"[..]));
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        snapshots::snapshot(self.core())
    }

    /// A snapshot at an earlier sequence number, to read versions that older snapshots kept. What no snapshot kept may
    /// be gone: then a read gives the version that is left.
    ///
    /// # Errors
    /// `Invalid argument` when `sequence` is newer than the database.
    pub fn snapshot_at(&self, sequence: SequenceNumber) -> Result<Snapshot> {
        snapshots::snapshot_at(self.core(), sequence)
    }

    /// About how many bytes the keys of each `[begin, end)` take in the tables of a family, as they are stored. What is
    /// in memory does not count. A table that lies in a range whole counts with its whole size, one that does so in
    /// part with its data blocks there and their share of the rest of the table.
    ///
    /// # Errors
    /// Those of reading an index block.
    pub fn approximate_sizes(&self, family: &ColumnFamily, ranges: &[(&[u8], &[u8])]) -> Result<Vec<u64>> {
        approximate::approximate_sizes(family, ranges)
    }

    /// All versions of the keys of a family in `[begin, end)`.
    ///
    /// # Errors
    /// `Io` or `Corruption` when a table cannot be opened.
    pub fn key_versions(&self, family: &ColumnFamily, begin: Option<&[u8]>, end: Option<&[u8]>) -> Result<KeyVersions> {
        versions::key_versions(family, begin, end)
    }

    /// Reads every block of every table and every record of every blob file and verifies their checksums.
    ///
    /// # Errors
    /// `Corruption` naming file and offset of the first block or record that is wrong; `Io` when a file cannot be read.
    pub fn verify_checksum(&self) -> Result<()> {
        read::verify_checksum(self.core())
    }

    /// Reads every table and every blob file as a whole, and compares its checksum with the one that the MANIFEST has
    /// of it. Files without one, which were written without a `file_checksum_gen_factory`, are passed over. Of the
    /// options `deadline` and `rate_limiter_priority` count.
    ///
    /// # Errors
    /// `Corruption` naming the first file that is not what was written, and both checksums; `InvalidArgument` when the
    /// database has no `file_checksum_gen_factory`, or one that does not know the function of a file; `TimedOut` behind
    /// the deadline; `Io` when a file cannot be read.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// use ferrock::options::Crc32cFactory;
    ///
    /// options.components.file_checksum_gen_factory = Some(std::sync::Arc::new(Crc32cFactory));
    /// let db = ferrock::Db::open(directory.path(), options)?;
    /// db.put(b"key", b"value")?;
    /// db.flush()?;
    /// assert_eq!(db.live_files()[0].file_checksum_function_name, "FileChecksumCrc32c");
    /// db.verify_file_checksums(&ferrock::ReadOptions::default())?;
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn verify_file_checksums(&self, options: &ReadOptions) -> Result<()> {
        file_checksums::verify_file_checksums(self.core(), options)
    }
}
