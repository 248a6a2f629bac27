//! A planned batch: performed, and each range given its own result.
//!
//! What went wrong with a request concerns the ranges in it alone, and of those only the ones whose bytes are missing:
//! when a run holds several ranges, the ones that did not come whole are read again by themselves, and get the outcome of
//! that.

use std::ops::Range;

use ferrock_base::Result;

use super::buffer::ReadBuffer;
use super::context::{ReadClass, ReadContext, ReadLabel};
use super::layer::{self, ReadLayer};
use super::plan::{Run, Wanted, coalesce};
use super::pool::{BufferPool, PooledMemory};
use crate::file_system::{FileSystem, RandomAccessFile, ReadRequest};

/// One range of a [`FileSystem::read_ranges`].
#[derive(Debug)]
pub struct RangeRead<'a> {
    /// The file to read, opened from the same file system.
    pub file: &'a dyn RandomAccessFile,
    /// Where to start.
    pub offset: u64,
    /// How many bytes are wanted.
    pub length: usize,
    /// What the bytes are counted as; `None`: as the context says.
    pub class: Option<ReadClass>,
    /// The bytes; fewer than wanted only where the file ends. Empty before the batch ran.
    pub result: Result<ReadBuffer>,
}

impl<'a> RangeRead<'a> {
    /// A range that was not read yet.
    pub fn new(file: &'a dyn RandomAccessFile, offset: u64, length: usize) -> Self {
        Self { file, offset, length, class: None, result: Ok(ReadBuffer::from_vec(offset, Vec::new())) }
    }

    /// The same, counted as `class`.
    #[must_use]
    pub fn of_class(self, class: ReadClass) -> Self {
        Self { class: Some(class), ..self }
    }
}

/// The range as far as the file goes; `None` when nothing of it is there.
fn wanted<F: RandomAccessFile + ?Sized>(file: &F, index: usize, offset: u64, length: usize) -> Option<Wanted> {
    let end = offset.saturating_add(length as u64).min(file.size());
    (offset < end).then_some(Wanted { index, start: offset, end })
}

fn unit_of<F: RandomAccessFile + ?Sized>(file: &F) -> u64 {
    file.direct_alignment().unwrap_or(1).max(1) as u64
}

fn take_memory(layer: Option<&ReadLayer>, length: usize) -> Result<PooledMemory> {
    match layer {
        Some(layer) => layer.pool().take(length),
        // A file of a foreign file system: memory that is used once.
        None => BufferPool::default().take(length),
    }
}

/// [`RandomAccessFile::read_range`] by requests one after the other.
pub(crate) fn read_range<F: RandomAccessFile + ?Sized>(
    file: &F,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> Result<ReadBuffer> {
    let layer = file.read_layer();
    let located = |error: ferrock_base::Error| error.in_file(file.path()).at_offset(offset);
    let watch = layer::start_watch(layer, context).map_err(located)?;
    let Some(wanted) = wanted(file, 0, offset, length) else {
        return Ok(ReadBuffer::from_vec(offset, Vec::new()));
    };
    let unit = unit_of(file);
    let run = Run::of(wanted, unit);
    let memory = take_memory(layer, run.length()).map_err(located)?;
    let read = read_run(file, &run, unit, memory, context)?;
    watch.check().map_err(located)?;
    Ok(read.slice_up_to(offset, length))
}

/// [`RandomAccessFile::read_owned`].
pub(crate) fn read_owned<F: RandomAccessFile + ?Sized>(
    file: &F,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> Result<Vec<u8>> {
    let context = ReadContext { max_request_bytes: usize::MAX, ..*context };
    if context.is_timed() || file.direct_alignment().is_some() {
        return Ok(file.read_range(offset, length, &context)?.bytes().to_vec());
    }
    // The length may come from a damaged file: no more memory than the file has bytes.
    let Some(wanted) = wanted(file, 0, offset, length) else { return Ok(Vec::new()) };
    let mut bytes = vec![0; usize::try_from(wanted.end - wanted.start).unwrap_or(usize::MAX)];
    let label = ReadLabel::whole(context.class, bytes.len());
    let read = file.read_at_as(offset, &mut bytes, label)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Reads a run that belongs to one range; ends early only where the file does.
fn read_run<F: RandomAccessFile + ?Sized>(
    file: &F,
    run: &Run,
    unit: u64,
    mut memory: PooledMemory,
    context: &ReadContext,
) -> Result<ReadBuffer> {
    let mut filled = 0;
    let mut label = ReadLabel { class: context.class, asked_bytes: run.asked_bytes };
    for length in run.request_lengths(unit, context.max_request_bytes) {
        let offset = run.start + filled as u64;
        let read = file.read_at_as(offset, &mut memory.bytes_mut()[filled..filled + length], label)?;
        label.asked_bytes = 0;
        filled += read;
        if read < length {
            break;
        }
    }
    Ok(ReadBuffer::from_pool(run.start, memory, 0..filled))
}

/// A run on its way through a batch.
struct RunRead<'a> {
    file: &'a dyn RandomAccessFile,
    unit: u64,
    run: Run,
    class: ReadClass,
    memory: PooledMemory,
    /// What became of its requests, in order.
    pieces: Vec<Piece>,
}

/// A request of a run: where it lies in the run's memory, and how much of that came.
struct Piece {
    place: Range<usize>,
    outcome: Result<usize>,
}

/// [`FileSystem::read_ranges`] by a batch of requests.
pub(crate) fn read_ranges<S: FileSystem + ?Sized>(file_system: &S, reads: &mut [RangeRead<'_>], context: &ReadContext) {
    let layer = file_system.read_layer();
    let watch = match layer::start_watch(layer, context) {
        Ok(watch) => watch,
        Err(error) => {
            for read in reads {
                read.result = Err(error.clone().in_file(read.file.path()).at_offset(read.offset));
            }
            return;
        }
    };
    let sorted = sort(reads);
    let mut runs = Vec::new();
    let mut refused = Vec::new();
    for same_file in sorted.chunk_by(|a, b| std::ptr::addr_eq(reads[a.index].file, reads[b.index].file)) {
        let file = reads[same_file[0].index].file;
        let unit = unit_of(file);
        for run in coalesce(same_file, unit, context.gap_bytes) {
            let members = same_file[run.members.clone()].to_vec();
            // Ranges that share requests are counted as the first of them.
            let class = members.first().and_then(|first| reads[first.index].class).unwrap_or(context.class);
            match take_memory(layer, run.length()) {
                Ok(memory) => runs.push((members, RunRead { file, unit, run, class, memory, pieces: Vec::new() })),
                Err(error) => refused.push((members, error)),
            }
        }
    }
    for (members, error) in refused {
        fail(reads, &members, &error);
    }
    perform(file_system, &mut runs, context);
    for (members, run) in runs {
        distribute(reads, &members, run, context);
    }
    if let Err(error) = watch.check() {
        for read in reads {
            read.result = Err(error.clone().in_file(read.file.path()).at_offset(read.offset));
        }
    }
}

/// The ranges that are not empty, by file and start.
fn sort(reads: &mut [RangeRead<'_>]) -> Vec<Wanted> {
    let mut sorted = Vec::with_capacity(reads.len());
    for (index, read) in reads.iter_mut().enumerate() {
        read.result = Ok(ReadBuffer::from_vec(read.offset, Vec::new()));
        sorted.extend(wanted(read.file, index, read.offset, read.length));
    }
    let key = |wanted: &Wanted| {
        let file = std::ptr::from_ref(reads[wanted.index].file).cast::<()>().addr();
        (file, wanted.start, wanted.end)
    };
    sorted.sort_unstable_by_key(key);
    sorted
}

fn fail(reads: &mut [RangeRead<'_>], members: &[Wanted], error: &ferrock_base::Error) {
    for member in members {
        let read = &mut reads[member.index];
        read.result = Err(error.clone().in_file(read.file.path()).at_offset(read.offset));
    }
}

/// Makes the requests of all runs and performs them together.
fn perform<S: FileSystem + ?Sized>(file_system: &S, runs: &mut [(Vec<Wanted>, RunRead<'_>)], context: &ReadContext) {
    let mut requests = Vec::with_capacity(runs.len());
    let mut places = Vec::with_capacity(runs.len());
    for (number, (_, read)) in runs.iter_mut().enumerate() {
        let mut rest = read.memory.bytes_mut();
        let mut start = 0;
        let mut label = ReadLabel { class: read.class, asked_bytes: read.run.asked_bytes };
        for length in read.run.request_lengths(read.unit, context.max_request_bytes) {
            let (buffer, after) = rest.split_at_mut(length);
            rest = after;
            requests.push(ReadRequest::labelled(read.file, read.run.start + start as u64, buffer, label));
            places.push((number, start..start + length));
            label.asked_bytes = 0;
            start += length;
        }
    }
    if requests.is_empty() {
        return;
    }
    file_system.read_batch(&mut requests);
    let outcomes: Vec<_> = requests.into_iter().map(|request| request.result).collect();
    for ((number, place), outcome) in places.into_iter().zip(outcomes) {
        runs[number].1.pieces.push(Piece { place, outcome });
    }
}

/// Gives the ranges of a run what was read for them.
fn distribute(reads: &mut [RangeRead<'_>], members: &[Wanted], run: RunRead<'_>, context: &ReadContext) {
    let RunRead { file, unit, run, class: _, memory, pieces } = run;
    // What the file has of the run.
    let present = usize::try_from(file.size().min(run.end) - run.start).unwrap_or(usize::MAX);
    let whole: Vec<Range<usize>> = complete_stretches(&pieces, present);
    let read = ReadBuffer::from_pool(run.start, memory, 0..present);
    for member in members {
        let place = (member.start - run.start) as usize..(member.end - run.start) as usize;
        let stretch = whole.iter().find(|stretch| stretch.start <= place.start && place.end <= stretch.end);
        let result = match stretch {
            Some(stretch) => Ok(read.limited_to(stretch.clone()).slice_up_to(member.start, place.len())),
            None if members.len() == 1 => first_failure(&pieces).map_or_else(
                || {
                    Ok(read
                        .limited_to(0..whole.first().map_or(0, |first| first.end))
                        .slice_up_to(member.start, place.len()))
                },
                Err,
            ),
            // Others share the requests: its own request tells what is wrong with this range.
            None => take_memory(file.read_layer(), Run::of(*member, unit).length())
                .and_then(|memory| read_run(file, &Run::of(*member, unit), unit, memory, context))
                .map(|read| read.slice_up_to(member.start, place.len())),
        };
        reads[member.index].result = result;
    }
}

/// Parts of a run's memory without a hole, where the file has `present` bytes of the run. The first begins at zero, even if
/// it is empty.
fn complete_stretches(pieces: &[Piece], present: usize) -> Vec<Range<usize>> {
    let mut stretches: Vec<Range<usize>> = Vec::with_capacity(1);
    stretches.push(0..0);
    for piece in pieces {
        let came = piece.outcome.as_ref().map_or(0, |&count| count);
        let end = (piece.place.start + came).min(present);
        match stretches.last_mut() {
            Some(last) if last.end == piece.place.start => last.end = end.max(last.end),
            _ => stretches.push(piece.place.start..end),
        }
    }
    stretches
}

fn first_failure(pieces: &[Piece]) -> Option<ferrock_base::Error> {
    pieces.iter().find_map(|piece| piece.outcome.as_ref().err().cloned())
}
