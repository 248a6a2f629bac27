//! The last bytes of a table file: the kind of table and the handle of its metaindex.
//!
//! ```text
//! version 0, 48 bytes   | metaindex handle, index handle, zero padding: 40 | legacy magic 8 |         crc32c implied
//!
//! versions 1-5, 53      | checksum type 1 | metaindex handle, index handle, padding: 40 | version 4 | magic 8 |
//!
//! versions 6-7, 53      0 | checksum type 1
//!                       1 | extended magic 3e 00 7a 00
//!                       5 | footer checksum 4
//!                       9 | base context checksum 4, not zero
//!                      13 | metaindex size 4: the metaindex ends, with its trailer, where the footer begins
//!                      17 | reserved 16, ignored
//!                      33 | reserved 8, must be zero
//!                      41 | version 4
//!                      45 | magic 8
//! ```
//!
//! From version 6 on the index handle is in the metaindex. The footer's own checksum is taken over its 53 bytes with
//! the checksum field zeroed, plus the context modifier for the footer's offset.
//!
//! [`Footer::decode`] returns only handles that lie before the footer, so a caller may trust them for sizes of reads.

#[cfg(test)]
mod tests;

use crate::handle::BlockHandle;
use crate::trailer::BLOCK_TRAILER_SIZE;
use ferrock_base::checksum::{ChecksumType, context_modifier};
use ferrock_base::coding::get_fixed32;
use ferrock_base::{Error, Result};

/// Longest footer; read this many bytes from the end of the file (or all of a shorter file).
pub const MAX_FOOTER_SIZE: usize = 53;
/// The footer of version 0.
pub const LEGACY_FOOTER_SIZE: usize = 48;
/// Newest version read and written.
pub const LATEST_FORMAT_VERSION: u32 = 7;
/// Oldest version written.
pub const OLDEST_WRITTEN_FORMAT_VERSION: u32 = 2;

const EXTENDED_MAGIC: [u8; 4] = [0x3e, 0x00, 0x7a, 0x00];
const HANDLES_LEN: usize = 40;
const CHECKSUM_AT: usize = 5;
const BASE_CONTEXT_AT: usize = 9;
const METAINDEX_SIZE_AT: usize = 13;
const FUTURE_FEATURES: std::ops::Range<usize> = 33..41;
const VERSION_AT: usize = 41;
const MAGIC_AT: usize = 45;

/// The kind of table, from its magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableKind {
    /// Block-based table.
    BlockBased,
    /// PlainTable.
    Plain,
    /// Cuckoo table.
    Cuckoo,
}

impl TableKind {
    /// The kind of a magic number, and whether it is the magic of version 0.
    #[must_use]
    pub fn from_magic(magic: u64) -> Option<(Self, bool)> {
        match magic {
            0x88e2_41b7_85f4_cff7 => Some((Self::BlockBased, false)),
            0xdb47_7524_8b80_fb57 => Some((Self::BlockBased, true)),
            0x8242_2296_63bf_9564 => Some((Self::Plain, false)),
            0x4f34_18eb_7a8f_13b8 => Some((Self::Plain, true)),
            0x9267_89d0_c5f1_7873 => Some((Self::Cuckoo, false)),
            _ => None,
        }
    }

    /// The magic number for `format_version`.
    #[must_use]
    pub fn magic(self, format_version: u32) -> u64 {
        match (self, format_version) {
            (Self::BlockBased, 0) => 0xdb47_7524_8b80_fb57,
            (Self::BlockBased, _) => 0x88e2_41b7_85f4_cff7,
            (Self::Plain, 0) => 0x4f34_18eb_7a8f_13b8,
            (Self::Plain, _) => 0x8242_2296_63bf_9564,
            (Self::Cuckoo, _) => 0x9267_89d0_c5f1_7873,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::BlockBased => "block-based",
            Self::Plain => "plain",
            Self::Cuckoo => "cuckoo",
        }
    }
}

/// A decoded footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The kind of table.
    pub kind: TableKind,
    /// The format_version.
    pub format_version: u32,
    /// The checksum of every block.
    pub checksum_type: ChecksumType,
    /// The metaindex block.
    pub metaindex: BlockHandle,
    /// The index block; `None` from version 6 on, where the metaindex names it.
    pub index: Option<BlockHandle>,
    /// The file's random number for [`context_modifier`]; 0 before version 6.
    pub base_context_checksum: u32,
}

impl Footer {
    /// Decodes the footer from `tail`, the last bytes of a file of `file_size` bytes: at least [`MAX_FOOTER_SIZE`] of
    /// them, or the whole file if it is shorter.
    ///
    /// # Errors
    /// `Corruption` for a file that is too short or does not end with the magic number of a table, and for a footer
    /// whose handles or checksum are wrong; `NotSupported` for a version or a checksum that is newer than this release.
    pub fn decode(tail: &[u8], file_size: u64) -> Result<Self> {
        let magic = tail.last_chunk::<8>().filter(|_| tail.len() as u64 <= file_size);
        let Some(magic) = magic.map(|bytes| u64::from_le_bytes(*bytes)) else {
            return Err(too_short(file_size));
        };
        let Some((kind, legacy)) = TableKind::from_magic(magic) else {
            let message = format!("bad table magic number {magic:#018x}; this is not a table file");
            return Err(Error::corruption(message).at_offset(file_size - 8));
        };
        if legacy {
            let footer = tail.last_chunk::<LEGACY_FOOTER_SIZE>().ok_or_else(|| too_short(file_size))?;
            let footer_offset = file_size - LEGACY_FOOTER_SIZE as u64;
            return Self::decode_handles(kind, 0, ChecksumType::Crc32c, &footer[..HANDLES_LEN], footer_offset);
        }
        let footer = tail.last_chunk::<MAX_FOOTER_SIZE>().ok_or_else(|| too_short(file_size))?;
        let footer_offset = file_size - MAX_FOOTER_SIZE as u64;
        let version = fixed32(footer, VERSION_AT);
        let newest = if kind == TableKind::BlockBased { LATEST_FORMAT_VERSION } else { 1 };
        if version > newest {
            let message = format!("{} table of format_version {version}; this build reads up to {newest}", kind.name());
            return Err(Error::not_supported(message).at_offset(footer_offset + VERSION_AT as u64));
        }
        if version == 0 {
            let message = "format_version 0 under the magic number of later versions";
            return Err(Error::corruption(message).at_offset(footer_offset + VERSION_AT as u64));
        }
        let checksum_type = ChecksumType::try_from(footer[0]).map_err(|error| error.at_offset(footer_offset))?;
        if version >= 6 {
            return Self::decode_with_context(kind, version, checksum_type, footer, footer_offset);
        }
        let footer = Self::decode_handles(kind, version, checksum_type, &footer[1..1 + HANDLES_LEN], footer_offset)?;
        if footer.has_handles_of_extended_magic() {
            let message = format!("footer: format_version {version} with the extended magic number of later versions");
            return Err(Error::corruption(message).at_offset(footer_offset + VERSION_AT as u64));
        }
        Ok(footer)
    }

    /// Whether the handles are those that the bytes of [`EXTENDED_MAGIC`] mean where versions 1 to 5 have handles: two
    /// empty blocks, which no writer makes. A varint can be longer than it must be, so the handles are compared and not
    /// their bytes.
    fn has_handles_of_extended_magic(&self) -> bool {
        let [metaindex, _, index, _] = EXTENDED_MAGIC.map(u64::from);
        self.metaindex == BlockHandle::new(metaindex, 0) && self.index == Some(BlockHandle::new(index, 0))
    }

    fn decode_handles(
        kind: TableKind,
        format_version: u32,
        checksum_type: ChecksumType,
        handles: &[u8],
        footer_offset: u64,
    ) -> Result<Self> {
        let in_footer = |error: Error| error.context("footer").at_offset(footer_offset);
        let (metaindex, length) = BlockHandle::decode(handles).map_err(in_footer)?;
        let (index, _) = BlockHandle::decode(&handles[length..]).map_err(in_footer)?;
        for (name, handle) in [("metaindex", metaindex), ("index", index)] {
            // Plain tables have no block trailers.
            let end = if kind == TableKind::BlockBased { handle.end_with_trailer() } else { handle.end() };
            if !handle.is_null() && end.is_none_or(|end| end > footer_offset) {
                let message = format!("{name} handle ({}, {}) does not lie before it", handle.offset, handle.size);
                return Err(in_footer(Error::corruption(message)));
            }
        }
        Ok(Self { kind, format_version, checksum_type, metaindex, index: Some(index), base_context_checksum: 0 })
    }

    fn decode_with_context(
        kind: TableKind,
        format_version: u32,
        checksum_type: ChecksumType,
        footer: &[u8; MAX_FOOTER_SIZE],
        footer_offset: u64,
    ) -> Result<Self> {
        let corrupt = |message: String, at: usize| Err(Error::corruption(message).at_offset(footer_offset + at as u64));
        if footer[1..CHECKSUM_AT] != EXTENDED_MAGIC {
            return corrupt("footer: bad extended magic number".to_owned(), 1);
        }
        let base_context_checksum = fixed32(footer, BASE_CONTEXT_AT);
        if base_context_checksum == 0 {
            return corrupt("footer: the base context checksum is zero".to_owned(), BASE_CONTEXT_AT);
        }
        let stored = fixed32(footer, CHECKSUM_AT);
        let computed = footer_checksum(footer, checksum_type, base_context_checksum, footer_offset);
        if stored != computed {
            let message = format!("footer checksum mismatch: stored {stored:#010x}, computed {computed:#010x}");
            return corrupt(message, CHECKSUM_AT);
        }
        if footer[FUTURE_FEATURES].iter().any(|&byte| byte != 0) {
            let message = "footer: the file uses features of a later release (reserved bytes are set)";
            return Err(Error::not_supported(message).at_offset(footer_offset + FUTURE_FEATURES.start as u64));
        }
        let size = u64::from(fixed32(footer, METAINDEX_SIZE_AT));
        let Some(offset) = footer_offset.checked_sub(size + BLOCK_TRAILER_SIZE as u64) else {
            return corrupt(format!("footer: a metaindex of {size} bytes does not fit before it"), METAINDEX_SIZE_AT);
        };
        let metaindex = BlockHandle { offset, size };
        Ok(Self { kind, format_version, checksum_type, metaindex, index: None, base_context_checksum })
    }

    /// Encodes the footer of a block-based table for the file offset at which it will be written.
    ///
    /// Versions 2 to 5 need [`index`](Self::index); versions 6 and 7 need a base context checksum that is not zero and
    /// a metaindex that ends, with its trailer, at `footer_offset`.
    ///
    /// # Errors
    /// `NotSupported` for a table that is not block-based; `InvalidArgument` for a version that is not written,
    /// when what the version needs is missing, and for handles that are read as something else.
    pub fn encode(&self, footer_offset: u64) -> Result<[u8; MAX_FOOTER_SIZE]> {
        let version = self.format_version;
        if self.kind != TableKind::BlockBased {
            return Err(Error::not_supported(format!("writing the footer of a {} table", self.kind.name())));
        }
        if !(OLDEST_WRITTEN_FORMAT_VERSION..=LATEST_FORMAT_VERSION).contains(&version) {
            return Err(Error::invalid_argument(format!(
                "format_version {version} cannot be written; \
                 the range is {OLDEST_WRITTEN_FORMAT_VERSION} to {LATEST_FORMAT_VERSION}"
            )));
        }
        let mut footer = [0; MAX_FOOTER_SIZE];
        footer[0] = self.checksum_type as u8;
        footer[VERSION_AT..MAGIC_AT].copy_from_slice(&version.to_le_bytes());
        footer[MAGIC_AT..].copy_from_slice(&self.kind.magic(version).to_le_bytes());
        if version >= 6 { self.put_context(&mut footer, footer_offset) } else { self.put_handles(&mut footer) }?;
        Ok(footer)
    }

    /// Encodes the footer of a PlainTable, which is of version 0 and has no index handle.
    #[must_use]
    pub fn encode_plain(metaindex: BlockHandle) -> [u8; LEGACY_FOOTER_SIZE] {
        let mut handles = Vec::with_capacity(HANDLES_LEN);
        metaindex.encode_to(&mut handles);
        BlockHandle::NULL.encode_to(&mut handles);
        let mut footer = [0; LEGACY_FOOTER_SIZE];
        footer[..handles.len()].copy_from_slice(&handles);
        footer[HANDLES_LEN..].copy_from_slice(&TableKind::Plain.magic(0).to_le_bytes());
        footer
    }

    fn put_handles(&self, footer: &mut [u8; MAX_FOOTER_SIZE]) -> Result<()> {
        let index = self.index.ok_or_else(|| {
            Error::invalid_argument(format!(
                "a footer of format_version {} needs the index handle",
                self.format_version
            ))
        })?;
        if self.has_handles_of_extended_magic() {
            return Err(Error::invalid_argument(format!(
                "a footer of format_version {} with two empty blocks is read as one of a later version",
                self.format_version
            )));
        }
        let mut handles = Vec::with_capacity(HANDLES_LEN);
        self.metaindex.encode_to(&mut handles);
        index.encode_to(&mut handles);
        footer[1..1 + handles.len()].copy_from_slice(&handles);
        Ok(())
    }

    fn put_context(&self, footer: &mut [u8; MAX_FOOTER_SIZE], footer_offset: u64) -> Result<()> {
        let size = u32::try_from(self.metaindex.size).ok();
        let (Some(size), true) = (size, self.metaindex.end_with_trailer() == Some(footer_offset)) else {
            return Err(Error::invalid_argument(format!(
                "the metaindex ({}, {}) does not end at the footer, offset {footer_offset}",
                self.metaindex.offset, self.metaindex.size
            )));
        };
        if self.base_context_checksum == 0 {
            return Err(Error::invalid_argument("the base context checksum must not be zero"));
        }
        footer[1..CHECKSUM_AT].copy_from_slice(&EXTENDED_MAGIC);
        footer[BASE_CONTEXT_AT..METAINDEX_SIZE_AT].copy_from_slice(&self.base_context_checksum.to_le_bytes());
        footer[METAINDEX_SIZE_AT..METAINDEX_SIZE_AT + 4].copy_from_slice(&size.to_le_bytes());
        let checksum = footer_checksum(footer, self.checksum_type, self.base_context_checksum, footer_offset);
        footer[CHECKSUM_AT..BASE_CONTEXT_AT].copy_from_slice(&checksum.to_le_bytes());
        Ok(())
    }

    /// Bytes this footer takes in the file.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        if self.format_version == 0 { LEGACY_FOOTER_SIZE } else { MAX_FOOTER_SIZE }
    }
}

fn footer_checksum(
    footer: &[u8; MAX_FOOTER_SIZE],
    checksum_type: ChecksumType,
    base_context: u32,
    footer_offset: u64,
) -> u32 {
    let mut zeroed = *footer;
    zeroed[CHECKSUM_AT..BASE_CONTEXT_AT].fill(0);
    checksum_type.checksum(&zeroed).wrapping_add(context_modifier(base_context, footer_offset))
}

/// A field of the footer; its place is a constant inside the array.
fn fixed32(footer: &[u8; MAX_FOOTER_SIZE], at: usize) -> u32 {
    get_fixed32(footer, at).unwrap_or(0)
}

#[cold]
fn too_short(file_size: u64) -> Error {
    Error::corruption(format!("a file of {file_size} bytes is too short to be a table")).at_offset(0)
}
