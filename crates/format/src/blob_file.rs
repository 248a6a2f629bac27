//! Blob files: values kept apart from their keys.
//!
//! ```text
//! header   30 bytes   magic u32 | version u32 = 1 | column family u32 | flags u8 | compression u8 | expiration 2 x u64
//! record   key size u64 | value size u64 | expiration u64 | header crc u32 | blob crc u32 | key | stored value
//! ...                 back to back, without padding
//! footer   32 bytes   magic u32 | blob count u64 | expiration 2 x u64 | crc u32
//! ```
//!
//! Integers are little-endian, checksums masked crc32c. The header crc of a record covers the 24 bytes before it, the
//! blob crc covers key and stored value, the footer crc the 28 bytes before it. The header of the file has none: its
//! fields are compared with references and the MANIFEST.
//!
//! Invariants: all values of a file have the compression type of its header, also where they grew by it; a compressed
//! value has the form of a block of table format version 2, without dictionary; expirations are 0 (the stacked BlobDB
//! alone used them, and flag bit 0). A file that is still written, or whose writer crashed, has no footer.
//!
//! A reference to a record names the offset of the *value*, so the key's size has to be known to find the record: see
//! [`crate::blob_index`].

use ferrock_base::checksum::{crc32c, crc32c_extend, mask_crc};
use ferrock_base::coding::Cursor;
use ferrock_base::{Error, Result};

/// First four bytes of header and footer.
pub const BLOB_FILE_MAGIC: u32 = 0x0024_8f37;
/// The only version.
pub const BLOB_FILE_VERSION: u32 = 1;
/// Bytes of the header.
pub const BLOB_FILE_HEADER_SIZE: usize = 30;
/// Bytes of the footer.
pub const BLOB_FILE_FOOTER_SIZE: usize = 32;
/// Bytes of a record before its key.
pub const BLOB_RECORD_HEADER_SIZE: usize = 32;

/// Format version whose compressed form blobs have.
pub const BLOB_COMPRESSION_FORMAT_VERSION: u32 = 2;

const HAS_TTL: u8 = 1;

/// First and last expiration of a file, unix seconds; zeros when nothing expires.
pub type ExpirationRange = (u64, u64);

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobFileHeader {
    /// The family whose values the file has.
    pub column_family_id: u32,
    /// Written by the stacked BlobDB, with expirations.
    pub has_ttl: bool,
    /// Compression type of every value, as on disk.
    pub compression: u8,
    /// Zeros, unless [`has_ttl`](Self::has_ttl).
    pub expiration_range: ExpirationRange,
}

/// The footer of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobFileFooter {
    /// Records in the file.
    pub blob_count: u64,
    /// Zeros for files without expirations.
    pub expiration_range: ExpirationRange,
}

/// The fields of a record before its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobRecordHeader {
    /// Bytes of the user key.
    pub key_size: u64,
    /// Bytes of the stored value.
    pub value_size: u64,
    /// Unix seconds; 0 = never.
    pub expiration_secs: u64,
    /// Masked checksum of key and stored value.
    pub blob_crc: u32,
}

impl BlobFileHeader {
    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BLOB_FILE_HEADER_SIZE);
        out.extend_from_slice(&BLOB_FILE_MAGIC.to_le_bytes());
        out.extend_from_slice(&BLOB_FILE_VERSION.to_le_bytes());
        out.extend_from_slice(&self.column_family_id.to_le_bytes());
        out.push(if self.has_ttl { HAS_TTL } else { 0 });
        out.push(self.compression);
        out.extend_from_slice(&self.expiration_range.0.to_le_bytes());
        out.extend_from_slice(&self.expiration_range.1.to_le_bytes());
        out
    }

    /// Reads a header from the first bytes of a file.
    ///
    /// # Errors
    /// `Corruption` when this is no blob file, `NotSupported` for another version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        check_magic(cursor.fixed32("blob file magic")?)?;
        let version = cursor.fixed32("blob file version")?;
        if version != BLOB_FILE_VERSION {
            return Err(Error::not_supported(format!("blob file version {version}")).at_offset(4));
        }
        let column_family_id = cursor.fixed32("blob file column family")?;
        let flags = cursor.u8("blob file flags")?;
        if flags & !HAS_TTL != 0 {
            return Err(Error::corruption(format!("unknown blob file flags {flags:#04x}")).at_offset(12));
        }
        Ok(Self {
            column_family_id,
            has_ttl: flags & HAS_TTL != 0,
            compression: cursor.u8("blob file compression")?,
            expiration_range: expiration_range(&mut cursor)?,
        })
    }
}

impl BlobFileFooter {
    /// The footer's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BLOB_FILE_FOOTER_SIZE);
        out.extend_from_slice(&BLOB_FILE_MAGIC.to_le_bytes());
        out.extend_from_slice(&self.blob_count.to_le_bytes());
        out.extend_from_slice(&self.expiration_range.0.to_le_bytes());
        out.extend_from_slice(&self.expiration_range.1.to_le_bytes());
        let crc = mask_crc(crc32c(&out));
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads a footer from the last bytes of a file. Offsets of errors count from the footer.
    ///
    /// # Errors
    /// `Corruption` when this is no footer.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        check_magic(cursor.fixed32("blob file footer magic")?)?;
        let blob_count = cursor.fixed64("blob count")?;
        let expiration_range = expiration_range(&mut cursor)?;
        let covered = &bytes[..cursor.position()];
        check_crc("blob file footer", mask_crc(crc32c(covered)), cursor.fixed32("blob file footer checksum")?)?;
        Ok(Self { blob_count, expiration_range })
    }
}

impl BlobRecordHeader {
    /// The header of a record without expiration.
    #[must_use]
    pub fn new(key: &[u8], stored_value: &[u8]) -> Self {
        Self {
            key_size: key.len() as u64,
            value_size: stored_value.len() as u64,
            expiration_secs: 0,
            blob_crc: blob_crc(key, stored_value),
        }
    }

    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BLOB_RECORD_HEADER_SIZE);
        out.extend_from_slice(&self.key_size.to_le_bytes());
        out.extend_from_slice(&self.value_size.to_le_bytes());
        out.extend_from_slice(&self.expiration_secs.to_le_bytes());
        let crc = mask_crc(crc32c(&out));
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&self.blob_crc.to_le_bytes());
        out
    }

    /// Reads the header of a record. Offsets of errors count from the record.
    ///
    /// # Errors
    /// `Corruption` when its checksum does not match.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let key_size = cursor.fixed64("blob key size")?;
        let value_size = cursor.fixed64("blob value size")?;
        let expiration_secs = cursor.fixed64("blob expiration")?;
        let covered = &bytes[..cursor.position()];
        check_crc("blob record header", mask_crc(crc32c(covered)), cursor.fixed32("blob header checksum")?)?;
        Ok(Self { key_size, value_size, expiration_secs, blob_crc: cursor.fixed32("blob checksum")? })
    }

    /// Compares the blob checksum with that of the bytes.
    ///
    /// # Errors
    /// `Corruption` when they differ.
    pub fn verify_blob(&self, key: &[u8], stored_value: &[u8]) -> Result<()> {
        check_crc("blob", blob_crc(key, stored_value), self.blob_crc)
    }

    /// Bytes of the whole record; `None` when the sizes cannot be those of a file.
    #[must_use]
    pub fn record_size(&self) -> Option<u64> {
        (BLOB_RECORD_HEADER_SIZE as u64).checked_add(self.key_size)?.checked_add(self.value_size)
    }
}

/// Masked checksum of a key and its stored value.
#[must_use]
pub fn blob_crc(key: &[u8], stored_value: &[u8]) -> u32 {
    mask_crc(crc32c_extend(crc32c(key), stored_value))
}

fn check_magic(magic: u32) -> Result<()> {
    if magic == BLOB_FILE_MAGIC {
        return Ok(());
    }
    Err(Error::corruption(format!("bad blob file magic {magic:#010x}")).at_offset(0))
}

fn check_crc(what: &str, computed: u32, stored: u32) -> Result<()> {
    if computed == stored {
        return Ok(());
    }
    Err(Error::corruption(format!("{what} checksum mismatch: stored {stored:#010x}, computed {computed:#010x}")))
}

fn expiration_range(cursor: &mut Cursor<'_>) -> Result<ExpirationRange> {
    Ok((cursor.fixed64("blob file first expiration")?, cursor.fixed64("blob file last expiration")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::{CompressionType, decompress};

    /// A whole file as RocksDB writes it: key `k`, 500 times `V`, Zstandard.
    const FILE: &str = "378f2400 01000000 00000000 00 07 0000000000000000 0000000000000000\
        0100000000000000 1500000000000000 0000000000000000 0d2417f2 eb955121 6b\
        f403 28b52ffd60f4004d00001056560100ef2ac002\
        378f2400 0100000000000000 0000000000000000 0000000000000000 fb714ae8";

    fn file() -> Vec<u8> {
        let digits: Vec<u8> = FILE.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
    }

    #[test]
    fn a_real_file() {
        let file = file();
        let header = BlobFileHeader::decode(&file).unwrap();
        assert_eq!((header.column_family_id, header.has_ttl, header.compression), (0, false, 7));
        assert_eq!(header.encode(), &file[..BLOB_FILE_HEADER_SIZE]);

        let record = &file[BLOB_FILE_HEADER_SIZE..file.len() - BLOB_FILE_FOOTER_SIZE];
        let record_header = BlobRecordHeader::decode(record).unwrap();
        assert_eq!((record_header.key_size, record_header.value_size, record_header.expiration_secs), (1, 0x15, 0));
        assert_eq!(record_header.record_size(), Some(record.len() as u64));
        let (key, value) = record[BLOB_RECORD_HEADER_SIZE..].split_at(1);
        record_header.verify_blob(key, value).unwrap();
        assert_eq!(BlobRecordHeader::new(b"k", value), record_header);
        assert_eq!(record_header.encode(), &record[..BLOB_RECORD_HEADER_SIZE]);
        let value = decompress(CompressionType::Zstd, value, BLOB_COMPRESSION_FORMAT_VERSION, None, 1000).unwrap();
        assert_eq!(value, [b'V'; 500]);

        let footer = &file[file.len() - BLOB_FILE_FOOTER_SIZE..];
        let decoded = BlobFileFooter::decode(footer).unwrap();
        assert_eq!(decoded, BlobFileFooter { blob_count: 1, expiration_range: (0, 0) });
        assert_eq!(decoded.encode(), footer);
    }

    #[test]
    fn a_second_real_footer() {
        let footer = BlobFileFooter { blob_count: 4, expiration_range: (0, 0) }.encode();
        assert_eq!(footer[28..], [0x4b, 0x21, 0xf2, 0xb1]);
    }

    #[test]
    fn every_changed_bit_of_footer_and_record_is_noticed() {
        let file = file();
        let footer = &file[file.len() - BLOB_FILE_FOOTER_SIZE..];
        let record = &file[BLOB_FILE_HEADER_SIZE..file.len() - BLOB_FILE_FOOTER_SIZE];
        let check_record = |record: &[u8]| {
            let header = BlobRecordHeader::decode(record)?;
            let (key, value) = record[BLOB_RECORD_HEADER_SIZE..].split_at(1);
            header.verify_blob(key, value)
        };
        check_record(record).unwrap();
        for bit in 0..footer.len() * 8 {
            let mut damaged = footer.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(BlobFileFooter::decode(&damaged).unwrap_err().is_corruption(), "footer bit {bit}");
        }
        for bit in 0..record.len() * 8 {
            let mut damaged = record.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(check_record(&damaged).unwrap_err().is_corruption(), "record bit {bit}");
        }
    }

    #[test]
    fn truncation_and_foreign_files_are_told() {
        let file = file();
        for length in 0..BLOB_FILE_HEADER_SIZE {
            assert!(BlobFileHeader::decode(&file[..length]).unwrap_err().is_corruption(), "{length}");
        }
        for length in 0..BLOB_RECORD_HEADER_SIZE {
            let record = &file[BLOB_FILE_HEADER_SIZE..][..length];
            assert!(BlobRecordHeader::decode(record).unwrap_err().is_corruption(), "{length}");
        }
        assert!(BlobFileHeader::decode(&[0; 30]).unwrap_err().is_corruption());
        let mut newer = file.clone();
        newer[4] = 2;
        assert_eq!(BlobFileHeader::decode(&newer).unwrap_err().kind(), ferrock_base::ErrorKind::NotSupported);
        let mut flagged = file;
        flagged[12] = 3;
        assert!(BlobFileHeader::decode(&flagged).unwrap_err().is_corruption());
        let huge = BlobRecordHeader { key_size: u64::MAX, value_size: 1, expiration_secs: 0, blob_crc: 0 };
        assert_eq!(huge.record_size(), None);
    }
}
