//! Appends records to a MANIFEST.

use ferrock_base::{FileNumber, Result, Temperature};
use ferrock_format::log::{HeaderFamily, LogWriter};
use ferrock_vfs::{FileSystem, WritableFile, WritableOptions, WritePurpose};
use std::path::Path;

/// An open MANIFEST. After an error it must be dropped: how much of the write is in the file is not known.
#[derive(Debug)]
pub(super) struct ManifestWriter {
    file: Box<dyn WritableFile>,
    log: LogWriter,
    size_bytes: u64,
}

impl ManifestWriter {
    /// Creates the file, with a hint to the file system, and space reserved ahead of its end; an existing one of that
    /// name is replaced.
    pub(super) fn create(
        file_system: &dyn FileSystem,
        path: &Path,
        temperature: Temperature,
        preallocate_bytes: u64,
    ) -> Result<Self> {
        let options =
            WritableOptions { temperature, preallocate_bytes, ..WritableOptions::for_purpose(WritePurpose::Manifest) };
        let file = file_system.create_writable(path, &options)?;
        Ok(Self { file, log: LogWriter::new(FileNumber(0), HeaderFamily::Legacy), size_bytes: 0 })
    }

    /// Frames one record into `out`, for [`append_and_sync`](Self::append_and_sync).
    pub(super) fn encode(&mut self, record: &[u8], out: &mut Vec<u8>) {
        self.log.encode_record(&[record], out);
    }

    pub(super) fn append_and_sync(&mut self, framed: &[u8]) -> Result<()> {
        self.file.append(framed)?;
        self.file.sync()?;
        self.size_bytes += framed.len() as u64;
        Ok(())
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
}
