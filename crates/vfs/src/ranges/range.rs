//! Reads of one range on the calling thread, and what all reads of a range begin with: start its time, cut it at the
//! end of the file, align it.

use std::sync::Arc;

use ferrock_base::{Error, Result};

use super::buffer::ReadBuffer;
use super::context::{ReadContext, ReadLabel};
use super::driver::{DriverTicket, MAX_REQUEST_BYTES, Outcome, ReadSpec};
use super::layer::{self, ReadLayer, Watch, start_watch};
use super::plan::{PlacedRange, ReadSpan, Wanted, piece_lengths, request_bytes};
use super::pool::{BufferPool, PooledMemory};
use crate::file::RandomAccessFile;
use crate::limited::wait_for_limiter;

/// A range of a file, and how it is counted.
#[derive(Clone, Debug)]
pub(crate) struct FileRange {
    pub(crate) file: Arc<dyn RandomAccessFile>,
    pub(crate) offset: u64,
    pub(crate) length: usize,
    pub(crate) label: ReadLabel,
}

impl FileRange {
    /// Reads it on the calling thread.
    pub(crate) fn perform(&self, context: &ReadContext) -> Result<ReadBuffer> {
        read_as(&*self.file, self.offset, self.length, self.label, context)
    }

    /// Its place on the device; `None` if the file has no byte of it, or it does not fit into memory.
    pub(super) fn placed(&self, context: &ReadContext) -> Option<PlacedRange> {
        let (wanted, unit) = (wanted(&*self.file, 0, self.offset, self.length)?, unit_of(&*self.file));
        let span = ReadSpan::of(&wanted, unit);
        let piece_bytes = request_bytes(unit, context.max_request_bytes);
        Some(PlacedRange { start: span.start, length: usize::try_from(span.length()).ok()?, piece_bytes })
    }

    /// The error, with file and offset.
    pub(super) fn located(&self, error: Error) -> Error {
        error.in_file(self.file.path()).at_offset(self.offset)
    }
}

/// The range cut at the end of the file; `None` if nothing of it is in the file.
pub(super) fn wanted(file: &dyn RandomAccessFile, index: usize, offset: u64, length: usize) -> Option<Wanted> {
    let end = offset.saturating_add(length as u64).min(file.size());
    (offset < end).then_some(Wanted { index, start: offset, end })
}

pub(super) fn unit_of(file: &dyn RandomAccessFile) -> u64 {
    file.direct_alignment().unwrap_or(1).max(1) as u64
}

/// A range that is not empty in the file.
pub(super) struct Begun<'l> {
    /// The range, cut where the file ends, and aligned to units.
    pub(super) span: ReadSpan,
    pub(super) unit: u64,
    pub(super) watch: Watch<'l>,
}

/// Begins a read. `Err` holds the result of a read that needs no device: its deadline has passed, or the file has no
/// byte of the range.
pub(super) fn begin<'l>(
    layer: Option<&'l ReadLayer>,
    file: &dyn RandomAccessFile,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> std::result::Result<Begun<'l>, Result<ReadBuffer>> {
    let watch = match start_watch(layer, context) {
        Ok(watch) => watch,
        Err(error) => return Err(Err(error.in_file(file.path()).at_offset(offset))),
    };
    let Some(wanted) = wanted(file, 0, offset, length) else {
        return Err(Ok(ReadBuffer::from_vec(offset, Vec::new())));
    };
    let unit = unit_of(file);
    Ok(Begun { span: ReadSpan::of(&wanted, unit), unit, watch })
}

/// Starts a read on the shared ring of the file system; `None` if there is none for it.
pub(super) fn start_on_ring(
    layer: &ReadLayer,
    file: &dyn RandomAccessFile,
    begun: &Begun<'_>,
    label: ReadLabel,
    context: &ReadContext,
) -> Option<DriverTicket> {
    let Begun { span, unit, ref watch } = *begun;
    if span.length() > MAX_REQUEST_BYTES || i64::try_from(span.end).is_err() {
        return None;
    }
    let (descriptor, driver) = (file.descriptor()?, layer.driver()?);
    // What is started ahead is one request, as long as its caller wants it; a timed read is split as without a ring.
    let piece_bytes = request_bytes(unit, if context.is_timed() { context.max_request_bytes } else { usize::MAX });
    driver.start(ReadSpec { descriptor, span, piece_bytes, label, context: *context, end_us: watch.end_us() })
}

/// Reads a range into memory of the file system's pool, without a copy; shorter only at the end of the file. Requests
/// are as long as the context allows, one after the other.
///
/// # Errors
/// `Io` naming the file when the device fails; `TimedOut` when a request takes longer than the context allows.
pub fn read_range(
    file: &dyn RandomAccessFile,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> Result<ReadBuffer> {
    read_as(file, offset, length, label_of(file, offset, length, context), context)
}

/// The label of a range of which every byte that the file has is wanted.
pub(super) fn label_of(file: &dyn RandomAccessFile, offset: u64, length: usize, context: &ReadContext) -> ReadLabel {
    ReadLabel { class: context.class, asked_bytes: file.size().saturating_sub(offset).min(length as u64) }
}

/// As [`read_range`], counted by a label. A timed read goes to the ring, where it can be abandoned.
fn read_as(
    file: &dyn RandomAccessFile,
    offset: u64,
    length: usize,
    label: ReadLabel,
    context: &ReadContext,
) -> Result<ReadBuffer> {
    let layer = file.read_layer();
    let located = |error: Error| error.in_file(file.path()).at_offset(offset);
    let begun = match begin(layer, file, offset, length, context) {
        Ok(begun) => begun,
        Err(over) => return over,
    };
    wait_for_limiter(file, context, begun.span.length());
    let timed = layer.filter(|_| context.is_timed());
    let ticket = timed.and_then(|layer| start_on_ring(layer, file, &begun, label, context));
    match ticket.map(|ticket| ticket.wait(&|| layer::time_left(layer, begun.watch.end_us()))) {
        Some(Outcome::Complete(came)) => return Ok(came.cut_to(offset, length)),
        Some(Outcome::Late) => return Err(located(layer::took_too_long())),
        Some(Outcome::Refused(error)) => return Err(located(error)),
        Some(Outcome::WithoutRing) | None => {}
    }
    let memory = take_memory(layer, begun.span.length()).map_err(located)?;
    let read = read_pieces(file, &begun, memory, label, context)?;
    begun.watch.check().map_err(located)?;
    Ok(read.cut_to(offset, length))
}

fn take_memory(layer: Option<&ReadLayer>, length: u64) -> Result<PooledMemory> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    match layer {
        Some(layer) => layer.take_memory(length),
        // The file belongs to a foreign file system: the memory is used once.
        None => BufferPool::default().take(length),
    }
}

/// Reads a span by one request after the other; ends early only where the file does.
fn read_pieces(
    file: &dyn RandomAccessFile,
    begun: &Begun<'_>,
    mut memory: PooledMemory,
    mut label: ReadLabel,
    context: &ReadContext,
) -> Result<ReadBuffer> {
    let mut filled = 0;
    let length = memory.bytes().len();
    for length in piece_lengths(length, request_bytes(begun.unit, context.max_request_bytes)) {
        let offset = begun.span.start + filled as u64;
        let read = file.read_at(offset, &mut memory.bytes_mut()[filled..filled + length], label)?;
        label.asked_bytes = 0;
        filled += read;
        if read < length {
            break;
        }
    }
    Ok(ReadBuffer::from_pool(begun.span.start, memory, 0..filled))
}

/// As [`read_range`], into a vector of its own and by one request: for bytes that are kept. Only direct and timed reads
/// are copied.
///
/// # Errors
/// Those of [`read_range`].
pub fn read_owned(file: &dyn RandomAccessFile, offset: u64, length: usize, context: &ReadContext) -> Result<Vec<u8>> {
    let context = ReadContext { max_request_bytes: usize::MAX, ..*context };
    if context.is_timed() || file.direct_alignment().is_some() {
        return Ok(read_range(file, offset, length, &context)?.bytes().to_vec());
    }
    // The length may come from a damaged file: no more memory than the file has bytes.
    let Some(wanted) = wanted(file, 0, offset, length) else { return Ok(Vec::new()) };
    let mut bytes = vec![0; usize::try_from(wanted.end - wanted.start).unwrap_or(usize::MAX)];
    let label = ReadLabel::whole(context.class, bytes.len());
    wait_for_limiter(file, &context, bytes.len() as u64);
    let read = file.read_at(offset, &mut bytes, label)?;
    bytes.truncate(read);
    Ok(bytes)
}
