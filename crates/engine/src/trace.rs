//! Tracing: what programs ask of the database, written to a file as RocksDB writes it
//! (`format/src/trace/`, docs/tracing.md).
//!
//! ```text
//! Db::put, get, multi_get, Iter::seek --> is_on? --yes--> filter, sample --> lock --> frame --> file
//!                                            no: one load of an atomic
//! ```
//!
//! A trace never fails the operation that it writes down: its first error ends it, and
//! [`Db::end_trace`](crate::Db::end_trace) tells that error. Its lock is a leaf; the file is written while it is held,
//! so operations of many threads are written one after the other.

use ferrock_base::clock::Clock;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::trace::{self, FRAME_HEADER_SIZE_BYTES, SeekDirection};
use ferrock_format::write_batch::WriteBatch;
use ferrock_vfs::{FileSystem, WritableFile, WritableOptions};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What [`Db::start_trace`](crate::Db::start_trace) writes down. The defaults are RocksDB's.
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// use ferrock::TraceOptions;
/// let mut options = TraceOptions::default();
/// options.sampling_frequency = 10;
/// options.filter = TraceOptions::FILTER_WRITES;
/// assert_eq!(options.max_trace_file_size, 64 << 30);
/// ```
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// Bytes from which on nothing more is written: an operation is left out when the file is larger than this.
    pub max_trace_file_size: u64,
    /// One of so many operations is written, of those that the filter lets through; 0 and 1: each.
    pub sampling_frequency: u64,
    /// Kinds of operations that are left out: a sum of `FILTER_...`. Other bits mean nothing.
    pub filter: u64,
    /// Batches are written down in the order in which they get their sequence numbers, by the thread that leads a group
    /// of writers; otherwise each thread writes its batch down before it waits for its turn.
    pub preserve_write_order: bool,
    /// Where the file of the trace is; `None`: in the file system of the database.
    pub file_system: Option<Arc<dyn FileSystem>>,
}

impl TraceOptions {
    /// Leaves out keys that are read.
    pub const FILTER_GETS: u64 = 1;
    /// Leaves out batches that are written.
    pub const FILTER_WRITES: u64 = 1 << 1;
    /// Leaves out seeks forward.
    pub const FILTER_SEEKS: u64 = 1 << 2;
    /// Leaves out seeks backward.
    pub const FILTER_SEEKS_FOR_PREV: u64 = 1 << 3;
    /// Leaves out keys that are read at once.
    pub const FILTER_MULTI_GETS: u64 = 1 << 4;
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            max_trace_file_size: 64 << 30,
            sampling_frequency: 1,
            filter: 0,
            preserve_write_order: false,
            file_system: None,
        }
    }
}

/// A trace that is being written.
struct OpenTrace {
    file: Box<dyn WritableFile>,
    options: TraceOptions,
    /// Operations that were left out since the last one that was written.
    left_out: u64,
    /// One frame after the other is put together here.
    frame: Vec<u8>,
    failure: Option<Error>,
}

impl OpenTrace {
    fn lets_through(&mut self, filter: u64) -> bool {
        if self.failure.is_some()
            || self.file.size() > self.options.max_trace_file_size
            || self.options.filter & filter != 0
        {
            return false;
        }
        self.left_out += 1;
        let is_next = self.left_out >= self.options.sampling_frequency;
        if is_next {
            self.left_out = 0;
        }
        is_next
    }

    fn write(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        self.frame.clear();
        encode(&mut self.frame);
        if self.frame.len() - FRAME_HEADER_SIZE_BYTES > u32::MAX as usize {
            self.failure = Some(
                Error::not_supported("an operation of 4 GiB and more does not fit into a trace")
                    .in_file(self.file.path()),
            );
        } else if let Err(error) = self.file.append(&self.frame) {
            self.failure = Some(error.context("writing a trace, which ended here"));
        }
        // One huge batch does not keep its memory for all of the trace.
        self.frame.shrink_to(1 << 20);
    }

    fn end(mut self, timestamp_us: u64) -> Result<()> {
        if self.failure.is_none() {
            self.write(|out| trace::encode_end(out, timestamp_us));
        }
        let closed = self.file.close();
        self.failure.map_or(closed, Err)
    }
}

/// Writes down what the database is asked, while a trace is on.
pub(crate) struct Tracer {
    is_on: AtomicBool,
    keeps_write_order: AtomicBool,
    clock: Arc<dyn Clock>,
    open: Mutex<Option<OpenTrace>>,
}

impl Tracer {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { is_on: AtomicBool::new(false), keeps_write_order: AtomicBool::new(false), clock, open: Mutex::default() }
    }

    /// Begins a trace in a new file. One that is on ends first, as after [`end`](Self::end): its file may be the same.
    pub(crate) fn start(&self, database: &Arc<dyn FileSystem>, path: &Path, options: TraceOptions) -> Result<()> {
        let mut open = self.open.lock();
        let ended = self.end_open(&mut open).map(drop);
        let file_system = options.file_system.as_ref().unwrap_or(database);
        let file = file_system.create_writable(path, &WritableOptions::default())?;
        let mut trace = OpenTrace { file, options, left_out: 0, frame: Vec::new(), failure: None };
        trace.write(|out| trace::encode_begin(out, self.clock.unix_us()));
        if let Some(error) = trace.failure {
            return Err(error);
        }
        self.keeps_write_order.store(trace.options.preserve_write_order, Ordering::Relaxed);
        *open = Some(trace);
        self.is_on.store(true, Ordering::Relaxed);
        ended
    }

    fn end_open(&self, open: &mut Option<OpenTrace>) -> Result<bool> {
        self.is_on.store(false, Ordering::Relaxed);
        self.keeps_write_order.store(false, Ordering::Relaxed);
        open.take().map_or(Ok(false), |trace| trace.end(self.clock.unix_us()).map(|()| true))
    }

    /// Ends the trace that is on; false where none is.
    pub(crate) fn end_if_on(&self) -> Result<bool> {
        self.end_open(&mut self.open.lock())
    }

    /// Ends the trace that is on.
    pub(crate) fn end(&self) -> Result<()> {
        match self.end_if_on()? {
            true => Ok(()),
            // RocksDB's message.
            false => Err(Error::new(ErrorKind::Io, "No trace file to close")),
        }
    }

    /// True while a trace is on.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// True while a trace is on that has batches in the order of their sequence numbers.
    #[inline]
    pub(crate) fn keeps_write_order(&self) -> bool {
        self.keeps_write_order.load(Ordering::Relaxed)
    }

    #[cold]
    fn add(&self, filter: u64, is_in_order: bool, encode: impl FnOnce(&mut Vec<u8>, u64)) {
        let mut open = self.open.lock();
        let Some(trace) = open.as_mut() else { return };
        let is_elsewhere = filter == TraceOptions::FILTER_WRITES && trace.options.preserve_write_order != is_in_order;
        if !is_elsewhere && trace.lets_through(filter) {
            let now = self.clock.unix_us();
            trace.write(|out| encode(out, now));
        }
    }

    /// Writes a key down that is read.
    #[inline]
    pub(crate) fn get(&self, family: u32, key: &[u8]) {
        if self.is_on() {
            self.add(TraceOptions::FILTER_GETS, false, |out, now| trace::encode_get(out, now, family, key));
        }
    }

    /// Writes keys down that are read at once, each with its family.
    #[inline]
    pub(crate) fn multi_get<'a>(&self, keys: impl ExactSizeIterator<Item = (u32, &'a [u8])>) {
        if self.is_on() && keys.len() > 0 {
            self.add(TraceOptions::FILTER_MULTI_GETS, false, |out, now| trace::encode_multi_get(out, now, keys));
        }
    }

    /// Writes a batch down before its writer waits for its turn.
    #[inline]
    pub(crate) fn write(&self, batch: &WriteBatch) {
        if self.is_on() {
            self.add_batch(batch, false);
        }
    }

    /// Writes a batch down at its turn, if the trace is to have batches in their order.
    pub(crate) fn write_in_order(&self, batch: &WriteBatch) {
        self.add_batch(batch, true);
    }

    fn add_batch(&self, batch: &WriteBatch, is_in_order: bool) {
        let filter = TraceOptions::FILTER_WRITES;
        self.add(filter, is_in_order, |out, now| trace::encode_write(out, now, batch.data()));
    }
}

/// What an iterator that was made while a trace was on writes its seeks with.
pub(crate) struct SeekTracer {
    tracer: Arc<Tracer>,
    family: u32,
    bounds: [Option<Vec<u8>>; 2],
}

impl SeekTracer {
    /// For an iterator of a family, within bounds.
    pub(crate) fn new(tracer: &Arc<Tracer>, family: u32, bounds: [Option<&[u8]>; 2]) -> Self {
        Self { tracer: Arc::clone(tracer), family, bounds: bounds.map(|key| key.map(<[u8]>::to_vec)) }
    }

    /// Changes the bounds.
    pub(crate) fn set_bounds(&mut self, bounds: [Option<&[u8]>; 2]) {
        self.bounds = bounds.map(|key| key.map(<[u8]>::to_vec));
    }

    /// Writes a way to the first or last key down: as RocksDB, which seeks to a bound where there is one, and writes
    /// nothing where there is none.
    pub(crate) fn seek_to_bound(&self, direction: SeekDirection) {
        let [lower, upper] = &self.bounds;
        let bound = if direction == SeekDirection::Forward { lower } else { upper };
        if let Some(bound) = bound.as_deref().filter(|_| self.tracer.is_on()) {
            self.seek(direction, bound);
        }
    }

    /// Writes a seek down.
    pub(crate) fn seek(&self, direction: SeekDirection, key: &[u8]) {
        let filter = match direction {
            SeekDirection::Forward => TraceOptions::FILTER_SEEKS,
            SeekDirection::Backward => TraceOptions::FILTER_SEEKS_FOR_PREV,
        };
        if self.tracer.is_on() {
            let [lower, upper] = &self.bounds;
            let bounds = [lower.as_deref(), upper.as_deref()];
            self.tracer.add(filter, false, |out, now| {
                trace::encode_seek(out, now, direction, (self.family, key), bounds);
            });
        }
    }
}
