//! Reading a table for itself.

use crate::db::file_system_of;
use crate::options::{ColumnFamilyOptions, DbOptions, ReadOptions};
use ferrock_base::internal_key::ParsedInternalKey;
use ferrock_base::iterator::InternalIterator;
use ferrock_base::types::MAX_SEQUENCE_NUMBER;
use ferrock_base::{Comparator, Error, InternalComparator, Result};
use ferrock_format::properties::TableProperties;
use ferrock_table::{ScanBounds, Table, TableIter, TableReadOptions, TableReaderParams};
use ferrock_tree::iterator::{DbIterator, DbIteratorOptions, MergingIterator, RangeTombstoneSource, SourceIterator};
use ferrock_tree::read::ReadView;
use ferrock_vfs::{IoActivity, RandomAccessOptions};
use std::path::Path;
use std::sync::Arc;

/// A table that is read for itself. A clone is the same table.
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// use ferrock::{ColumnFamilyOptions, DbOptions, ReadOptions, SstFileReader, SstFileWriter};
///
/// # let directory = tempfile::tempdir().unwrap();
/// let path = directory.path().join("table.sst");
/// let mut writer = SstFileWriter::new(&DbOptions::default(), ColumnFamilyOptions::default());
/// writer.open(&path)?;
/// writer.put(b"apple", b"red")?;
/// writer.delete(b"banana")?;
/// writer.finish()?;
///
/// let reader = SstFileReader::open(&path, &DbOptions::default(), ColumnFamilyOptions::default())?;
/// reader.verify_checksum()?;
/// assert_eq!(reader.properties().num_entries, 2);
/// let mut iter = reader.iter(&ReadOptions::default());
/// iter.seek_to_first();
/// assert_eq!((iter.key(), iter.value()), (&b"apple"[..], &b"red"[..]));
/// iter.next();
/// assert!(!iter.valid());
/// # Ok::<(), ferrock::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SstFileReader {
    table: Table,
    options: Arc<ColumnFamilyOptions>,
    readahead_bytes: usize,
}

impl SstFileReader {
    /// Opens a table of any kind. It must be in the order of the options' comparator; their merge operator is what
    /// [`iter`](Self::iter) merges with.
    ///
    /// # Errors
    /// `Corruption` for a file that is not a whole table; `NotSupported` for one that cannot be read; `InvalidArgument`
    /// for a table of another order; `Io` when it cannot be opened or read.
    pub fn open(path: impl AsRef<Path>, db: &DbOptions, options: ColumnFamilyOptions) -> Result<Self> {
        let path = path.as_ref();
        let file_system = file_system_of(db)?;
        let file_options = RandomAccessOptions { direct: db.use_direct_reads, ..RandomAccessOptions::default() };
        let file = file_system.open_random_access(path, &file_options)?;
        let comparator = InternalComparator::new(options.comparator.clone());
        let table = Table::open(TableReaderParams {
            options: Arc::new(options.table.clone()),
            plain_options: options.table_factory.plain_options(),
            bloom_locality: options.bloom_locality,
            protects_blocks: options.block_protection_bytes_per_key > 0,
            prefix_extractor: options.prefix_extractor.clone(),
            ..TableReaderParams::new(file, file_system, comparator)
        })
        .map_err(|error| error.in_file(path))?;
        Ok(Self { table, options: Arc::new(options), readahead_bytes: db.compaction_readahead_size })
    }

    /// An iterator over the keys as a database of this table alone shows them: without what is deleted, and with
    /// operands merged. Of the options count the bounds, `verify_checksums`, `prefix_same_as_start` and
    /// `max_skippable_internal_keys`; a snapshot counts for nothing.
    #[must_use]
    pub fn iter(&self, options: &ReadOptions) -> SstFileIter {
        let view = ReadView::UpTo(MAX_SEQUENCE_NUMBER);
        let order = self.table.comparator().clone();
        let settings = DbIteratorOptions {
            merge_operator: self.options.merge_operator.clone(),
            prefix_extractor: self.options.prefix_extractor.clone(),
            lower_bound: options.lower_bound.clone(),
            upper_bound: options.upper_bound.clone(),
            prefix_same_as_start: options.prefix_same_as_start,
            max_skippable_internal_keys: options.max_skippable_internal_keys,
            max_sequential_skip_in_iterations: self.options.max_sequential_skip_in_iterations,
            ..DbIteratorOptions::new(order.user().clone(), view)
        };
        let bounds = Arc::new(ScanBounds::new(options.lower_bound.clone(), options.upper_bound.clone()));
        let entries = self.table.iter_within(options.for_table(IoActivity::Unknown), bounds);
        let tombstones = self.table.range_tombstones().cloned().map(RangeTombstoneSource::new);
        let source = SourceIterator::new(entries, order.clone(), tombstones);
        SstFileIter { inner: DbIterator::new(MergingIterator::new(order, vec![source]), settings, self.table.clone()) }
    }

    /// Shows `visit` every entry as it is stored, in the order of the internal keys, until it returns false. Range
    /// deletions are not among them: [`range_deletions`](Self::range_deletions) has these.
    ///
    /// # Errors
    /// `Corruption` for an entry that is none, and whatever ended the reads before the end of the table.
    pub fn visit_entries(&self, mut visit: impl FnMut(&ParsedInternalKey<'_>, &[u8]) -> bool) -> Result<()> {
        let mut entries = self.table.iter(TableReadOptions::default());
        entries.seek_to_first();
        while entries.valid() {
            let key = ParsedInternalKey::parse(entries.key()).map_err(|error| error.in_file(self.table.file_path()))?;
            if !visit(&key, entries.value()) {
                return Ok(());
            }
            entries.next();
        }
        entries.status()
    }

    /// The ranges of keys that the table deletes, in order and without overlaps: first key, and the key before which
    /// the range ends.
    #[must_use]
    pub fn range_deletions(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let Some(fragments) = self.table.range_tombstones() else { return Vec::new() };
        fragments.iter().map(|fragment| (fragment.start.to_vec(), fragment.end.to_vec())).collect()
    }

    /// The order of the keys.
    #[must_use]
    pub fn comparator(&self) -> &Comparator {
        self.table.comparator().user()
    }

    /// What the table says of itself.
    #[must_use]
    pub fn properties(&self) -> &Arc<TableProperties> {
        self.table.properties()
    }

    /// Reads the whole file and checks every checksum.
    ///
    /// # Errors
    /// `Corruption` naming file and offset; `Io` when the file cannot be read.
    pub fn verify_checksum(&self) -> Result<()> {
        self.table.verify_checksums(self.readahead_bytes, IoActivity::Unknown)
    }

    /// Counts the entries and compares them with what the properties say.
    ///
    /// # Errors
    /// `Corruption` naming the file when they differ; the error of a read.
    pub fn verify_num_entries(&self) -> Result<()> {
        let mut found = 0u64;
        self.visit_entries(|_, _| {
            found += 1;
            true
        })?;
        let properties = self.table.properties();
        let recorded = properties.num_entries.saturating_sub(properties.num_range_deletions);
        if found == recorded {
            return Ok(());
        }
        let message = format!("Table has num_entries mismatch: {recorded} are recorded, and {found} are there");
        Err(Error::corruption(message).in_file(self.table.file_path()))
    }
}

/// Goes over the keys of a table. See [`SstFileReader::iter`].
pub struct SstFileIter {
    inner: DbIterator<SourceIterator<TableIter>, Table>,
}

impl std::fmt::Debug for SstFileIter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SstFileIter")
            .field("valid", &self.valid())
            .field("key", &self.key().escape_ascii().to_string())
            .finish()
    }
}

impl SstFileIter {
    /// True when positioned on a key. When false, [`status`](Self::status) tells whether the end or an error was met.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.inner.valid()
    }

    /// The key; empty when not valid.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.inner.key()
    }

    /// The value; empty when not valid.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.inner.value()
    }

    /// Goes to the first key within the bounds.
    pub fn seek_to_first(&mut self) {
        self.inner.seek_to_first();
    }

    /// Goes to the last key within the bounds.
    pub fn seek_to_last(&mut self) {
        self.inner.seek_to_last();
    }

    /// Goes to the first key at or after `key`.
    pub fn seek(&mut self, key: &[u8]) {
        self.inner.seek(key);
    }

    /// Goes to the last key at or before `key`.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        self.inner.seek_for_prev(key);
    }

    /// Goes to the next key. Does nothing when not valid.
    pub fn next(&mut self) {
        self.inner.next();
    }

    /// Goes to the previous key. Does nothing when not valid.
    pub fn prev(&mut self) {
        self.inner.prev();
    }

    /// The error that ended the iteration, if one did.
    ///
    /// # Errors
    /// `Corruption` and `Io` of the file, `Incomplete` when `max_skippable_internal_keys` was reached,
    /// `InvalidArgument` for operands without a merge operator, `NotSupported` for a value in a blob file, of which the
    /// table alone does not know where it is.
    pub fn status(&self) -> Result<()> {
        self.inner.status()
    }
}
