//! The first step of every read of one range: start its time, cut it at the end of the file, align it.

use ferrock_base::Result;

use super::batch;
use super::buffer::ReadBuffer;
use super::context::ReadContext;
use super::layer::{ReadLayer, Watch, start_watch};
use super::plan::{ReadSpan, Wanted};
use crate::file_system::RandomAccessFile;

/// A range that is not empty in the file.
pub(super) struct Begun<'l> {
    /// The wanted range, cut where the file ends.
    pub(super) wanted: Wanted,
    /// The range aligned to units.
    pub(super) span: ReadSpan,
    pub(super) unit: u64,
    pub(super) watch: Watch<'l>,
}

/// Begins a read. `Err` holds the result of a read that needs no device: its deadline has passed, or the file has no
/// byte of the range.
pub(super) fn begin<'l, F: RandomAccessFile + ?Sized>(
    layer: Option<&'l ReadLayer>,
    file: &F,
    offset: u64,
    length: usize,
    context: &ReadContext,
) -> std::result::Result<Begun<'l>, Result<ReadBuffer>> {
    let watch = match start_watch(layer, context) {
        Ok(watch) => watch,
        Err(error) => return Err(Err(error.in_file(file.path()).at_offset(offset))),
    };
    let Some(wanted) = batch::wanted(file, 0, offset, length) else {
        return Err(Ok(ReadBuffer::from_vec(offset, Vec::new())));
    };
    let unit = batch::unit_of(file);
    Ok(Begun { wanted, span: ReadSpan::of(&wanted, unit), unit, watch })
}
