//! A blob file that is being written.
//!
//! ```text
//! 000012.dbtmp   header | record | record ...        while it grows
//! 000012.dbtmp   header | records | footer           synced
//! 000012.blob                                        renamed: from now on references may be followed
//! ```
//!
//! A file without footer under its own name may be one that a writer of another engine has left, with values that only
//! a log refers to, so no clean-up may remove it. What a flush or compaction leaves when it is cut off is worth
//! nothing: until it is complete, the file has the name of a temporary one, and the next open removes it, be it
//! RocksDB's.

use super::file_reader::{BlobFileReader, FooterRule};
use ferrock_base::file_checksum::{FileChecksumGenFactory, generator_for};
use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::blob_file::{BlobFileFooter, BlobFileHeader, BlobRecordHeader};
use ferrock_format::blob_index::BlobReference;
use ferrock_format::compression::{CompressionOptions, CompressionType, Compressor};
use ferrock_format::file_name;
use ferrock_format::version_edit::BlobFileAddition;
use ferrock_statistics::{Histogram, MeasureTimer, Statistics};
use ferrock_vfs::{
    FileSum, FileSystem, IoPriority, RandomAccessOptions, RateLimiter, WritableFile, WritableOptions, summed,
};
use std::path::Path;
use std::sync::Arc;

/// How a file is created.
#[derive(Debug)]
pub(crate) struct BlobFileParams<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) number: FileNumber,
    pub(crate) column_family_id: u32,
    pub(crate) compression: CompressionType,
    pub(crate) options: WritableOptions,
    pub(crate) rate_limiter: Option<Arc<dyn RateLimiter>>,
    pub(crate) priority: IoPriority,
    /// Makes the checksum of the file.
    pub(crate) checksums: Option<&'a Arc<dyn FileChecksumGenFactory>>,
}

/// Brings values into the form that blob files store them in.
#[derive(Debug)]
pub(crate) struct BlobEncoder {
    compressor: Option<Compressor>,
    stored: Vec<u8>,
    statistics: Option<Arc<Statistics>>,
}

impl BlobEncoder {
    /// An encoder of values for files of a compression type.
    ///
    /// # Errors
    /// Those of [`Compressor::new`].
    pub(crate) fn new(compression: CompressionType, options: &CompressionOptions) -> Result<Self> {
        let compressor = match compression {
            CompressionType::NoCompression => None,
            compression => Some(Compressor::new(compression, options, None)?),
        };
        Ok(Self { compressor, stored: Vec::new(), statistics: None })
    }

    /// The same, whose times of compression are counted.
    pub(crate) fn counting(self, statistics: Option<Arc<Statistics>>) -> Self {
        Self { statistics, ..self }
    }

    /// The stored form of a value.
    ///
    /// # Errors
    /// `InvalidArgument` for a value that is too long for its algorithm.
    pub(crate) fn encode<'a>(&'a mut self, value: &'a [u8]) -> Result<&'a [u8]> {
        let Some(compressor) = &mut self.compressor else { return Ok(value) };
        let recorder = self.statistics.as_ref().and_then(|statistics| statistics.recorder());
        let _timer = MeasureTimer::of_micros(recorder, Histogram::BlobDbCompressionMicros);
        if compressor.compress_always(value, &mut self.stored) {
            return Ok(&self.stored);
        }
        Err(Error::invalid_argument(format!("a value of {} bytes cannot be compressed", value.len())))
    }
}

/// Writes one file.
#[derive(Debug)]
pub(crate) struct BlobFileWriter {
    file: Box<dyn WritableFile>,
    sum: FileSum,
    number: FileNumber,
    compression: CompressionType,
    count: u64,
    bytes: u64,
}

impl BlobFileWriter {
    /// Creates the file, with its header.
    ///
    /// # Errors
    /// Of the file system. A part of the file may exist.
    pub(crate) fn create(file_system: &dyn FileSystem, params: BlobFileParams<'_>) -> Result<Self> {
        let path = params.directory.join(file_name::temp(params.number));
        let mut file = file_system.create_writable(&path, &params.options)?;
        file.set_rate_limiter(params.rate_limiter, params.priority);
        let finished = params.directory.join(file_name::blob(params.number));
        let (mut file, sum) = summed(file, generator_for(params.checksums, &finished));
        let header = BlobFileHeader {
            column_family_id: params.column_family_id,
            has_ttl: false,
            compression: params.compression.as_u8(),
            expiration_range: (0, 0),
        };
        file.append(&header.encode())?;
        Ok(Self { file, sum, number: params.number, compression: params.compression, count: 0, bytes: 0 })
    }

    /// Appends a record, and returns the reference to it.
    ///
    /// # Errors
    /// Of the file system.
    pub(crate) fn add(&mut self, user_key: &[u8], stored_value: &[u8]) -> Result<BlobReference> {
        let header = BlobRecordHeader::new(user_key, stored_value);
        self.file.append(&header.encode())?;
        self.file.append(user_key)?;
        let offset = self.file.size();
        self.file.append(stored_value)?;
        self.count += 1;
        self.bytes += header.record_size().unwrap_or(0);
        Ok(BlobReference {
            file_number: self.number,
            offset,
            size_bytes: stored_value.len() as u64,
            compression: self.compression.as_u8(),
        })
    }

    /// Bytes of the file so far.
    pub(crate) fn size(&self) -> u64 {
        self.file.size()
    }

    /// Completes the file: its bytes are durable when this returns, its name is so after a sync of the directory. It is
    /// opened once: a file that cannot be opened must not take the place of what it was made from.
    ///
    /// # Errors
    /// Of the file system; `Corruption` when the file is not what was written. It may exist under either name.
    pub(crate) fn finish(mut self, file_system: &dyn FileSystem, column_family_id: u32) -> Result<BlobFileAddition> {
        let footer = BlobFileFooter { blob_count: self.count, expiration_range: (0, 0) };
        self.file.append(&footer.encode())?;
        self.file.sync()?;
        self.file.close()?;
        let path = self.file.path().with_file_name(file_name::blob(self.number));
        file_system.rename(self.file.path(), &path)?;
        let written = file_system.open_random_access(&path, &RandomAccessOptions::default())?;
        BlobFileReader::open(written, column_family_id, FooterRule::Required)?;
        Ok(BlobFileAddition {
            number: self.number,
            total_blob_count: self.count,
            total_blob_bytes: self.bytes,
            ..BlobFileAddition::default()
        }
        .with_checksum(self.sum.finish()))
    }
}
