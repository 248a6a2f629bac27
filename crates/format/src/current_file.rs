//! CURRENT and IDENTITY: two small text files.
//!
//! ```text
//! CURRENT    MANIFEST-%06d \n       the newline is required, nothing else is allowed
//! IDENTITY   36 bytes, a UUID       no newline written; white space around it is trimmed on reading
//! ```
//!
//! CURRENT is never written in place: its successor is written beside it, synced, and renamed over it.

use crate::file_name::{self, FileKind};
use ferrock_base::{Error, FileNumber, Result};

/// No identity or CURRENT is longer than this; a reader need not read more.
pub const MAX_SIZE_BYTES: usize = 4096;

/// The content of a CURRENT file that points to MANIFEST `number`.
#[must_use]
pub fn encode_current(number: FileNumber) -> Vec<u8> {
    let mut content = file_name::manifest(number).into_bytes();
    content.push(b'\n');
    content
}

/// The number of the MANIFEST that CURRENT points to.
///
/// # Errors
/// `Corruption` when the content is not the name of a MANIFEST and a newline.
pub fn decode_current(content: &[u8]) -> Result<FileNumber> {
    let Some(name) = content.strip_suffix(b"\n") else {
        return Err(Error::corruption("CURRENT file does not end with newline"));
    };
    let parsed = std::str::from_utf8(name).ok().and_then(file_name::parse);
    match parsed {
        Some(parsed) if parsed.kind == FileKind::Manifest => Ok(parsed.number),
        _ => Err(Error::corruption("CURRENT file corrupted: it does not name a MANIFEST")),
    }
}

/// The identity in an IDENTITY file; `None` when there is none in it.
#[must_use]
pub fn decode_identity(content: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(content).ok()?.trim_ascii();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Makes an identity (a UUID of version 4) of 128 random bits.
#[must_use]
pub fn identity_from_random(high: u64, low: u64) -> String {
    let high = high & !0xF000 | 0x4000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xFFFF,
        high & 0xFFFF,
        low >> 48,
        low & 0xFFFF_FFFF_FFFF
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_round_trips() {
        assert_eq!(encode_current(FileNumber(5)), b"MANIFEST-000005\n");
        assert_eq!(decode_current(b"MANIFEST-000005\n").unwrap(), FileNumber(5));
        assert_eq!(decode_current(b"MANIFEST-1\n").unwrap(), FileNumber(1));
    }

    #[test]
    fn other_contents_are_corruption() {
        let error = decode_current(b"MANIFEST-000005").unwrap_err();
        assert_eq!(error.to_string(), "Corruption: CURRENT file does not end with newline");
        for content in ["\n", "", "MANIFEST-000005\n\n", "000005.sst\n", "MANIFEST-\n", " MANIFEST-000005\n"] {
            assert!(decode_current(content.as_bytes()).unwrap_err().is_corruption(), "{content:?}");
        }
        assert!(decode_current(b"MANIFEST-\xff\n").unwrap_err().is_corruption());
    }

    #[test]
    fn identities() {
        let identity = identity_from_random(0, u64::MAX);
        assert_eq!(identity, "00000000-0000-4000-bfff-ffffffffffff");
        assert_eq!(decode_identity(identity.as_bytes()), Some(identity.clone()));
        assert_eq!(decode_identity(format!("{identity}\n").as_bytes()), Some(identity));
        assert_eq!(decode_identity(b" \n"), None);
        assert_eq!(decode_identity(b"\xff"), None);
    }
}
