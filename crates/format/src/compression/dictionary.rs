//! A compression dictionary, prepared once per table for reading its blocks.

use std::fmt;

use ferrock_base::Result;

use super::CompressionType;
#[cfg(feature = "zstd")]
use super::zstd;

/// The bytes of a table's dictionary block, with what its algorithm needs to use them.
///
/// Zstandard parses a structured dictionary (trained, it starts with the magic
/// `37 a4 30 ec`) or takes the bytes as history; LZ4 takes the last 64 KiB as a
/// prefix; zlib presets its window. Snappy, bzip2 and XPRESS ignore a dictionary.
pub struct Dictionary {
    bytes: Vec<u8>,
    #[cfg(feature = "zstd")]
    zstd: Option<zstd::ReadDictionary>,
}

impl Dictionary {
    /// Prepares `bytes` for blocks of one type. A table that mixes types should name the one that needs
    /// preparation, Zstandard; the raw bytes serve the others as well.
    ///
    /// # Errors
    /// Corruption, if a structured Zstandard dictionary does not parse.
    pub fn new(compression_type: CompressionType, bytes: impl Into<Vec<u8>>) -> Result<Self> {
        let bytes = bytes.into();
        #[cfg(feature = "zstd")]
        let zstd = match compression_type {
            CompressionType::Zstd if !bytes.is_empty() => Some(zstd::ReadDictionary::new(&bytes)?),
            _ => None,
        };
        Ok(Self {
            bytes,
            #[cfg(feature = "zstd")]
            zstd,
        })
    }

    /// The bytes as stored in the dictionary block.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Roughly what the prepared dictionary occupies, for cache charging.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        // A Zstandard dictionary keeps its content a second time, next to about 20 KiB of tables.
        #[cfg(feature = "zstd")]
        let prepared = self.zstd.as_ref().map_or(0, |_| self.bytes.len() + (20 << 10));
        #[cfg(not(feature = "zstd"))]
        let prepared = 0;
        size_of::<Self>() + self.bytes.capacity() + prepared
    }

    #[cfg(feature = "zstd")]
    pub(super) fn zstd(&self) -> Option<&zstd::ReadDictionary> {
        self.zstd.as_ref()
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Dictionary").field("size_bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}
