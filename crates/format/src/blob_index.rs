//! Blob references: the value of an entry of type `BlobIndex`.
//!
//! ```text
//! u8 kind
//!   0  inlined, with expiration   varint64 expiration | value
//!   1  reference                  varint64 file number | varint64 offset | varint64 size | u8 compression
//!   2  reference, with expiration varint64 expiration | as kind 1
//! ```
//!
//! `offset` and `size` are of the stored (compressed) value inside the blob record, not of the record. Kinds 0 and 2
//! come from the retired stacked BlobDB and are read only. File number 0 refers to a record inside the same table
//! file, which only tables with embedded blobs may do.

use ferrock_base::coding::{Cursor, put_varint64};
use ferrock_base::{Error, FileNumber, Result};

/// Where a separated value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobReference {
    /// The blob file; 0 = the table file that holds the reference.
    pub file_number: FileNumber,
    /// Offset of the stored value.
    pub offset: u64,
    /// Size of the stored value.
    pub size_bytes: u64,
    /// Compression type of the stored value, as on disk.
    pub compression: u8,
}

/// A decoded blob index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobIndex<'a> {
    /// The value itself, with the unix time it expires at.
    Inlined {
        /// Unix time in seconds.
        expiration_secs: u64,
        /// The value.
        value: &'a [u8],
    },
    /// A reference, with the unix time it expires at if it does.
    Reference {
        /// Where the value lies.
        reference: BlobReference,
        /// Unix time in seconds.
        expiration_secs: Option<u64>,
    },
}

impl BlobReference {
    /// Appends the reference as a blob index of kind 1.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        out.push(1);
        put_varint64(out, self.file_number.0);
        put_varint64(out, self.offset);
        put_varint64(out, self.size_bytes);
        out.push(self.compression);
    }

    /// The reference as a blob index of kind 1.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        self.encode_into(&mut out);
        out
    }

    /// Decodes a blob index that must be a plain reference (kind 1), the only kind that Ferrock's tables hold.
    ///
    /// # Errors
    /// `Corruption` when the bytes are not a blob index, `NotSupported` when it has an expiration.
    pub fn decode(index: &[u8]) -> Result<Self> {
        match BlobIndex::decode(index)? {
            BlobIndex::Reference { reference, expiration_secs: None } => Ok(reference),
            _ => Err(Error::not_supported("blob index with an expiration (written by the stacked BlobDB)")),
        }
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        Ok(Self {
            file_number: FileNumber(cursor.varint64("blob file number")?),
            offset: cursor.varint64("blob offset")?,
            size_bytes: cursor.varint64("blob size")?,
            compression: cursor.u8("blob compression")?,
        })
    }
}

impl<'a> BlobIndex<'a> {
    /// Decodes a blob index of any kind.
    ///
    /// # Errors
    /// `Corruption` when the bytes are not a blob index.
    pub fn decode(index: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(index);
        let kind = cursor.u8("blob index kind")?;
        let expiration_secs = match kind {
            0 | 2 => Some(cursor.varint64("blob index expiration")?),
            1 => None,
            _ => return Err(Error::corruption(format!("unknown blob index kind {kind}"))),
        };
        if let (0, Some(expiration_secs)) = (kind, expiration_secs) {
            return Ok(Self::Inlined { expiration_secs, value: cursor.rest() });
        }
        let reference = BlobReference::read(&mut cursor)?;
        if !cursor.is_empty() {
            return Err(Error::corruption("bytes after a blob index").at_offset(cursor.position() as u64));
        }
        Ok(Self::Reference { reference, expiration_secs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: BlobReference =
        BlobReference { file_number: FileNumber(10), offset: 63, size_bytes: 200, compression: 0 };
    const BYTES: [u8; 6] = [0x01, 0x0a, 0x3f, 0xc8, 0x01, 0x00];

    #[test]
    fn a_real_reference() {
        assert_eq!(REFERENCE.encode(), BYTES);
        assert_eq!(BlobReference::decode(&BYTES).unwrap(), REFERENCE);
    }

    #[test]
    fn references_with_expiration() {
        let expiring = BlobIndex::decode(b"\x02\x05\x0a\x3f\xc8\x01\x00").unwrap();
        assert_eq!(expiring, BlobIndex::Reference { reference: REFERENCE, expiration_secs: Some(5) });
        let inlined = BlobIndex::decode(b"\x00\x05value").unwrap();
        assert_eq!(inlined, BlobIndex::Inlined { expiration_secs: 5, value: b"value" });
        assert_eq!(BlobReference::decode(b"\x00\x05").unwrap_err().kind(), ferrock_base::ErrorKind::NotSupported);
    }

    #[test]
    fn damage_is_told() {
        for length in 0..BYTES.len() {
            assert!(BlobIndex::decode(&BYTES[..length]).unwrap_err().is_corruption());
        }
        assert!(BlobIndex::decode(&[1, 10, 63, 200, 1, 0, 0]).unwrap_err().is_corruption());
        assert!(BlobIndex::decode(&[3]).unwrap_err().is_corruption());
    }
}
