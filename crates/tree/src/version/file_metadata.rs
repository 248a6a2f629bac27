//! The tree's metadata of one table file.
//!
//! A [`FileMetadata`] is made once, when the file enters a level, and shared by every [`Version`](super::Version) that
//! holds the file there. The part that the MANIFEST records never changes; beside it lives what belongs to
//! the file and not to a version.
//!
//! ```text
//! recorded            number path size bounds sequences epoch times checksum unique id ...   immutable
//! learned at open     entries, deletions, raw sizes, times of newest and oldest entries      set once
//! running state       being compacted, marked, sampled reads                                 atomic
//! open table          of tables that stay open: with max_open_files = -1                      set once
//! covers              which of its range deletions may cover other tables                     shared when moved
//! charged             the bytes of all this, where a memory budget counts them               set once
//! ```
//!
//! `smallest` and `largest` are internal keys and part of the data: range tombstones count only within them, and a
//! `largest` that is the exclusive end of a range tombstone does not include its user key.

use super::Covers;
use crate::kept_table::KeptTable;
use ferrock_base::internal_key::user_key;
use ferrock_base::range_tombstone::FragmentedRangeTombstones;
use ferrock_cache::{Account, Held};
use ferrock_format::version_edit::NewFile;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Counts that a table's properties block holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStatistics {
    /// Entries, tombstones of all kinds included.
    pub num_entries: u64,
    /// Tombstones of all kinds.
    pub num_deletions: u64,
    /// Range tombstones.
    pub num_range_deletions: u64,
    /// Bytes of all keys before compression.
    pub raw_key_size_bytes: u64,
    /// Bytes of all values before compression.
    pub raw_value_size_bytes: u64,
}

/// One table file of the tree. Dereferences to what the MANIFEST records about it.
#[derive(Default)]
pub struct FileMetadata {
    recorded: NewFile,
    statistics: OnceLock<FileStatistics>,
    /// 0 = not known yet, or the properties do not say.
    newest_key_time_secs: AtomicU64,
    /// 0 = not known yet, or the properties do not say.
    oldest_entry_by_secs: AtomicU64,
    open_table: OnceLock<KeptTable>,
    covers: OnceLock<Arc<Covers>>,
    is_being_compacted: AtomicBool,
    is_marked: AtomicBool,
    collapsible_reads: AtomicU64,
    charged: OnceLock<Held>,
}

impl Deref for FileMetadata {
    type Target = NewFile;
    #[inline]
    fn deref(&self) -> &NewFile {
        &self.recorded
    }
}

impl From<NewFile> for FileMetadata {
    fn from(recorded: NewFile) -> Self {
        Self { recorded, ..Self::default() }
    }
}

impl FileMetadata {
    /// The file after a trivial move: recorded anew, with what was learned about it kept.
    #[must_use]
    pub fn moved(&self, recorded: NewFile) -> Self {
        Self {
            recorded,
            statistics: self.statistics.clone(),
            newest_key_time_secs: AtomicU64::new(self.newest_key_time_secs.load(Ordering::Relaxed)),
            oldest_entry_by_secs: AtomicU64::new(self.oldest_entry_by_secs.load(Ordering::Relaxed)),
            open_table: self.open_table.clone(),
            covers: self.covers.clone(),
            is_being_compacted: AtomicBool::new(false),
            is_marked: AtomicBool::new(false),
            collapsible_reads: AtomicU64::new(0),
            charged: OnceLock::new(),
        }
    }

    /// Counts the metadata for as long as it lives.
    pub(crate) fn charge(&self, account: &Arc<Account>) {
        // In the file's own record, in the list of its level, and in the index over the files.
        const BESIDE_IT_BYTES: usize = 64;
        let keys = self.smallest.capacity() + self.largest.capacity();
        self.charged.get_or_init(|| Held::new(account, size_of::<Self>() + keys + BESIDE_IT_BYTES));
    }

    /// What the MANIFEST records.
    #[must_use]
    pub fn recorded(&self) -> &NewFile {
        &self.recorded
    }

    /// User key of the first entry.
    #[inline]
    #[must_use]
    pub fn smallest_user_key(&self) -> &[u8] {
        user_key(&self.recorded.smallest)
    }

    /// User key of the last entry, or the exclusive end of the last range tombstone: see `largest_is_exclusive`.
    #[inline]
    #[must_use]
    pub fn largest_user_key(&self) -> &[u8] {
        user_key(&self.recorded.largest)
    }

    /// True while a compaction has the file as input.
    #[inline]
    #[must_use]
    pub fn is_being_compacted(&self) -> bool {
        self.is_being_compacted.load(Ordering::Acquire)
    }

    /// Sets whether a compaction has the file as input. Called under the lock that compactions are chosen under.
    pub fn set_being_compacted(&self, is_being_compacted: bool) {
        self.is_being_compacted.store(is_being_compacted, Ordering::Release);
    }

    /// True once a caller suggested to compact the file. Forgotten when the database is closed.
    #[inline]
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.is_marked.load(Ordering::Acquire)
    }

    /// Suggests to compact the file.
    pub fn mark_for_compaction(&self) {
        self.is_marked.store(true, Ordering::Release);
    }

    /// Reads that found nothing here but what a compaction would end: see [`read::sampling`](crate::read::sampling).
    /// Estimated from a sample; from 0 on again where the file is moved, or the database opened.
    #[must_use]
    pub fn collapsible_reads(&self) -> u64 {
        self.collapsible_reads.load(Ordering::Relaxed)
    }

    /// Counts such reads.
    pub fn add_collapsible_reads(&self, reads: u64) {
        self.collapsible_reads.fetch_add(reads, Ordering::Relaxed);
    }

    /// The counts of its properties block; `None` before the table was opened for the first time.
    #[must_use]
    pub fn statistics(&self) -> Option<FileStatistics> {
        self.statistics.get().copied()
    }

    /// Records the counts of its properties block. Only the first call has an effect.
    pub fn set_statistics(&self, statistics: FileStatistics) {
        let _ = self.statistics.set(statistics);
    }

    /// A moment at which the newest entry was there, in Unix seconds: what the table says once it was opened, before
    /// that and else when the file was written; 0 = unknown.
    #[must_use]
    pub fn newest_key_time_secs(&self) -> u64 {
        match self.newest_key_time_secs.load(Ordering::Relaxed) {
            0 => self.recorded.file_creation_time_secs,
            time => time,
        }
    }

    /// Records what the table says of its newest entry.
    pub fn set_newest_key_time_secs(&self, time: u64) {
        self.newest_key_time_secs.store(time, Ordering::Relaxed);
    }

    /// A time, in Unix seconds, by which the oldest entry had been written, as the table says once it was opened; 0 =
    /// unknown.
    #[must_use]
    pub fn oldest_entry_by_secs(&self) -> u64 {
        self.oldest_entry_by_secs.load(Ordering::Relaxed)
    }

    /// Records what the table says of its oldest entry.
    pub fn set_oldest_entry_by_secs(&self, time: u64) {
        self.oldest_entry_by_secs.store(time, Ordering::Relaxed);
    }

    /// What its range tombstones cover; `None` before the table was opened for the first time, and of one without.
    #[inline]
    #[must_use]
    pub fn covers(&self) -> Option<&Covers> {
        self.covers.get().map(|covers| &**covers)
    }

    /// Records the range tombstones of the table, which was opened, and whether it stays open as long as its file.
    pub fn set_range_tombstones(&self, fragments: &Arc<FragmentedRangeTombstones>, stays: bool) {
        self.covers.get_or_init(|| Arc::new(Covers::new(fragments))).reopened(fragments, stays);
    }

    /// The place of the open table, for a table cache that keeps every table open.
    #[inline]
    pub(crate) fn open_table(&self) -> &OnceLock<KeptTable> {
        &self.open_table
    }

    /// When the file was written, in Unix seconds; 0 = unknown.
    #[must_use]
    pub fn written_at_secs(&self) -> u64 {
        match self.recorded.file_creation_time_secs {
            0 => self.recorded.oldest_ancester_time_secs,
            time => time,
        }
    }
}

impl std::fmt::Debug for FileMetadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "L{} #{} {} bytes [{} .. {}] seq {}..{} epoch {:?}",
            self.level,
            self.number,
            self.size_bytes,
            self.smallest.escape_ascii(),
            self.largest.escape_ascii(),
            self.smallest_seqno,
            self.largest_seqno,
            self.epoch_number
        )
    }
}
