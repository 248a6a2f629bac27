//! Reads the records of a MANIFEST: framing, decoding, atomic groups.
//!
//! A crash may cut the last record, so an end that is no whole record is passed over. But a changed length in the
//! header of any record looks the same, if the record seems to reach past the end. Taken for a cut, it would silently
//! restore an old tree, and the tables of the newer one would count as obsolete. So the end counts as a cut only when
//! no intact record lies behind it.

use ferrock_base::checksum::{crc32c, mask_crc};
use ferrock_base::coding::get_fixed32;
use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::log::{
    BLOCK_SIZE_BYTES, BlockSource, LEGACY_HEADER_SIZE_BYTES, LogEvent, LogReader, intact_record,
};
use ferrock_format::version_edit::{AtomicGroupBuffer, VersionEdit};
use ferrock_vfs::{FileSystem, SequentialFile, SequentialOptions};
use std::path::{Path, PathBuf};

/// What the log reader takes for the number of a MANIFEST, which has no recyclable records.
const MANIFEST_NUMBER: FileNumber = FileNumber(0);

struct FileSource(Box<dyn SequentialFile>);

impl BlockSource for FileSource {
    fn read_block(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut length = 0;
        while length < buffer.len() {
            match self.0.read(&mut buffer[length..])? {
                0 => break,
                read => length += read,
            }
        }
        Ok(length)
    }
}

/// The edits of a MANIFEST, one committed group after the other.
pub struct ManifestReader<'a> {
    file_system: &'a dyn FileSystem,
    records: ManifestRecords,
}

/// A place in a MANIFEST, which is behind the edits that were read.
pub(super) struct ManifestRecords {
    path: PathBuf,
    reader: LogReader<FileSource>,
    group: AtomicGroupBuffer,
    scratch: Vec<u8>,
    /// The block that the end which was seen is in, up to there.
    last_block: Option<BlockBeforeEnd>,
}

/// Whether a reader goes on where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadOn {
    Yes,
    /// The end was not behind a whole record.
    Torn,
    /// The file has other bytes than those that were read.
    AnotherFile,
}

#[derive(Clone, Copy)]
struct BlockBeforeEnd {
    start: u64,
    length: usize,
    crc: u32,
}

impl<'a> ManifestReader<'a> {
    /// Begins at the first record of the MANIFEST at `path`.
    ///
    /// # Errors
    /// Those of opening the file.
    pub fn open(file_system: &'a dyn FileSystem, path: &Path) -> Result<Self> {
        Ok(Self { file_system, records: ManifestRecords::open(file_system, path)? })
    }

    /// The next edits that count together, with the offset of the record that completed them. `None` at the end; a
    /// record or a group that the end of the file cuts off was never committed and is passed over.
    ///
    /// # Errors
    /// `Corruption`, with file and offset, for damage that no crash leaves; the error of a read. No later call is
    /// meaningful then.
    pub fn next_edits(&mut self) -> Result<Option<(u64, Vec<VersionEdit>)>> {
        self.records.next_edits(self.file_system)
    }

    /// Where the last record that was read ends in the file.
    #[must_use]
    pub fn last_record_end(&self) -> u64 {
        self.records.last_record_end()
    }
}

impl ManifestRecords {
    /// Begins at the first record of the MANIFEST at `path`.
    pub(super) fn open(file_system: &dyn FileSystem, path: &Path) -> Result<Self> {
        let file = file_system.open_sequential(path, &SequentialOptions::default())?;
        Ok(Self {
            path: path.to_path_buf(),
            reader: LogReader::manifest(FileSource(file)),
            group: AtomicGroupBuffer::new(),
            scratch: Vec::new(),
            last_block: None,
        })
    }

    /// See [`ManifestReader::next_edits`]; `file_system` is the one that it was opened in.
    pub(super) fn next_edits(&mut self, file_system: &dyn FileSystem) -> Result<Option<(u64, Vec<VersionEdit>)>> {
        loop {
            let (offset, edit) = match self.reader.read_record(&mut self.scratch)? {
                LogEvent::Record { physical_offset, data } => {
                    // Offsets in a record are not offsets in the file: fragments have headers between them.
                    (
                        physical_offset,
                        VersionEdit::decode(data).map_err(|error| at(error, &self.path, physical_offset))?,
                    )
                }
                LogEvent::Corruption { offset, what, .. } => {
                    return Err(at(Error::corruption(what), &self.path, offset));
                }
                LogEvent::OldRecord { .. } | LogEvent::End => return self.check_end(file_system).map(|()| None),
            };
            let edits = self.group.push(edit).map_err(|error| at(error, &self.path, offset))?;
            if !edits.is_empty() {
                return Ok(Some((offset, edits)));
            }
        }
    }

    /// Looks for what came behind the end that was seen. Where this is not possible, only a reader from the beginning
    /// sees what is there.
    pub(super) fn read_on(&mut self, file_system: &dyn FileSystem) -> Result<ReadOn> {
        let Some(BlockBeforeEnd { start, length, crc }) = self.last_block.take() else { return Ok(ReadOn::Torn) };
        if !self.reader.is_behind_record() {
            return Ok(ReadOn::Torn);
        }
        // By its name: a database that was brought back from a copy has another file under it.
        let mut source = FileSource(file_system.open_sequential(&self.path, &SequentialOptions::default())?);
        source.0.skip(start)?;
        let mut block = vec![0; length];
        if source.read_block(&mut block)? < length || crc32c(&block) != crc {
            return Ok(ReadOn::AnotherFile);
        }
        *self.reader.source_mut() = source;
        self.reader.read_on()?;
        Ok(ReadOn::Yes)
    }

    pub(super) fn last_record_end(&self) -> u64 {
        self.reader.last_record_end()
    }

    /// What follows the last whole record is the beginning of one, or space that was reserved.
    fn check_end(&mut self, file_system: &dyn FileSystem) -> Result<()> {
        let end = self.reader.last_record_end();
        let mut source = FileSource(file_system.open_sequential(&self.path, &SequentialOptions::default())?);
        let block_start = end - end % BLOCK_SIZE_BYTES as u64;
        source.0.skip(block_start)?;
        let mut block = vec![0; BLOCK_SIZE_BYTES];
        let mut position = usize::try_from(end - block_start).unwrap_or(0);
        let mut offset = block_start;
        let mut first_damaged = None;
        self.last_block = match position {
            0 if end > 0 => Some(block_before(file_system, &self.path, end)?),
            _ => None,
        };
        loop {
            let length = source.read_block(&mut block)?;
            let content = &block[..length];
            if offset == block_start
                && self.last_block.is_none()
                && let Some(read) = content.get(..position)
            {
                self.last_block = Some(BlockBeforeEnd { start: block_start, length: position, crc: crc32c(read) });
            }
            while position < length {
                match intact_record(content.get(position..).unwrap_or_default(), MANIFEST_NUMBER) {
                    Some(size) if first_damaged.is_none() => position += size,
                    Some(_) => {
                        let damaged = first_damaged.unwrap_or(offset);
                        let what = "a record is damaged, and intact ones follow it";
                        return Err(at(Error::corruption(what), &self.path, damaged));
                    }
                    // The last bytes of a block are too few for a header.
                    None if first_damaged.is_none() && BLOCK_SIZE_BYTES - position < LEGACY_HEADER_SIZE_BYTES => break,
                    None => {
                        let at_position = offset + position as u64;
                        if first_damaged.is_none()
                            && let Some(what) = damaged_header(&content[position..])
                        {
                            return Err(at(Error::corruption(what), &self.path, at_position));
                        }
                        first_damaged.get_or_insert(at_position);
                        position += 1;
                    }
                }
            }
            offset += length as u64;
            // Corruption that does not reach the end of the file is reported by the log reader; one block more is
            // enough.
            if length < BLOCK_SIZE_BYTES || first_damaged.is_some_and(|damaged| damaged + 2 * (length as u64) < offset)
            {
                return Ok(());
            }
            position = 0;
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// The block that ends at `end`.
fn block_before(file_system: &dyn FileSystem, path: &Path, end: u64) -> Result<BlockBeforeEnd> {
    let mut source = FileSource(file_system.open_sequential(path, &SequentialOptions::default())?);
    let start = end - BLOCK_SIZE_BYTES as u64;
    source.0.skip(start)?;
    let mut block = vec![0; BLOCK_SIZE_BYTES];
    let length = source.read_block(&mut block)?;
    Ok(BlockBeforeEnd { start, length, crc: crc32c(&block[..length]) })
}

/// Distinguishes the header of a complete record from that of one being written at a crash, which has a valid type and
/// the checksum of bytes that are missing. The checksum does not cover the length.
fn damaged_header(bytes: &[u8]) -> Option<&'static str> {
    let covered = bytes.get(6..)?;
    match covered.first()? {
        0 => None,
        1..=4 => {
            let is_whole = covered.len() > 1 && get_fixed32(bytes, 0) == Some(mask_crc(crc32c(covered)));
            is_whole.then_some("the length of the last record is damaged")
        }
        _ => Some("the last record has a type that no MANIFEST has"),
    }
}

/// Adds the position in the file to an error in a record.
pub(super) fn at(error: Error, path: &Path, record_offset: u64) -> Error {
    let error = match error.offset() {
        Some(_) => error.offset_by(record_offset),
        None => error.at_offset(record_offset),
    };
    error.in_file(path)
}
