//! Reads the records of a MANIFEST: framing, decoding, atomic groups.

use ferrock_base::{Error, Result};
use ferrock_format::log::{BlockSource, LogEvent, LogReader};
use ferrock_format::version_edit::{AtomicGroupBuffer, VersionEdit};
use ferrock_vfs::{FileSystem, SequentialFile, SequentialOptions};
use std::path::{Path, PathBuf};

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
pub(super) struct ManifestReader {
    path: PathBuf,
    reader: LogReader<FileSource>,
    group: AtomicGroupBuffer,
    scratch: Vec<u8>,
}

impl ManifestReader {
    pub(super) fn open(file_system: &dyn FileSystem, path: &Path) -> Result<Self> {
        let file = file_system.open_sequential(path, &SequentialOptions::default())?;
        Ok(Self {
            path: path.to_path_buf(),
            reader: LogReader::manifest(FileSource(file)),
            group: AtomicGroupBuffer::new(),
            scratch: Vec::new(),
        })
    }

    /// The next edits that count together, with the offset of the record that completed them. `None` at the end; a
    /// record or a group that the end of the file cuts off was never committed and is passed over.
    pub(super) fn next_edits(&mut self) -> Result<Option<(u64, Vec<VersionEdit>)>> {
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
                LogEvent::OldRecord { .. } | LogEvent::End => return Ok(None),
            };
            let edits = self.group.push(edit).map_err(|error| at(error, &self.path, offset))?;
            if !edits.is_empty() {
                return Ok(Some((offset, edits)));
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Names the place of an error in a record.
pub(super) fn at(error: Error, path: &Path, record_offset: u64) -> Error {
    let error = match error.offset() {
        Some(_) => error.offset_by(record_offset),
        None => error.at_offset(record_offset),
    };
    error.in_file(path)
}
