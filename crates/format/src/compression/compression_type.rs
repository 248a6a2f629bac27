//! The compression type byte and its three spellings.
//!
//! One algorithm has a byte in every block trailer, a name in OPTIONS files
//! (`kZSTD`) and a name in the table property `rocksdb.compression` (`ZSTD`).
//! The names differ for historical reasons and are matched exactly.

use ferrock_base::{Error, Result};

/// The compression algorithm of a block, as its trailer byte says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum CompressionType {
    /// Stored as is.
    #[default]
    NoCompression = 0,
    /// Snappy raw block.
    Snappy = 1,
    /// Raw deflate.
    Zlib = 2,
    /// A complete bzip2 stream.
    BZip2 = 3,
    /// LZ4 block, fast encoder.
    Lz4 = 4,
    /// LZ4 block, high-compression encoder; decodes like [`Lz4`](Self::Lz4).
    Lz4Hc = 5,
    /// Windows XPRESS. Known by name only: it can be neither read nor written here.
    Xpress = 6,
    /// One Zstandard frame.
    Zstd = 7,
}

/// The type byte that builds before Zstandard 1.0 wrote for frames in the final format.
pub const ZSTD_NOT_FINAL: u8 = 0x40;

/// The OPTIONS-file name of "this column family does not override the setting"
/// (`bottommost_compression`). It has a number, 0xFF, and never reaches a file.
pub const DISABLE_COMPRESSION_OPTION_NAME: &str = "kDisableCompressionOption";

const OPTION_NAMES: [(&str, CompressionType); 9] = [
    ("kNoCompression", CompressionType::NoCompression),
    ("kSnappyCompression", CompressionType::Snappy),
    ("kZlibCompression", CompressionType::Zlib),
    ("kBZip2Compression", CompressionType::BZip2),
    ("kLZ4Compression", CompressionType::Lz4),
    ("kLZ4HCCompression", CompressionType::Lz4Hc),
    ("kXpressCompression", CompressionType::Xpress),
    ("kZSTD", CompressionType::Zstd),
    ("kZSTDNotFinalCompression", CompressionType::Zstd),
];

impl CompressionType {
    /// Every type, in the order of their bytes.
    pub const ALL: [Self; 8] =
        [Self::NoCompression, Self::Snappy, Self::Zlib, Self::BZip2, Self::Lz4, Self::Lz4Hc, Self::Xpress, Self::Zstd];

    /// The byte of the block trailer.
    #[inline]
    #[must_use]
    pub fn as_u8(self) -> u8 {
        self as u8
    }

    /// The name in OPTIONS files.
    #[must_use]
    pub fn option_name(self) -> &'static str {
        OPTION_NAMES[usize::from(self as u8)].0
    }

    /// Reads an OPTIONS-file name. [`DISABLE_COMPRESSION_OPTION_NAME`] is no type, so `None` like any unknown name.
    #[must_use]
    pub fn from_option_name(name: &str) -> Option<Self> {
        OPTION_NAMES.iter().find(|(known, _)| *known == name).map(|(_, compression_type)| *compression_type)
    }

    /// The name in the table property `rocksdb.compression` (format versions up to 6).
    #[must_use]
    pub fn property_name(self) -> &'static str {
        match self {
            Self::NoCompression => "NoCompression",
            Self::Snappy => "Snappy",
            Self::Zlib => "Zlib",
            Self::BZip2 => "BZip2",
            Self::Lz4 => "LZ4",
            Self::Lz4Hc => "LZ4HC",
            Self::Xpress => "Xpress",
            Self::Zstd => "ZSTD",
        }
    }

    /// Reads a name of the property `rocksdb.compression`.
    #[must_use]
    pub fn from_property_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compression_type| compression_type.property_name() == name)
    }

    /// Whether blocks of this type can be read and written in this build.
    #[must_use]
    pub const fn is_supported(self) -> bool {
        match self {
            Self::NoCompression => true,
            Self::Snappy => cfg!(feature = "snappy"),
            Self::Zlib => cfg!(feature = "zlib"),
            Self::BZip2 => cfg!(feature = "bzip2"),
            Self::Lz4 | Self::Lz4Hc => cfg!(feature = "lz4"),
            Self::Xpress => false,
            Self::Zstd => cfg!(feature = "zstd"),
        }
    }

    /// This type, or none where the build does not have it.
    #[must_use]
    #[doc(hidden)]
    pub const fn if_built(self) -> Self {
        if self.is_supported() { self } else { Self::NoCompression }
    }

    /// Refuses a type that this build does not have.
    ///
    /// # Errors
    /// `NotSupported`, which names the type and the feature that brings it.
    #[doc(hidden)]
    pub fn check_built(self) -> Result<()> {
        if self.is_supported() { Ok(()) } else { Err(self.not_built()) }
    }

    /// The refusal of [`check_built`](Self::check_built).
    #[cold]
    pub(super) fn not_built(self) -> Error {
        Error::not_supported(match self.feature() {
            Some(feature) => {
                format!("{} is left out of this build; build with the feature `{feature}`", self.option_name())
            }
            None => "XPRESS compression exists on Windows only; choose another type".to_owned(),
        })
    }

    /// The feature of this crate, and of the crates above it, that brings the algorithm.
    fn feature(self) -> Option<&'static str> {
        match self {
            Self::NoCompression | Self::Xpress => None,
            Self::Snappy => Some("snappy"),
            Self::Zlib => Some("zlib"),
            Self::BZip2 => Some("bzip2"),
            Self::Lz4 | Self::Lz4Hc => Some("lz4"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// Whether a compression dictionary changes this algorithm's output. The others ignore one.
    #[must_use]
    pub fn uses_dictionary(self) -> bool {
        matches!(self, Self::Zlib | Self::Lz4 | Self::Lz4Hc | Self::Zstd)
    }
}

impl TryFrom<u8> for CompressionType {
    type Error = Error;

    #[inline]
    fn try_from(byte: u8) -> Result<Self> {
        Ok(match byte {
            0 => Self::NoCompression,
            1 => Self::Snappy,
            2 => Self::Zlib,
            3 => Self::BZip2,
            4 => Self::Lz4,
            5 => Self::Lz4Hc,
            6 => Self::Xpress,
            7 | ZSTD_NOT_FINAL => Self::Zstd,
            other => return Err(Error::corruption(format!("unknown compression type {other:#04x}"))),
        })
    }
}
