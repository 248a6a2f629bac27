//! Reads that are handed out one by one as they complete.
//!
//! ```text
//! add  add  add  add  start   add  add  add ...  start          take          take ...
//!                     [ the device works ------------------------------------------]
//! ```
//!
//! The caller plans further reads while the first ones are in flight, and processes completed ones while the last ones
//! are. The bytes lie in memory of the file system's pool, which is used again: the caller copies or decodes what it
//! keeps.

use std::collections::VecDeque;
use std::sync::Arc;

use ferrock_base::Result;

use crate::counters::IoCounters;
use crate::file_system::RandomAccessFile;
use crate::ranges::{ReadClass, ReadContext};

/// A stream of reads of one caller. Dropping it waits for the reads in flight.
pub trait ReadStream {
    /// Adds a read of `length` bytes at `offset`, counted as `class`. It begins at the next [`start`](Self::start) or
    /// [`take`](Self::take).
    fn add(&mut self, file: &Arc<dyn RandomAccessFile>, offset: u64, length: usize, class: ReadClass, tag: usize);

    /// Begins the added reads, as far as the device's queue has room. Does not wait.
    fn start(&mut self);

    /// Waits until some reads are complete and passes them to `on_read` with their tags, in any order: the bytes (fewer
    /// than wanted only at the end of the file) or the error. False if there was no read left.
    fn take(&mut self, on_read: &mut dyn FnMut(usize, Result<&[u8]>)) -> bool;
}

/// A read that was added and has not begun.
#[derive(Debug)]
pub(crate) struct AddedRead {
    pub(crate) file: Arc<dyn RandomAccessFile>,
    pub(crate) offset: u64,
    pub(crate) length: usize,
    pub(crate) class: ReadClass,
    pub(crate) tag: usize,
}

impl AddedRead {
    /// Performs the read now.
    pub(crate) fn perform(&self, context: &ReadContext, on_read: &mut dyn FnMut(usize, Result<&[u8]>)) {
        let context = ReadContext { class: self.class, max_request_bytes: usize::MAX, ..*context };
        let read = self.file.read_range(self.offset, self.length, &context);
        on_read(self.tag, read.as_ref().map(|read| read.bytes()).map_err(Clone::clone));
    }
}

/// A stream of reads that are performed one at a time, as they are taken.
#[derive(Debug)]
pub(crate) struct ReadsInTurn<'f> {
    counters: &'f IoCounters,
    context: ReadContext,
    added: VecDeque<AddedRead>,
    has_begun: bool,
}

impl<'f> ReadsInTurn<'f> {
    pub(crate) fn new(counters: &'f IoCounters, context: &ReadContext) -> Self {
        Self { counters, context: *context, added: VecDeque::new(), has_begun: false }
    }
}

impl ReadStream for ReadsInTurn<'_> {
    fn add(&mut self, file: &Arc<dyn RandomAccessFile>, offset: u64, length: usize, class: ReadClass, tag: usize) {
        self.counters.streamed(!self.has_begun);
        self.has_begun = true;
        self.added.push_back(AddedRead { file: Arc::clone(file), offset, length, class, tag });
    }

    fn start(&mut self) {}

    fn take(&mut self, on_read: &mut dyn FnMut(usize, Result<&[u8]>)) -> bool {
        let Some(read) = self.added.pop_front() else { return false };
        read.perform(&self.context, on_read);
        true
    }
}
