//! Many ranges at once: sorted, coalesced to runs, read as one set, and each range given its own result.
//!
//! An error concerns only the ranges whose bytes are missing: each is read again by a request of its own, and gets the
//! outcome of that.

use std::sync::Arc;

use ferrock_base::{ErrorKind, Result};

use super::buffer::ReadBuffer;
use super::context::{ReadClass, ReadContext, ReadLabel};
use super::layer;
use super::plan::{Wanted, coalesce};
use super::range::{read_range, unit_of, wanted};
use crate::file::RandomAccessFile;
use crate::file_system::FileSystem;

/// One range of [`read_ranges`].
#[derive(Debug)]
pub struct RangeRead<'a> {
    /// The file to read, opened from the same file system.
    pub file: &'a Arc<dyn RandomAccessFile>,
    /// Where to start.
    pub offset: u64,
    /// How many bytes are wanted.
    pub length: usize,
    /// The class under which the bytes are counted; `None`: that of the context.
    pub class: Option<ReadClass>,
    /// The bytes; fewer than wanted only at the end of the file. Empty before the batch is performed.
    pub result: Result<ReadBuffer>,
}

impl<'a> RangeRead<'a> {
    /// A range that has not been read.
    pub fn new(file: &'a Arc<dyn RandomAccessFile>, offset: u64, length: usize) -> Self {
        Self { file, offset, length, class: None, result: Ok(ReadBuffer::from_vec(offset, Vec::new())) }
    }

    /// The same, counted as `class`.
    #[must_use]
    pub fn of_class(self, class: ReadClass) -> Self {
        Self { class: Some(class), ..self }
    }

    fn fail(&mut self, error: &ferrock_base::Error) {
        self.result = Err(error.clone().in_file(self.file.path()).at_offset(self.offset));
    }
}

/// Reads every range and sets its `result`; waits for all. Ranges of one file that are near each other share requests,
/// as the context says; all requests go out together. Each range has its own error.
pub fn read_ranges(file_system: &dyn FileSystem, reads: &mut [RangeRead<'_>], context: &ReadContext) {
    if let Err(error) = layer::start_watch(file_system.read_layer(), context) {
        return reads.iter_mut().for_each(|read| read.fail(&error));
    }
    let sorted = sort(reads);
    let mut runs = Vec::new();
    let mut stream = file_system.read_stream(context);
    for same_file in sorted.chunk_by(|a, b| Arc::ptr_eq(reads[a.index].file, reads[b.index].file)) {
        let file = reads[same_file[0].index].file;
        for run in coalesce(same_file, unit_of(&**file), context.gap_bytes) {
            let members = &same_file[run.members.clone()];
            // A run is counted under the class of its first range.
            let class = members.first().and_then(|first| reads[first.index].class).unwrap_or(context.class);
            let label = ReadLabel { class, asked_bytes: run.asked_bytes };
            stream.add(file, run.start, run.length(), label, runs.len());
            runs.push((members, class));
        }
    }
    while stream.take(&mut |tag, read| {
        let (members, class) = runs[tag];
        distribute(reads, members, &read, &ReadContext { class, ..*context });
    }) {}
}

/// The ranges that are not empty, by file and start.
fn sort(reads: &mut [RangeRead<'_>]) -> Vec<Wanted> {
    let mut sorted = Vec::with_capacity(reads.len());
    for (index, read) in reads.iter_mut().enumerate() {
        read.result = Ok(ReadBuffer::from_vec(read.offset, Vec::new()));
        sorted.extend(wanted(&**read.file, index, read.offset, read.length));
    }
    sorted.sort_unstable_by_key(|wanted| {
        (Arc::as_ptr(reads[wanted.index].file).cast::<()>().addr(), wanted.start, wanted.end)
    });
    sorted
}

/// Gives the ranges of a run their results.
fn distribute(reads: &mut [RangeRead<'_>], members: &[Wanted], run: &Result<ReadBuffer>, context: &ReadContext) {
    for member in members {
        let (read, length) = (&mut reads[member.index], (member.end - member.start) as usize);
        match run {
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::MemoryLimit) => read.fail(error),
            _ if members.len() == 1 => {
                read.result = run.clone().map(|run| run.cut_to(member.start, length));
            }
            _ => {
                let found = run.as_ref().ok().and_then(|run| run.slice(member.start, length));
                // The requests are shared: a request of its own shows whether this range fails.
                read.result = found.map_or_else(|| read_range(&**read.file, member.start, length, context), Ok);
            }
        }
    }
}
