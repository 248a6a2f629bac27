//! Reading a range: the iterator that programs use.

use super::DbCore;
use super::search::{PinnedSlice, blob_view};
use crate::column_family::SuperVersion;
use crate::metrics::scans::{Movement, ScanTally};
use crate::options::ReadOptions;
use crate::resting::IterCore;
use crate::snapshot::Snapshot;
use crate::trace::{SeekTracer, Tracer};
use ferrock_base::{Error, Result};
use ferrock_format::trace::SeekDirection;
use ferrock_statistics::{PerfRecorder, Ticker};
use ferrock_table::{LimitReads, PlannedRead, ScanBounds};
use ferrock_tree::iterator::{IterWork, ReadSet};
use ferrock_vfs::{IoActivity, ReadBuffer};
use std::sync::Arc;

/// Iterates over the keys of a column family in both directions, as of one moment. `'static` and `Send`: it may be kept
/// in a struct, moved between threads, and outlive the [`Db`](super::Db).
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(directory.path(), options)?;
/// db.put(b"a", b"1")?;
/// db.put(b"b", b"2")?;
/// let mut iter = db.iter(&ferrock::ReadOptions::default());
/// iter.seek(b"b");
/// assert_eq!((iter.key(), iter.value()), (&b"b"[..], &b"2"[..]));
/// iter.prev();
/// assert_eq!(iter.key(), b"a");
/// iter.prev();
/// assert!(!iter.valid());
/// iter.status()?;
/// # Ok(())
/// # }
/// ```
pub struct Iter {
    /// `None` when there is nothing but an error.
    core: Option<Box<IterCore<SuperVersion>>>,
    failure: Option<Error>,
    limit: (u64, LimitReads),
    /// Where something counts, or a trace is on.
    watched: Option<Box<Watched>>,
}

/// What is told of an iterator that was made while something asked for it.
#[derive(Default)]
struct Watched {
    tally: Option<ScanTally>,
    trace: Option<SeekTracer>,
}

impl std::fmt::Debug for Iter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iter")
            .field("valid", &self.valid())
            .field("key", &self.key().escape_ascii().to_string())
            .finish()
    }
}

impl Drop for Iter {
    fn drop(&mut self) {
        if let Some(core) = self.core.take() {
            if let Some(tally) = self.watched.as_ref().and_then(|watched| watched.tally.as_ref()) {
                tally.end(&core.iter.work());
            }
            core.end();
        }
    }
}

impl Iter {
    pub(super) fn new(core: Box<IterCore<SuperVersion>>, options: &ReadOptions) -> Self {
        Self { core: Some(core), failure: None, limit: (options.limit_hint, options.limit_reads), watched: None }
    }

    /// True when positioned on a key. When false, [`status`](Self::status) tells whether the end or an error was met.
    #[inline]
    #[must_use]
    pub fn valid(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.iter.valid())
    }

    /// The key; empty when not valid. Good until the iterator moves.
    #[inline]
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.core.as_ref().map_or(&[], |core| core.iter.key())
    }

    /// The value; empty when not valid. Good until the iterator moves.
    #[inline]
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.core.as_ref().map_or(&[], |core| core.iter.value())
    }

    /// The value, kept: without a copy when it lies in a cached block.
    #[must_use]
    pub fn pin_value(&self) -> PinnedSlice {
        self.core.as_ref().map_or(PinnedSlice::Owned(Vec::new()), |core| core.iter.pin_value())
    }

    #[inline]
    fn note_read(&self) {
        if let Some(core) = &self.core {
            core.reads.0.note_range_read(core.reads.1);
        }
    }

    /// The same iterator, counted where something counts.
    #[inline(always)]
    pub(super) fn counted(mut self, db: &DbCore) -> Self {
        if db.metrics.statistics().is_some() || PerfRecorder::is_used() {
            self.begin_tally(db);
        }
        self
    }

    fn begin_tally(&mut self, db: &DbCore) {
        let before = self.core.as_ref().map_or_else(IterWork::default, |core| core.iter.work());
        if let Some(tally) = ScanTally::begin(db.metrics.statistics(), &db.env.clock, before) {
            self.watched.get_or_insert_default().tally = Some(tally);
        }
    }

    /// Has its seeks written down from now on.
    #[cold]
    pub(super) fn begin_trace(&mut self, tracer: &Arc<Tracer>, family: u32, options: &ReadOptions) {
        let bounds = [options.lower_bound.as_deref(), options.upper_bound.as_deref()];
        self.watched.get_or_insert_default().trace = Some(SeekTracer::new(tracer, family, bounds));
    }

    #[inline]
    fn trace(&self, write_down: impl FnOnce(&SeekTracer)) {
        if let Some(trace) = self.watched.as_ref().and_then(|watched| watched.trace.as_ref()) {
            write_down(trace);
        }
    }

    #[inline]
    fn place(&mut self, movement: Movement, place: impl FnOnce(&mut IterCore<SuperVersion>)) {
        self.note_read();
        if self.watched.is_some() {
            return self.place_watched(movement, place);
        }
        if let Some(core) = &mut self.core {
            place(core);
        }
    }

    /// Moves an iterator of which something is told: its counts, if it has some.
    fn place_watched(&mut self, movement: Movement, place: impl FnOnce(&mut IterCore<SuperVersion>)) {
        let tally = self.watched.as_ref().and_then(|watched| watched.tally.as_ref());
        let watch = tally.filter(|_| movement == Movement::Seek).and_then(ScanTally::watch);
        let is_counted = tally.is_some();
        let timer = is_counted.then(|| ScanTally::processor_timer(movement));
        if let Some(core) = &mut self.core {
            place(core);
        }
        drop(timer);
        if !is_counted {
            return;
        }
        let bytes = self.valid().then(|| (self.key().len() + self.value().len()) as u64);
        if let Some(tally) = self.watched.as_mut().and_then(|watched| watched.tally.as_mut()) {
            tally.note(movement, watch, bytes);
        }
    }

    /// An iterator that has nothing but an error.
    #[doc(hidden)]
    #[must_use]
    pub fn failed(error: Error) -> Self {
        Self { core: None, failure: Some(error), limit: Default::default(), watched: None }
    }

    /// Has placements pause, or not, for a caller that makes the reads of several iterators as one set.
    pub(super) fn set_driven(&mut self, is_driven: bool) {
        if let Some(core) = &mut self.core {
            core.may_rest = false;
            core.iter.set_driven(is_driven);
        }
    }

    /// From now on the iterator pauses where it would have to read, going forward, or does not any more.
    pub(super) fn set_pausing(&mut self, pauses: bool) {
        if let Some(core) = &mut self.core {
            core.may_rest = false;
            core.iter.set_pausing(pauses);
        }
    }

    /// True when the iterator waits to be resumed.
    pub(super) fn is_paused(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.iter.is_paused())
    }

    /// Adds the reads to make before the iterator is resumed, with the owner of each by its child. It adds none when
    /// the iterator has to read for itself.
    pub(super) fn needs<O>(&mut self, set: &mut ReadSet<O>, owner: impl Fn(usize) -> O) {
        if let Some(core) = &mut self.core {
            core.iter.needs(set, owner);
        }
    }

    /// Takes what a read brought.
    pub(super) fn supply(&mut self, child: usize, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        if let Some(core) = &mut self.core {
            core.iter.supply(child, read, bytes);
        }
    }

    /// Goes on after a pause. The iterator may be paused again then.
    pub(super) fn resume(&mut self) {
        if let Some(core) = &mut self.core {
            core.iter.resume();
        }
    }

    /// Hidden entries (deletions, and what is deleted or overwritten) that the iterator has passed, going forward,
    /// since it was made: what its steps cost beside the keys they show.
    #[must_use]
    pub fn passed_entries(&self) -> u64 {
        self.core.as_ref().map_or(0, |core| core.iter.passed_entries())
    }

    /// Replaces the `limit_hint` of the options from the next seek on: a query that has taken some of its rows seeks
    /// with fewer left.
    pub fn set_limit_hint(&mut self, rows: u64) {
        self.limit.0 = rows;
        if let Some(core) = &mut self.core {
            core.iter.set_limit_hint(rows);
        }
    }

    /// Changes the bounds (user keys; inclusive below, exclusive above) and goes to the first key within them.
    ///
    /// As a new iterator with these bounds, as of the same moment; but what this one has in memory stays of use:
    /// partitions of indexes, the blocks that it stands on, and bytes that it has read ahead. A range in the same block
    /// costs no read.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// # for key in [b"a", b"b", b"c", b"d"] { db.put(key, b"")?; }
    /// let mut iter = db.iter(&ferrock::ReadOptions::default());
    /// iter.fast_forward(Some(b"b"), Some(b"c"));
    /// assert_eq!(iter.key(), b"b");
    /// iter.next();
    /// assert!(!iter.valid());
    /// iter.fast_forward(Some(b"d"), None);
    /// assert_eq!(iter.key(), b"d");
    /// # iter.status()
    /// # }
    /// ```
    pub fn fast_forward(&mut self, lower: Option<&[u8]>, upper: Option<&[u8]>) {
        let (limit_hint, limit_reads) = self.limit;
        if let Some(trace) = self.watched.as_mut().and_then(|watched| watched.trace.as_mut()) {
            trace.set_bounds([lower, upper]);
            trace.seek(SeekDirection::Forward, lower.unwrap_or_default());
        }
        self.place(Movement::Seek, |core| {
            let owned = |key: Option<&[u8]>| key.map(<[u8]>::to_vec);
            let bounds = ScanBounds::new(owned(lower), owned(upper)).with_limit_hint(limit_hint);
            let bounds = bounds.with_limit_reads(limit_reads);
            core.iter.fast_forward(lower, upper, &Arc::new(bounds));
        });
    }

    /// Goes to the first key within the bounds.
    pub fn seek_to_first(&mut self) {
        self.trace(|trace| trace.seek_to_bound(SeekDirection::Forward));
        self.place(Movement::Edge, |core| core.iter.seek_to_first());
    }

    /// Goes to the last key within the bounds.
    pub fn seek_to_last(&mut self) {
        self.trace(|trace| trace.seek_to_bound(SeekDirection::Backward));
        self.place(Movement::Edge, |core| core.iter.seek_to_last());
    }

    /// Goes to the first key at or after `key`.
    ///
    /// ```
    /// # extern crate ferrock_engine as ferrock;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(&path, options.clone())?;
    /// for key in [b"a", b"c", b"e"] {
    ///     db.put(key, b"")?;
    /// }
    /// let mut iter = db.iter(&ferrock::ReadOptions::default());
    /// iter.seek(b"b");
    /// let mut keys = Vec::new();
    /// while iter.valid() {
    ///     keys.push(iter.key().to_vec());
    ///     iter.next();
    /// }
    /// iter.status()?; // an iterator that an error ended is not valid, either
    /// assert_eq!(keys, [b"c", b"e"]);
    /// # Ok::<(), ferrock::Error>(())
    /// ```
    pub fn seek(&mut self, key: &[u8]) {
        self.trace(|trace| trace.seek(SeekDirection::Forward, key));
        self.place(Movement::Seek, |core| core.iter.seek(key));
    }

    /// Goes to the last key at or before `key`.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        self.trace(|trace| trace.seek(SeekDirection::Backward, key));
        self.place(Movement::Seek, |core| core.iter.seek_for_prev(key));
    }

    /// Goes to the next key. Does nothing when not valid.
    #[inline]
    pub fn next(&mut self) {
        if self.watched.is_some() {
            return self.place_watched(Movement::Next, |core| core.iter.next());
        }
        if let Some(core) = &mut self.core {
            core.iter.next();
        }
    }

    /// Goes to the previous key. Does nothing when not valid.
    #[inline]
    pub fn prev(&mut self) {
        if self.watched.is_some() {
            return self.place_watched(Movement::Prev, |core| core.iter.prev());
        }
        if let Some(core) = &mut self.core {
            core.iter.prev();
        }
    }

    /// The error that ended the iteration, if one did.
    ///
    /// # Errors
    /// What ended the iteration before its end: `Corruption` and `Io` of a file, `Incomplete` when the read may not
    /// touch files or [`max_skippable_internal_keys`](ReadOptions::max_skippable_internal_keys) was reached,
    /// `InvalidArgument` for operands without a merge operator. A new seek clears it.
    pub fn status(&self) -> Result<()> {
        match (&self.core, &self.failure) {
            (Some(core), _) => core.iter.status(),
            (None, Some(error)) => Err(error.clone()),
            (None, None) => Ok(()),
        }
    }
}

/// See [`Db::verify_checksum`](super::Db::verify_checksum).
pub(crate) fn verify_checksum(core: &Arc<DbCore>) -> Result<()> {
    let readahead = core.options.load().compaction_readahead_size;
    for data in core.families.load().iter() {
        let pinned = data.super_version.load();
        for (_, file) in pinned.version.files() {
            let table = data.table_cache.get_for(file, IoActivity::VerifyDbChecksum)?;
            table.verify_checksums(readahead, IoActivity::VerifyDbChecksum)?;
            if let Some(recorder) = core.metrics.recorder() {
                recorder.add(Ticker::VerifyChecksumReadBytes, file.size_bytes);
            }
        }
        blob_view(core, data, &pinned.version, &ReadOptions::default()).verify_all()?;
    }
    Ok(())
}

/// Iterators move between threads.
const _: fn() = || {
    fn is_send<T: Send + 'static>() {}
    is_send::<Iter>();
    is_send::<PinnedSlice>();
    is_send::<Snapshot>();
};
