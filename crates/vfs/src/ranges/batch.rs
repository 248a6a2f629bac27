//! Performs a planned batch and gives each range its own result.
//!
//! An error of a request concerns only the ranges in it, and of those only the ones whose bytes are missing: if a run
//! holds several ranges, each incomplete one is read again by a request of its own, and gets the outcome of that.

use std::ops::Range;

use ferrock_base::Result;

use super::begin::{Begun, begin};
use super::buffer::ReadBuffer;
use super::context::{ReadClass, ReadContext, ReadLabel};
use super::layer::{self, ReadLayer};
use super::pending::settle;
use super::plan::{Run, Wanted, coalesce};
use super::pool::{BufferPool, PooledMemory};
use super::reactor::{Ticket, WaitFailure};
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
    /// The class under which the bytes are counted; `None`: that of the context.
    pub class: Option<ReadClass>,
    /// The bytes; fewer than wanted only at the end of the file. Empty before the batch is performed.
    pub result: Result<ReadBuffer>,
}

impl<'a> RangeRead<'a> {
    /// A range that has not been read.
    pub fn new(file: &'a dyn RandomAccessFile, offset: u64, length: usize) -> Self {
        Self { file, offset, length, class: None, result: Ok(ReadBuffer::from_vec(offset, Vec::new())) }
    }

    /// The same, counted as `class`.
    #[must_use]
    pub fn of_class(self, class: ReadClass) -> Self {
        Self { class: Some(class), ..self }
    }
}

/// The range cut at the end of the file; `None` if nothing of it is in the file.
pub(crate) fn wanted<F: RandomAccessFile + ?Sized>(
    file: &F,
    index: usize,
    offset: u64,
    length: usize,
) -> Option<Wanted> {
    let end = offset.saturating_add(length as u64).min(file.size());
    (offset < end).then_some(Wanted { index, start: offset, end })
}

pub(crate) fn unit_of<F: RandomAccessFile + ?Sized>(file: &F) -> u64 {
    file.direct_alignment().unwrap_or(1).max(1) as u64
}

fn take_memory(layer: Option<&ReadLayer>, length: usize) -> Result<PooledMemory> {
    match layer {
        Some(layer) => layer.take_memory(length),
        // The file belongs to a foreign file system: the memory is used once.
        None => BufferPool::default().take(length),
    }
}

/// [`RandomAccessFile::read_range`], by one request after the other.
pub(crate) fn read_range<F: RandomAccessFile + ?Sized>(
    file: &F,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> Result<ReadBuffer> {
    let layer = file.read_layer();
    let located = |error: ferrock_base::Error| error.in_file(file.path()).at_offset(offset);
    let Begun { wanted, unit, watch, .. } = match begin(layer, file, offset, length, context) {
        Ok(begun) => begun,
        Err(over) => return over,
    };
    let run = Run::of(wanted, unit);
    let memory = take_memory(layer, run.length()).map_err(located)?;
    let read = match start_timed(layer, file, &run, unit, memory, context) {
        Ok(ticket) => match ticket.wait(&|| layer::time_left(layer, watch.end_us())) {
            Ok(completed) => {
                let (memory, pieces) = settle(file, &run, completed, context);
                finish_alone(file, &run, memory, &pieces)?
            }
            Err(WaitFailure::Late) => return Err(located(layer::took_too_long())),
            Err(WaitFailure::Broken) => {
                let memory = take_memory(layer, run.length()).map_err(located)?;
                read_run(file, &run, unit, memory, context)?
            }
        },
        Err(memory) => {
            let read = read_run(file, &run, unit, memory, context)?;
            watch.check().map_err(located)?;
            read
        }
    };
    Ok(read.slice_up_to(offset, length))
}

/// Puts a timed run on a ring, where it can be abandoned; gives the memory back if there is no ring for it.
fn start_timed<F: RandomAccessFile + ?Sized>(
    layer: Option<&ReadLayer>,
    file: &F,
    run: &Run,
    unit: u64,
    memory: PooledMemory,
    context: &ReadContext,
) -> std::result::Result<Ticket, PooledMemory> {
    let Some(layer) = layer.filter(|_| context.is_timed()) else { return Err(memory) };
    let (Some(reactor), Some(fd)) = (layer.reactor(), file.raw_fd()) else { return Err(memory) };
    let ticket = reactor.start(fd, run, run.request_lengths(unit, context.max_request_bytes), memory)?;
    layer.count_requests(run, unit, context);
    Ok(ticket)
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

/// A run of a batch, and its requests.
struct RunRead<'a> {
    file: &'a dyn RandomAccessFile,
    unit: u64,
    run: Run,
    class: ReadClass,
    memory: PooledMemory,
    /// The outcomes of its requests, in order.
    pieces: Vec<Piece>,
}

/// A request of a run: its place in the run's memory, and how many bytes were read.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) place: Range<usize>,
    pub(crate) outcome: Result<usize>,
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
            // A run is counted under the class of its first range.
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
    let mut in_flight = Vec::new();
    let mut runs = take_timed(layer, runs, &mut in_flight, context);
    perform(file_system, &mut runs, context);
    let late = watch.check();
    for (members, run) in runs {
        match &late {
            Ok(()) => distribute(reads, &members, run, context),
            Err(error) => fail(reads, &members, error),
        }
    }
    for RunInFlight { members, ticket, file, unit, run, class } in in_flight {
        match ticket.wait(&|| layer::time_left(layer, watch.end_us())) {
            Err(WaitFailure::Late) => fail(reads, &members, &layer::took_too_long()),
            Err(WaitFailure::Broken) => {
                for member in &members {
                    let length = (member.end - member.start) as usize;
                    let context = ReadContext { class, ..*context };
                    reads[member.index].result = file.read_range(member.start, length, &context);
                }
            }
            Ok(completed) => {
                let (memory, pieces) = settle(file, &run, completed, context);
                distribute(reads, &members, RunRead { file, unit, run, class, memory, pieces }, context);
            }
        }
    }
}

/// A timed run of a batch, in flight on a ring.
struct RunInFlight<'a> {
    members: Vec<Wanted>,
    ticket: Ticket,
    file: &'a dyn RandomAccessFile,
    unit: u64,
    run: Run,
    class: ReadClass,
}

/// Puts the runs of a timed batch on the ring, and returns those that the ring cannot take.
fn take_timed<'a>(
    layer: Option<&ReadLayer>,
    runs: Vec<(Vec<Wanted>, RunRead<'a>)>,
    in_flight: &mut Vec<RunInFlight<'a>>,
    context: &ReadContext,
) -> Vec<(Vec<Wanted>, RunRead<'a>)> {
    if !context.is_timed() {
        return runs;
    }
    let mut left = Vec::new();
    for (members, read) in runs {
        let RunRead { file, unit, run, class, memory, pieces } = read;
        match start_timed(layer, file, &run, unit, memory, &ReadContext { class, ..*context }) {
            Ok(ticket) => in_flight.push(RunInFlight { members, ticket, file, unit, run, class }),
            Err(memory) => left.push((members, RunRead { file, unit, run, class, memory, pieces })),
        }
    }
    left
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

/// Gives the ranges of a run their results.
fn distribute(reads: &mut [RangeRead<'_>], members: &[Wanted], run: RunRead<'_>, context: &ReadContext) {
    let RunRead { file, unit, run, class, memory, pieces } = run;
    let context = ReadContext { class, ..*context };
    if let [member] = members {
        let read = finish_alone(file, &run, memory, &pieces);
        let length = (member.end - member.start) as usize;
        reads[member.index].result = read.map(|read| read.slice_up_to(member.start, length));
        return;
    }
    let present = bytes_present(file, &run);
    let whole = complete_stretches(&pieces, present);
    let read = ReadBuffer::from_pool(run.start, memory, 0..present);
    for member in members {
        let place = (member.start - run.start) as usize..(member.end - run.start) as usize;
        let span = whole.iter().find(|span| span.start <= place.start && place.end <= span.end);
        reads[member.index].result = match span {
            Some(span) => Ok(read.limited_to(span.clone()).slice_up_to(member.start, place.len())),
            // The requests are shared: a request of its own shows whether this range fails.
            None => {
                let alone = Run::of(*member, unit);
                take_memory(file.read_layer(), alone.length())
                    .map_err(|error| error.in_file(file.path()).at_offset(member.start))
                    .and_then(|memory| read_run(file, &alone, unit, memory, &context))
                    .map(|read| read.slice_up_to(member.start, place.len()))
            }
        };
    }
}

/// The result of a run that belongs to one range: its bytes as far as the file goes, or the first error.
pub(crate) fn finish_alone<F: RandomAccessFile + ?Sized>(
    file: &F,
    run: &Run,
    memory: PooledMemory,
    pieces: &[Piece],
) -> Result<ReadBuffer> {
    let failure = pieces.iter().find_map(|piece| piece.outcome.as_ref().err());
    if let Some(error) = failure {
        return Err(error.clone());
    }
    let filled = complete_stretches(pieces, bytes_present(file, run)).first().map_or(0, |first| first.end);
    Ok(ReadBuffer::from_pool(run.start, memory, 0..filled))
}

/// How many bytes of a run the file has.
fn bytes_present<F: RandomAccessFile + ?Sized>(file: &F, run: &Run) -> usize {
    usize::try_from(file.size().min(run.end).saturating_sub(run.start)).unwrap_or(usize::MAX)
}

/// The contiguous parts of a run's memory that were read, where the file has `present` bytes of the run. The first
/// begins at zero, even if it is empty.
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
