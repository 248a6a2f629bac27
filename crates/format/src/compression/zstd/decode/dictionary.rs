//! A dictionary prepared for decoding: content that lies before each frame, and tables to begin with.

use ferrock_base::{Error, Result};

use super::huffman::HuffmanTable;
use super::tables::{Kind, SequenceTable};
use super::{BAD_DICTIONARY, Damage};

const MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

/// What blocks may use before they have tables of their own.
pub(super) struct Tables {
    pub(super) huffman: HuffmanTable,
    /// Literal lengths, offsets, match lengths.
    pub(super) sequences: [SequenceTable; 3],
}

/// The dictionary. Made once, for any number of frames.
pub(in super::super::super) struct ReadDictionary {
    pub(super) id: u32,
    bytes: Box<[u8]>,
    content_start: usize,
    pub(super) tables: Option<Tables>,
    pub(super) repeat_offsets: [u32; 3],
}

impl ReadDictionary {
    /// Structured if `bytes` begin with the magic, otherwise history.
    pub(in super::super::super) fn new(bytes: &[u8]) -> Result<Self> {
        Self::parse(bytes).map_err(|damage| Error::corruption(format!("zstd dictionary: {damage}")))
    }

    fn parse(bytes: &[u8]) -> std::result::Result<Self, Damage> {
        let history = Self {
            id: 0,
            bytes: bytes.into(),
            content_start: 0,
            tables: None,
            repeat_offsets: super::FIRST_REPEAT_OFFSETS,
        };
        let Some((id, tables)) = bytes.strip_prefix(&MAGIC).and_then(<[u8]>::split_first_chunk::<4>) else {
            return Ok(history);
        };
        let mut huffman = HuffmanTable::new();
        let mut rest = &tables[huffman.read(tables).map_err(|_| BAD_DICTIONARY)?..];
        let mut read = |kind| {
            let mut table = SequenceTable::new();
            let size = table.read(rest, kind).map_err(|_| BAD_DICTIONARY)?;
            rest = &rest[size..];
            Ok::<_, Damage>(table)
        };
        let offsets = read(Kind::Offset)?;
        let match_lengths = read(Kind::MatchLength)?;
        let literal_lengths = read(Kind::LiteralLength)?;
        let (repeats, content) = rest.split_first_chunk::<12>().ok_or(BAD_DICTIONARY)?;
        let mut repeat_offsets = [0; 3];
        for (offset, stored) in repeat_offsets.iter_mut().zip(repeats.as_chunks::<4>().0) {
            *offset = u32::from_le_bytes(*stored);
            if *offset == 0 || *offset as usize > content.len() {
                return Err(BAD_DICTIONARY);
            }
        }
        Ok(Self {
            id: u32::from_le_bytes(*id),
            content_start: bytes.len() - content.len(),
            tables: Some(Tables { huffman, sequences: [literal_lengths, offsets, match_lengths] }),
            repeat_offsets,
            ..history
        })
    }

    pub(super) fn content(&self) -> &[u8] {
        &self.bytes[self.content_start..]
    }
}
