//! The Zstandard decoder: one frame, into memory that nothing was written to.
//!
//! ```text
//! frame        header | block... | checksum (4 bytes, if the header says so)
//! block        header (3 bytes: last, type, size) | bytes, or one byte that repeats, or
//!              literals section | sequences section
//! literals     header (1 to 5 bytes) | bytes, or one byte, or
//!              Huffman table (unless the last one goes on) | 1 or 4 streams
//! sequences    count (1 to 3 bytes) | modes (1 byte) | tables | stream
//! ```
//!
//! Every position that a frame names is checked before it is used: sizes of sections and streams against the input,
//! lengths and offsets against the literals, the output and the dictionary. What is unchecked stands in
//! [`bits`] (a window that moves within its stream), [`huffman`] (rounds that are counted beforehand) and
//! [`sequences`] (copies in wide steps far from the end). On processors with BMI2 these loops are compiled for it.
//!
//! A sound frame is what RFC 8878 calls so; beyond it, codes of literals may be 12 bits long, as the C library accepts
//! them.
//!
//! Tried and lost: see `docs/dependencies.md`.

mod bits;
mod dictionary;
mod fse;
mod huffman;
mod sequences;
mod tables;
#[cfg(test)]
mod tests;

use std::mem::MaybeUninit;

use zstd_rs::FrameHeader;

use super::super::wide_copy::SURPLUS;
use super::MAX_BLOCK_SIZE;
use huffman::HuffmanTable;
use sequences::{Literals, Output, SequenceTables};
use tables::{Kind, SequenceTable};

pub(in super::super) use dictionary::ReadDictionary;

/// Why a frame or a dictionary is damaged.
pub(super) type Damage = &'static str;

const CUT: Damage = "it is cut short";
const TOO_LONG: Damage = "it decodes to more than is accepted";
const BAD_BLOCK: Damage = "a block is larger than blocks may be, or of the reserved type";
const BAD_TABLE: Damage = "the description of a table is damaged";
const NO_TABLE: Damage = "a block goes on with a table that there is none of";
const BAD_STREAM: Damage = "a stream has no end";
const BAD_LITERALS: Damage = "the literals of a block are damaged";
const BAD_SEQUENCES: Damage = "the sequences of a block are damaged";
const BEFORE_BEGINNING: Damage = "a match begins before everything";
const BAD_CHECKSUM: Damage = "its checksum does not match";
const BAD_SIZE: Damage = "it decodes to another size than it says";
const BAD_DICTIONARY: Damage = "the dictionary does not parse";
const OTHER_DICTIONARY: Damage = "it was made with another dictionary";

const MAX_WINDOW_SIZE: u64 = 1 << 31;
const FIRST_REPEAT_OFFSETS: [u32; 3] = [1, 4, 8];
/// With fewer literals there are no four streams.
const MIN_OF_FOUR_STREAMS: usize = 6;

/// Where a table comes from that a block goes on with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Nowhere,
    Predefined,
    Dictionary,
    Frame,
}

/// A decoder with its tables, for any number of frames.
pub(super) struct Decoder {
    huffman: HuffmanTable,
    huffman_source: Source,
    predefined: [SequenceTable; 3],
    own: [SequenceTable; 3],
    sources: [Source; 3],
    repeat_offsets: [u32; 3],
    literals: Vec<u8>,
    /// The processor has what loops are compiled for twice.
    has_bmi2: bool,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self {
            huffman: HuffmanTable::new(),
            huffman_source: Source::Nowhere,
            predefined: [Kind::LiteralLength, Kind::Offset, Kind::MatchLength].map(Kind::predefined),
            own: std::array::from_fn(|_| SequenceTable::new()),
            sources: [Source::Nowhere; 3],
            repeat_offsets: FIRST_REPEAT_OFFSETS,
            literals: Vec::new(),
            has_bmi2: super::has_bmi2(),
        }
    }

    /// Decodes the frame that `frame` begins with. Returns how much of `out` it fills, all of which is then
    /// initialized, and its size.
    pub(super) fn decode(
        &mut self,
        frame: &[u8],
        header: &FrameHeader,
        dictionary: Option<&ReadDictionary>,
        out: &mut [MaybeUninit<u8>],
    ) -> Result<(usize, usize), Damage> {
        if header.dict_id != 0 && dictionary.is_none_or(|dictionary| dictionary.id != header.dict_id) {
            return Err(OTHER_DICTIONARY);
        }
        if header.window_size > MAX_WINDOW_SIZE && !header.single_segment {
            return Err(BAD_BLOCK);
        }
        let has_tables = dictionary.is_some_and(|dictionary| dictionary.tables.is_some());
        let source = if has_tables { Source::Dictionary } else { Source::Nowhere };
        self.huffman_source = source;
        self.sources = [source; 3];
        self.repeat_offsets = dictionary.map_or(FIRST_REPEAT_OFFSETS, |dictionary| dictionary.repeat_offsets);
        let max_block = usize::try_from(header.window_size).unwrap_or(usize::MAX).min(MAX_BLOCK_SIZE);
        let history = dictionary.map_or(&[][..], ReadDictionary::content);
        let mut out = Output { memory: out, written: 0, block_end: 0, history };
        let mut rest = frame.get(header.header_len..).ok_or(CUT)?;
        loop {
            let (block, behind) = rest.split_first_chunk::<3>().ok_or(CUT)?;
            let word = u32::from_le_bytes([block[0], block[1], block[2], 0]);
            let size = (word >> 3) as usize;
            if size > max_block {
                return Err(BAD_BLOCK);
            }
            out.block_end = out.memory.len().min(out.written.saturating_add(max_block));
            let stored = if (word >> 1) & 3 == 1 { 1 } else { size };
            let (content, behind) = behind.split_at_checked(stored).ok_or(CUT)?;
            rest = behind;
            match ((word >> 1) & 3, content) {
                (0, content) => out.put(content)?,
                (1, [byte]) => out.fill(*byte, size)?,
                (2, content) => self.block(content, max_block, dictionary, &mut out)?,
                _ => return Err(BAD_BLOCK),
            }
            if word & 1 == 1 {
                break;
            }
        }
        let written = out.written;
        if header.content_size.is_some_and(|size| size != written as u64) {
            return Err(BAD_SIZE);
        }
        if header.checksum {
            let (stored, behind) = rest.split_first_chunk::<4>().ok_or(CUT)?;
            rest = behind;
            // SAFETY: all before `written` is initialized.
            let content = unsafe { out.memory[..written].assume_init_ref() };
            if zstd_rs::xxh64(content, 0) as u32 != u32::from_le_bytes(*stored) {
                return Err(BAD_CHECKSUM);
            }
        }
        Ok((written, frame.len() - rest.len()))
    }

    fn block(
        &mut self,
        block: &[u8],
        max_block: usize,
        dictionary: Option<&ReadDictionary>,
        out: &mut Output<'_>,
    ) -> Result<(), Damage> {
        #[cfg(target_arch = "x86_64")]
        if self.has_bmi2 {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { self.block_with_bmi2(block, max_block, dictionary, out) };
        }
        self.block_anywhere(block, max_block, dictionary, out)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2,lzcnt")]
    fn block_with_bmi2(
        &mut self,
        block: &[u8],
        max_block: usize,
        dictionary: Option<&ReadDictionary>,
        out: &mut Output<'_>,
    ) -> Result<(), Damage> {
        self.block_anywhere(block, max_block, dictionary, out)
    }

    #[inline(always)]
    fn block_anywhere(
        &mut self,
        block: &[u8],
        max_block: usize,
        dictionary: Option<&ReadDictionary>,
        out: &mut Output<'_>,
    ) -> Result<(), Damage> {
        // Out of `self`, as the literals are borrowed while the sequences change what else there is.
        let mut buffer = std::mem::take(&mut self.literals);
        let result = self.sections(block, max_block, dictionary, &mut buffer, out);
        self.literals = buffer;
        result
    }

    #[inline(always)]
    fn sections(
        &mut self,
        block: &[u8],
        max_block: usize,
        dictionary: Option<&ReadDictionary>,
        buffer: &mut Vec<u8>,
        out: &mut Output<'_>,
    ) -> Result<(), Damage> {
        let header = LiteralsHeader::read(block, max_block)?;
        let rest = block.get(header.header_size..).ok_or(CUT)?;
        let (stored, behind) = rest.split_at_checked(header.stored_size).ok_or(CUT)?;
        let tables = dictionary.and_then(|dictionary| dictionary.tables.as_ref());
        // From where they are, if enough follows.
        if header.kind == LiteralsKind::Raw
            && let Some(literals) = Literals::new(rest, header.size)
        {
            return self.sequences(behind, literals, tables, out);
        }
        if buffer.len() < header.size + SURPLUS {
            buffer.resize(header.size + SURPLUS, 0);
        }
        let target = &mut buffer[..header.size];
        match header.kind {
            LiteralsKind::Raw => target.copy_from_slice(stored),
            LiteralsKind::Repeated => target.fill(*stored.first().ok_or(CUT)?),
            LiteralsKind::Compressed | LiteralsKind::Treeless => {
                let mut streams = stored;
                if header.kind == LiteralsKind::Compressed {
                    self.huffman_source = Source::Nowhere;
                    let size = self.huffman.read(stored)?;
                    self.huffman_source = Source::Frame;
                    streams = stored.get(size..).ok_or(BAD_LITERALS)?;
                }
                let huffman = match (self.huffman_source, tables) {
                    (Source::Frame, _) => &self.huffman,
                    (Source::Dictionary, Some(tables)) => &tables.huffman,
                    _ => return Err(NO_TABLE),
                };
                if header.has_four_streams {
                    huffman.decode_four(self.has_bmi2, streams, target)?;
                } else {
                    huffman.decode_one(streams, target)?;
                }
            }
        }
        let literals = Literals::new(buffer, header.size).ok_or(BAD_LITERALS)?;
        self.sequences(behind, literals, tables, out)
    }

    #[inline(always)]
    fn sequences(
        &mut self,
        section: &[u8],
        literals: Literals<'_>,
        dictionary: Option<&dictionary::Tables>,
        out: &mut Output<'_>,
    ) -> Result<(), Damage> {
        let (count, rest) = match *section {
            [few @ 0..128, ref rest @ ..] => (usize::from(few), rest),
            [255, low, high, ref rest @ ..] => (usize::from(u16::from_le_bytes([low, high])) + 0x7f00, rest),
            [high @ 128..=254, low, ref rest @ ..] => ((usize::from(high) - 128) * 256 + usize::from(low), rest),
            _ => return Err(CUT),
        };
        if count == 0 {
            return if rest.is_empty() { out.put(literals.all()) } else { Err(BAD_SEQUENCES) };
        }
        let (modes, mut rest) = rest.split_first().ok_or(CUT)?;
        if modes & 3 != 0 {
            return Err(BAD_SEQUENCES);
        }
        for (index, kind) in [Kind::LiteralLength, Kind::Offset, Kind::MatchLength].into_iter().enumerate() {
            match (modes >> (6 - 2 * index)) & 3 {
                0 => self.sources[index] = Source::Predefined,
                1 => {
                    let (symbol, behind) = rest.split_first().ok_or(CUT)?;
                    self.sources[index] = Source::Nowhere;
                    self.own[index].fill_with_one(*symbol, kind)?;
                    self.sources[index] = Source::Frame;
                    rest = behind;
                }
                2 => {
                    self.sources[index] = Source::Nowhere;
                    let size = self.own[index].read(rest, kind)?;
                    self.sources[index] = Source::Frame;
                    rest = rest.get(size..).ok_or(CUT)?;
                }
                _ => {}
            }
        }
        let table = |index: usize| match (self.sources[index], dictionary) {
            (Source::Predefined, _) => Ok(&self.predefined[index]),
            (Source::Frame, _) => Ok(&self.own[index]),
            (Source::Dictionary, Some(tables)) => Ok(&tables.sequences[index]),
            _ => Err(NO_TABLE),
        };
        let tables = SequenceTables { literal_lengths: table(0)?, offsets: table(1)?, match_lengths: table(2)? };
        sequences::execute(self.has_bmi2, rest, count, &tables, literals, &mut self.repeat_offsets, out)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LiteralsKind {
    Raw,
    Repeated,
    Compressed,
    Treeless,
}

struct LiteralsHeader {
    kind: LiteralsKind,
    header_size: usize,
    /// Of the literals.
    size: usize,
    /// In the block.
    stored_size: usize,
    has_four_streams: bool,
}

impl LiteralsHeader {
    #[inline(always)]
    fn read(block: &[u8], max_block: usize) -> Result<Self, Damage> {
        let mut bytes = [0; 8];
        let begin = block.get(..5).unwrap_or(block);
        bytes[..begin.len()].copy_from_slice(begin);
        let word = u64::from_le_bytes(bytes);
        let kind = match word & 3 {
            0 => LiteralsKind::Raw,
            1 => LiteralsKind::Repeated,
            2 => LiteralsKind::Compressed,
            _ => LiteralsKind::Treeless,
        };
        let format = (word >> 2) & 3;
        let is_coded = matches!(kind, LiteralsKind::Compressed | LiteralsKind::Treeless);
        let (header_size, size, stored_size) = if is_coded {
            let (header_size, width) = match format {
                0 | 1 => (3, 10),
                2 => (4, 14),
                _ => (5, 18),
            };
            let mask = (1u64 << width) - 1;
            (header_size, ((word >> 4) & mask) as usize, ((word >> (4 + width)) & mask) as usize)
        } else {
            let (header_size, size) = match format {
                0 | 2 => (1, (word >> 3) & 0x1f),
                1 => (2, (word >> 4) & 0xfff),
                _ => (3, (word >> 4) & 0xf_ffff),
            };
            let stored_size = if kind == LiteralsKind::Repeated { 1 } else { size };
            (header_size, size as usize, stored_size as usize)
        };
        if begin.len() < header_size {
            return Err(CUT);
        }
        let has_four_streams = is_coded && format != 0;
        if size > max_block || (has_four_streams && size < MIN_OF_FOUR_STREAMS) || (is_coded && size == 0) {
            return Err(BAD_LITERALS);
        }
        Ok(Self { kind, header_size, size, stored_size, has_four_streams })
    }
}
