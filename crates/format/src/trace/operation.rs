//! Operations of a trace: the payloads of its frames.
//!
//! ```text
//! version 0.2   map: u64 LE, bit N = field N is there | fields in the order of their numbers
//!   write       field 1: batch                        as of a log record: sequence, count, records
//!   get         field 2: family id u32 LE, 3: key
//!   seek        field 4: family id u32 LE, 5: key, 6: lower bound, 7: upper bound    bounds only where they are set
//!   multi-get   field 8: count u32 LE, 9: family ids, u32 LE each, 10: keys, each length-prefixed
//! version 0.1   write: the batch alone; get and seek: family id u32 LE, key; no multi-get
//! ```
//!
//! Keys, bounds, batches, and the lists 9 and 10 as a whole are length-prefixed.

use super::{FrameKind, TraceHeader, encode_frame};
use ferrock_base::coding::{Cursor, put_fixed32, put_fixed64, put_length_prefixed};
use ferrock_base::{Error, Result};

/// Numbers of the fields, RocksDB's `TracePayloadType`.
mod field {
    pub(super) const BATCH: u32 = 1;
    pub(super) const GET_FAMILY: u32 = 2;
    pub(super) const GET_KEY: u32 = 3;
    pub(super) const SEEK_FAMILY: u32 = 4;
    pub(super) const SEEK_KEY: u32 = 5;
    pub(super) const LOWER_BOUND: u32 = 6;
    pub(super) const UPPER_BOUND: u32 = 7;
    pub(super) const KEY_COUNT: u32 = 8;
    pub(super) const KEY_FAMILIES: u32 = 9;
    pub(super) const KEYS: u32 = 10;
}

/// Which way a seek goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekDirection {
    /// To the first key at or behind.
    Forward,
    /// To the last key at or before.
    Backward,
}

impl SeekDirection {
    fn kind(self) -> FrameKind {
        match self {
            Self::Forward => FrameKind::Seek,
            Self::Backward => FrameKind::SeekForPrev,
        }
    }
}

/// An operation of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A batch was written.
    Write {
        /// The batch, as [`WriteBatch::data`](crate::write_batch::WriteBatch::data) has it. It may be damaged.
        batch: Vec<u8>,
    },
    /// A key was read.
    Get {
        /// Id of the column family.
        family: u32,
        /// The key.
        key: Vec<u8>,
    },
    /// An iterator was placed.
    Seek {
        /// Which way.
        direction: SeekDirection,
        /// Id of the column family.
        family: u32,
        /// The key.
        key: Vec<u8>,
        /// Lower bound of the iterator, if it had one that is not empty.
        lower: Option<Vec<u8>>,
        /// Upper bound of the iterator, if it had one that is not empty.
        upper: Option<Vec<u8>>,
    },
    /// Keys were read at once.
    MultiGet {
        /// Id of the column family and the key, each.
        keys: Vec<(u32, Vec<u8>)>,
    },
}

/// Adds a batch that was written.
pub fn encode_write(out: &mut Vec<u8>, timestamp_us: u64, batch: &[u8]) {
    encode_frame(out, timestamp_us, FrameKind::Write, |out| {
        put_map(out, &[field::BATCH]);
        put_length_prefixed(out, batch);
    });
}

/// Adds a key that was read.
pub fn encode_get(out: &mut Vec<u8>, timestamp_us: u64, family: u32, key: &[u8]) {
    encode_frame(out, timestamp_us, FrameKind::Get, |out| {
        put_map(out, &[field::GET_FAMILY, field::GET_KEY]);
        put_fixed32(out, family);
        put_length_prefixed(out, key);
    });
}

/// Adds a placement of an iterator with these bounds; an empty bound is none.
pub fn encode_seek(
    out: &mut Vec<u8>,
    timestamp_us: u64,
    direction: SeekDirection,
    (family, key): (u32, &[u8]),
    bounds: [Option<&[u8]>; 2],
) {
    let bounds = bounds.map(|bound| bound.filter(|key| !key.is_empty()));
    encode_frame(out, timestamp_us, direction.kind(), |out| {
        let mut fields = vec![field::SEEK_FAMILY, field::SEEK_KEY];
        fields.extend(bounds[0].map(|_| field::LOWER_BOUND));
        fields.extend(bounds[1].map(|_| field::UPPER_BOUND));
        put_map(out, &fields);
        put_fixed32(out, family);
        put_length_prefixed(out, key);
        bounds.into_iter().flatten().for_each(|bound| put_length_prefixed(out, bound));
    });
}

/// Adds keys that were read at once, each with the id of its family.
pub fn encode_multi_get<'a>(
    out: &mut Vec<u8>,
    timestamp_us: u64,
    keys: impl ExactSizeIterator<Item = (u32, &'a [u8])>,
) {
    encode_frame(out, timestamp_us, FrameKind::MultiGet, |out| {
        put_map(out, &[field::KEY_COUNT, field::KEY_FAMILIES, field::KEYS]);
        put_fixed32(out, u32::try_from(keys.len()).unwrap_or(u32::MAX));
        let (mut families, mut texts) = (Vec::with_capacity(4 * keys.len()), Vec::new());
        for (family, key) in keys {
            put_fixed32(&mut families, family);
            put_length_prefixed(&mut texts, key);
        }
        put_length_prefixed(out, &families);
        put_length_prefixed(out, &texts);
    });
}

fn put_map(out: &mut Vec<u8>, fields: &[u32]) {
    put_fixed64(out, fields.iter().fold(0, |map, field| map | 1 << field));
}

impl Operation {
    /// Reads the payload of a frame; `None` for a frame that is no operation.
    ///
    /// # Errors
    /// `Corruption` naming the field and its offset in the payload where something is missing, left over, or unknown.
    ///
    /// ```
    /// use ferrock_format::trace::{FRAME_HEADER_SIZE_BYTES, FrameKind, Operation, TraceHeader, encode_get};
    /// let mut bytes = Vec::new();
    /// encode_get(&mut bytes, 0, 3, b"key");
    /// let header = TraceHeader { version: (0, 2), rocksdb_version: (11, 8) };
    /// let operation = Operation::decode(&header, FrameKind::Get, &bytes[FRAME_HEADER_SIZE_BYTES..]).unwrap();
    /// assert_eq!(operation, Some(Operation::Get { family: 3, key: b"key".to_vec() }));
    /// ```
    pub fn decode(header: &TraceHeader, kind: FrameKind, payload: &[u8]) -> Result<Option<Self>> {
        let mut fields = Fields::begin(header, payload)?;
        let operation = match kind {
            FrameKind::Write if !header.has_payload_maps() => return Ok(Some(Self::Write { batch: payload.to_vec() })),
            FrameKind::Write => Self::Write { batch: fields.bytes(field::BATCH, "batch")?.unwrap_or_default() },
            FrameKind::Get => {
                let family = fields.fixed32(field::GET_FAMILY, "column family")?;
                Self::Get { family, key: fields.bytes(field::GET_KEY, "key")?.unwrap_or_default() }
            }
            FrameKind::Seek | FrameKind::SeekForPrev => {
                let family = fields.fixed32(field::SEEK_FAMILY, "column family")?;
                let key = fields.bytes(field::SEEK_KEY, "key")?.unwrap_or_default();
                let lower = fields.bytes(field::LOWER_BOUND, "lower bound")?;
                let upper = fields.bytes(field::UPPER_BOUND, "upper bound")?;
                let direction = match kind {
                    FrameKind::Seek => SeekDirection::Forward,
                    _ => SeekDirection::Backward,
                };
                Self::Seek { direction, family, key, lower, upper }
            }
            FrameKind::MultiGet => Self::MultiGet { keys: fields.keys()? },
            FrameKind::Begin | FrameKind::End | FrameKind::Other(_) => return Ok(None),
        };
        fields.end()?;
        Ok(Some(operation))
    }
}

/// The fields of a payload, to be asked for in the order of their numbers.
struct Fields<'a> {
    /// Fields that are there and were not read; `None` where each is there that exists in version 0.1.
    map: Option<u64>,
    cursor: Cursor<'a>,
}

impl<'a> Fields<'a> {
    fn begin(header: &TraceHeader, payload: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(payload);
        let map = match header.has_payload_maps() && !payload.is_empty() {
            true => Some(cursor.fixed64("map of fields")?),
            false => None,
        };
        Ok(Self { map, cursor })
    }

    fn has(&mut self, number: u32) -> bool {
        match &mut self.map {
            // No bounds, and no lists of keys.
            None => number <= field::SEEK_KEY,
            Some(map) => {
                let is_there = *map >> number & 1 == 1;
                *map &= !(1 << number);
                is_there
            }
        }
    }

    fn fixed32(&mut self, number: u32, name: &str) -> Result<u32> {
        if self.has(number) { self.cursor.fixed32(name) } else { Ok(0) }
    }

    fn bytes(&mut self, number: u32, name: &str) -> Result<Option<Vec<u8>>> {
        if self.has(number) { self.cursor.length_prefixed(name).map(|bytes| Some(bytes.to_vec())) } else { Ok(None) }
    }

    fn keys(&mut self) -> Result<Vec<(u32, Vec<u8>)>> {
        let count = self.fixed32(field::KEY_COUNT, "count of keys")?;
        let families = self.bytes(field::KEY_FAMILIES, "column families")?.unwrap_or_default();
        let keys = self.bytes(field::KEYS, "keys")?.unwrap_or_default();
        let (mut families, mut keys) = (Cursor::new(&families), Cursor::new(&keys));
        let mut found = Vec::new();
        for _ in 0..count {
            found.push((families.fixed32("column family")?, keys.length_prefixed("key")?.to_vec()));
        }
        if !families.is_empty() || !keys.is_empty() {
            return Err(Error::corruption(format!("a multi-get of {count} keys has more keys or families than that")));
        }
        Ok(found)
    }

    fn end(self) -> Result<()> {
        match self.map {
            Some(unknown @ 1..) => Err(Error::corruption(format!("fields {unknown:#x} of an operation are unknown"))),
            _ if !self.cursor.is_empty() => {
                Err(Error::corruption("an operation has bytes behind its fields")
                    .at_offset(self.cursor.position() as u64))
            }
            _ => Ok(()),
        }
    }
}
