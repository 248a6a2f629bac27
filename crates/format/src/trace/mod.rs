//! Traces: what was asked of a database, as RocksDB writes it down.
//!
//! ```text
//! file      frame [begin], frame ..., frame [end]       the end is missing where the program ended without it
//! frame     timestamp_us: u64 LE | kind: u8 | payload_size: u32 LE | payload
//! begin     "feedcafedeadbeef" \t "Trace Version: 0.2" \t "RocksDB Version: 11.8" \t
//!           "Format: Timestamp OpType Payload\n"
//! end       an empty payload
//! ```
//!
//! Timestamps are microseconds since the epoch. The payloads of operations are in `operation.rs`. Nothing of a trace
//! has a checksum: a damaged one is found where a length, a kind or a field contradicts what is there.
//!
//! Invariant: decoding allocates no more than the bytes that it was given.

mod operation;

pub use operation::{Operation, SeekDirection, encode_get, encode_multi_get, encode_seek, encode_write};

use ferrock_base::coding::{get_fixed32, get_fixed64, put_fixed32, put_fixed64};
use ferrock_base::{Error, Result};

/// The text that a trace begins with, RocksDB's `kTraceMagic`.
const MAGIC: &str = "feedcafedeadbeef";

/// The version of traces that is written, and the newest that is read.
pub const VERSION: (u32, u32) = (0, 2);

/// The version of RocksDB whose traces these are.
const ROCKSDB_VERSION: (u32, u32) = (11, 8);

/// Bytes of a frame before its payload.
pub const FRAME_HEADER_SIZE_BYTES: usize = 13;

/// What a frame is. The numbers are RocksDB's `TraceType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// The first frame.
    Begin,
    /// The last frame.
    End,
    /// A batch that was written.
    Write,
    /// A key that was read.
    Get,
    /// A seek forward.
    Seek,
    /// A seek backward.
    SeekForPrev,
    /// Keys that were read at once.
    MultiGet,
    /// A kind that this module does not know, or one of traces of another thing than operations.
    Other(u8),
}

impl FrameKind {
    const KNOWN: [(u8, Self); 7] = [
        (1, Self::Begin),
        (2, Self::End),
        (3, Self::Write),
        (4, Self::Get),
        (5, Self::Seek),
        (6, Self::SeekForPrev),
        (13, Self::MultiGet),
    ];

    fn of(byte: u8) -> Self {
        Self::KNOWN.iter().find(|(known, _)| *known == byte).map_or(Self::Other(byte), |(_, kind)| *kind)
    }

    fn byte(self) -> u8 {
        match self {
            Self::Other(byte) => byte,
            _ => Self::KNOWN.iter().find(|(_, kind)| *kind == self).map_or(0, |(byte, _)| *byte),
        }
    }
}

/// The bytes of a frame before its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Microseconds since the epoch.
    pub timestamp_us: u64,
    /// What the payload is.
    pub kind: FrameKind,
    /// Bytes of the payload.
    pub payload_size: u32,
}

impl FrameHeader {
    /// Reads the bytes.
    ///
    /// ```
    /// use ferrock_format::trace::{FrameHeader, FrameKind, encode_end};
    /// let mut bytes = Vec::new();
    /// encode_end(&mut bytes, 7);
    /// let header = FrameHeader::decode(bytes[..].try_into().unwrap());
    /// assert_eq!((header.timestamp_us, header.kind, header.payload_size), (7, FrameKind::End, 0));
    /// ```
    #[must_use]
    pub fn decode(bytes: &[u8; FRAME_HEADER_SIZE_BYTES]) -> Self {
        Self {
            timestamp_us: get_fixed64(bytes, 0).unwrap_or_default(),
            kind: FrameKind::of(bytes[8]),
            payload_size: get_fixed32(bytes, 9).unwrap_or_default(),
        }
    }
}

/// Adds a frame whose payload `payload` adds.
fn encode_frame(out: &mut Vec<u8>, timestamp_us: u64, kind: FrameKind, payload: impl FnOnce(&mut Vec<u8>)) {
    put_fixed64(out, timestamp_us);
    out.push(kind.byte());
    let at = out.len();
    put_fixed32(out, 0);
    payload(out);
    // A batch, a key and a set of keys are smaller than 4 GiB, all that a length of 32 bits can say.
    let size = u32::try_from(out.len() - at - 4).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&size.to_le_bytes());
}

/// Adds the first frame of a trace.
pub fn encode_begin(out: &mut Vec<u8>, timestamp_us: u64) {
    let ((major, minor), (rocksdb_major, rocksdb_minor)) = (VERSION, ROCKSDB_VERSION);
    let text = format!(
        "{MAGIC}\tTrace Version: {major}.{minor}\tRocksDB Version: {rocksdb_major}.{rocksdb_minor}\tFormat: Timestamp OpType \
         Payload\n"
    );
    encode_frame(out, timestamp_us, FrameKind::Begin, |out| out.extend_from_slice(text.as_bytes()));
}

/// Adds the last frame of a trace.
pub fn encode_end(out: &mut Vec<u8>, timestamp_us: u64) {
    encode_frame(out, timestamp_us, FrameKind::End, |_| ());
}

/// What the first frame of a trace says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceHeader {
    /// The version of the trace: major, minor.
    pub version: (u32, u32),
    /// The version of the RocksDB that wrote it.
    pub rocksdb_version: (u32, u32),
}

impl TraceHeader {
    /// Reads the payload of the first frame.
    ///
    /// # Errors
    /// `Corruption` where it is none; `NotSupported` for a version that is newer than [`VERSION`].
    ///
    /// ```
    /// use ferrock_format::trace::{FRAME_HEADER_SIZE_BYTES, TraceHeader, encode_begin};
    /// let mut bytes = Vec::new();
    /// encode_begin(&mut bytes, 0);
    /// let header = TraceHeader::decode(&bytes[FRAME_HEADER_SIZE_BYTES..]).unwrap();
    /// assert_eq!(header.version, (0, 2));
    /// assert!(TraceHeader::decode(b"another file").is_err());
    /// ```
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(payload).map_err(|_| not_a_trace())?;
        let mut fields = text.split('\t');
        if fields.next() != Some(MAGIC) {
            return Err(not_a_trace());
        }
        let mut version = |label: &str| {
            let field = fields.next().and_then(|field| field.strip_prefix(label));
            field
                .and_then(parse_version)
                .ok_or_else(|| Error::corruption(format!("the first frame of a trace has no \"{label}MAJOR.MINOR\"")))
        };
        let header = Self { version: version("Trace Version: ")?, rocksdb_version: version("RocksDB Version: ")? };
        if header.version > VERSION {
            let ((major, minor), (newest_major, newest_minor)) = (header.version, VERSION);
            return Err(Error::not_supported(format!(
                "a trace of version {major}.{minor}: the newest that is read is {newest_major}.{newest_minor}"
            )));
        }
        Ok(header)
    }

    /// True where payloads begin with a map of their fields: from version 0.2 on.
    #[must_use]
    pub fn has_payload_maps(&self) -> bool {
        self.version >= (0, 2)
    }
}

#[cold]
fn not_a_trace() -> Error {
    Error::corruption(format!("the file does not begin as a trace does, with \"{MAGIC}\""))
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    let number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
    Some((number(major)?, number(minor)?))
}

#[cfg(test)]
mod tests;
