//! What every read of one range begins with: its time, its end and its units.

use ferrock_base::Result;

use super::batch;
use super::buffer::ReadBuffer;
use super::context::ReadContext;
use super::layer::{ReadLayer, Watch, start_watch};
use super::plan::{Stretch, Wanted};
use crate::file_system::RandomAccessFile;

/// A range of which there is something to read.
pub(super) struct Begun<'l> {
    /// What is wanted, cut where the file ends.
    pub(super) wanted: Wanted,
    /// The same in units.
    pub(super) stretch: Stretch,
    pub(super) unit: u64,
    pub(super) watch: Watch<'l>,
}

/// Begins a read; `Err` holds what became of one for which the device is not needed: its deadline has passed, or there is
/// nothing of the range in the file.
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
    Ok(Begun { wanted, stretch: Stretch::of(&wanted, unit), unit, watch })
}
