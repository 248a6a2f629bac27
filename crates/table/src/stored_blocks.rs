//! Data blocks of the inputs of a merge, as their files store them: for a builder whose block has the same bytes.
//!
//! Where nothing interleaves a block, it comes out of a merge as it went in. What is stored for it is then copied, and
//! not compressed again, which is most of the work of writing a compressed block.
//!
//! ```text
//! input 0      [ block | payload ] [ block | payload ]     the last ones that its iterator decoded
//! input 1      [ block | in file ] [ block | raw     ]
//!                   ||
//! block cut    [ block ]      equal: the payload is stored, with a trailer of its own; else the block is compressed
//! ```
//!
//! Invariants
//! - Bytes decide: a payload is copied for a block that is equal, byte by byte, to what it was decompressed to. So a
//!   copy is right whatever merged, dropped or changed entries, and `verify_compression` has nothing to add to it.
//! - Only inputs are kept whose properties have the builder's compression, options and format version, and no
//!   dictionary. A compressor that makes the same bytes of the same block makes the table that the copies make.
//! - A block that its file stores uncompressed is kept as one that compression does not make small enough, but not of
//!   a file that says it has blocks for which that was not tried.
//! - Memory: [`BLOCKS_PER_INPUT`] blocks of each input, and [`MOST_BYTES`] of all, each counted twice for its payload.
//!   What would be more is not kept.
//! - Where blocks end early does not depend on what is in the cache, or on how files are read.
//! - One thread has the inputs and cuts the blocks, so what is found does not depend on threads that pack and write.
//!
//! Blocks are cut by size, so behind one entry that came in between no block of the output would begin where one of
//! the input does. A builder may therefore end a block early, before an entry that begins a run: the first one of a
//! block of an input in which no other input has an entry.
//!
//! ```text
//! input 0    [ a b c d ][ e f g h ][ i j k l ]
//! input 1      b'                             [ m ...
//! output     [ a b' b c ][ d ][ e f g h ][ i j k l ]
//!                         ^^^ ended early: e begins a run
//! ```
//!
//! Payloads are taken over from the reads of iterators, where they are dropped otherwise. Of a mapped file they are
//! copied. A block that an iterator found in the cache is read again when an equal one is cut, and compared with it
//! anew; but not past the page cache, where a read takes longer than compressing.

use crate::blocks::BlockRef;
use bytes::Bytes;
use ferrock_base::{InternalComparator, Result};
use ferrock_format::block::{DataBlock, DataBlockCursor};
use ferrock_format::compression::{CompressionOptions, CompressionType};
use ferrock_format::handle::BlockHandle;
use ferrock_format::properties::TableProperties;
use ferrock_vfs::ReadContext;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Blocks that are kept of each input. An input is one block ahead of the block that is cut, and further ahead where
/// what follows in it is dropped.
const BLOCKS_PER_INPUT: usize = 3;

/// Bytes that are kept of all inputs.
const MOST_BYTES: usize = 4 << 20;

/// Data blocks of the inputs of one merge.
#[derive(Debug)]
pub struct StoredBlocks {
    form: Form,
    kept: Mutex<Kept>,
    /// An input has come to a block since a builder last asked.
    has_news: AtomicBool,
    /// False leaves it at ending blocks early.
    copies: bool,
}

/// What a payload depends on besides the block.
#[derive(Debug, PartialEq, Eq)]
struct Form {
    kind: CompressionType,
    /// As in the property.
    options: String,
    format_version: u32,
}

#[derive(Debug, Default)]
struct Kept {
    inputs: Vec<Input>,
    bytes: usize,
    /// The input that came to a block last.
    last: usize,
}

#[derive(Debug, Default)]
struct Input {
    blocks: VecDeque<KeptBlock>,
    /// It stands in the newest of them, or has no entry behind it.
    is_known: bool,
}

#[derive(Debug)]
struct KeptBlock {
    block: BlockRef,
    payload: KeptPayload,
    bytes: usize,
}

#[derive(Debug)]
enum KeptPayload {
    Known(StoredPayload),
    InFile {
        place: PlaceInFile,
        keeps_raw: bool,
    },
    /// It is stored in another form, or cannot be had.
    OfNoUse,
}

/// A file whose blocks can be read again.
pub(crate) trait StoredFile: Debug + Send + Sync {
    /// The block, its compression byte and, where it is compressed, its payload.
    fn read_again(&self, handle: BlockHandle, context: &ReadContext) -> Result<(DataBlock, u8, Option<Bytes>)>;
}

/// A block in a file, and how it is read.
pub(crate) type PlaceInFile = (Arc<dyn StoredFile>, BlockHandle, ReadContext);

/// What a file stores for a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoredPayload {
    Compressed(Bytes),
    /// The block as it is.
    Raw,
}

/// The place of an input among the [`StoredBlocks`] of its merge.
#[derive(Clone, Debug)]
pub struct StoredInput {
    all: Arc<StoredBlocks>,
    number: usize,
    /// What the table stores raw was rejected by the compressor.
    keeps_raw: bool,
}

/// Blocks of a table whose payloads were copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopiedBlocks {
    /// How many.
    pub blocks: u64,
    /// Bytes of the payloads.
    pub bytes: u64,
}

impl CopiedBlocks {
    /// Adds others.
    pub fn absorb(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.bytes += other.bytes;
    }
}

impl StoredBlocks {
    /// For a merge into tables of this compression and format version; `None` where nothing is compressed, or with a
    /// dictionary.
    #[must_use]
    pub fn new(kind: CompressionType, options: &CompressionOptions, format_version: u32) -> Option<Arc<Self>> {
        let form = Form::of_builder(kind, options, format_version)?;
        Some(Arc::new(Self { form, kept: Mutex::default(), has_news: AtomicBool::new(false), copies: true }))
    }

    /// The same for tests: builders end blocks where they would to copy others, and copy none.
    #[must_use]
    pub fn without_copies(
        kind: CompressionType,
        options: &CompressionOptions,
        format_version: u32,
    ) -> Option<Arc<Self>> {
        let form = Form::of_builder(kind, options, format_version)?;
        Some(Arc::new(Self { form, kept: Mutex::default(), has_news: AtomicBool::new(false), copies: false }))
    }

    /// Whether builders are to copy what they find.
    pub(crate) fn copies(&self) -> bool {
        self.copies
    }

    /// Adds an input.
    #[must_use]
    pub fn add_input(self: &Arc<Self>) -> StoredInput {
        let mut kept = self.kept.lock();
        kept.inputs.push(Input::default());
        StoredInput { all: Arc::clone(self), number: kept.inputs.len() - 1, keeps_raw: false }
    }

    /// True when tables of this compression and format version may have the payloads.
    pub(crate) fn are_for(&self, kind: CompressionType, options: &CompressionOptions, format_version: u32) -> bool {
        Form::of_builder(kind, options, format_version).is_some_and(|form| form == self.form)
    }

    /// What a file stores for a block of these bytes; `Some(None)`: an input has the block, but not in a form of use.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<Option<StoredPayload>> {
        let kept = self.kept.lock();
        let is_equal = |kept: &&KeptBlock| kept.block.data().is_ok_and(|block| block.bytes() == bytes);
        let found = kept.inputs.iter().flat_map(|input| &input.blocks).find(is_equal)?;
        Some(self.payload_of(found, bytes))
    }

    fn payload_of(&self, found: &KeptBlock, bytes: &[u8]) -> Option<StoredPayload> {
        match &found.payload {
            KeptPayload::Known(payload) => Some(payload.clone()),
            KeptPayload::InFile { place: (file, handle, context), keeps_raw } => {
                // Where the read fails, the block is compressed: it is there.
                let (block, compression, payload) = file.read_again(*handle, context).ok()?;
                let payload = self.form.usable(compression, payload, *keeps_raw);
                payload.filter(|_| block.bytes() == bytes)
            }
            KeptPayload::OfNoUse => None,
        }
    }

    /// True when an input has come to a block since [`begins_run`](Self::begins_run) was asked.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.has_news.load(Ordering::Relaxed)
    }

    /// Forgets the news unread.
    pub(crate) fn skip_news(&self) {
        self.has_news.store(false, Ordering::Relaxed);
    }

    /// True when the block that an input came to last begins with this key, which is about to be added to a table, and
    /// no other input has an entry in it. The news are read then.
    pub(crate) fn begins_run(&self, internal_key: &[u8], order: &InternalComparator) -> bool {
        self.skip_news();
        let kept = self.kept.lock();
        let block = |input: &Input| input.blocks.back().map(|kept| kept.block.clone());
        let Some(begun) = kept.inputs.get(kept.last).and_then(block) else { return false };
        let Ok(begun) = begun.data() else { return false };
        let mut cursor = DataBlockCursor::new(None);
        cursor.seek_to_first(begun);
        if !cursor.valid() || cursor.key(begun) != internal_key {
            return false;
        }
        cursor.seek_to_last(begun);
        let last = cursor.key(begun);
        let mut others = kept.inputs.iter().enumerate().filter(|(number, _)| *number != kept.last);
        // The next entry of another input is in its newest block; where there is none, that input is at its end.
        others.all(|(_, other)| {
            let Some(newest) = other.blocks.back() else { return other.is_known };
            let Some(block) = newest.block.data().ok().filter(|_| other.is_known) else { return false };
            let mut next = DataBlockCursor::new(None);
            next.seek(block, order, internal_key);
            next.status().is_ok() && (!next.valid() || order.compare(next.key(block), last).is_gt())
        })
    }

    /// Bytes of the blocks and payloads that are kept.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.kept.lock().bytes
    }
}

impl Form {
    /// `None` for tables whose blocks are not compressed each by itself.
    fn of_builder(kind: CompressionType, options: &CompressionOptions, format_version: u32) -> Option<Self> {
        let has_dictionary = options.max_dict_bytes > 0 && kind.uses_dictionary();
        let is_compressed = kind != CompressionType::NoCompression;
        let options = compression_text(options, kind);
        (is_compressed && !has_dictionary).then_some(Self { kind, options, format_version })
    }

    /// What a file of this form stores, if it is what a builder would store.
    fn usable(&self, compression: u8, payload: Option<Bytes>, keeps_raw: bool) -> Option<StoredPayload> {
        match payload {
            Some(payload) => (compression == self.kind.as_u8()).then_some(StoredPayload::Compressed(payload)),
            None => keeps_raw.then_some(StoredPayload::Raw),
        }
    }
}

impl StoredInput {
    /// The same for a table of the input; `None` if payloads of the table are of no use. The table begins.
    pub(crate) fn of_table(
        &self,
        properties: &TableProperties,
        format_version: u32,
        has_dictionary: bool,
    ) -> Option<Self> {
        let form = &self.all.form;
        let is_of_use =
            properties.compression_options == form.options && format_version == form.format_version && !has_dictionary;
        let keeps_raw = properties.num_data_blocks_compression_bypassed == 0;
        self.set_known(properties.num_data_blocks == 0);
        is_of_use.then(|| Self { keeps_raw, ..self.clone() })
    }

    fn set_known(&self, is_known: bool) {
        if let Some(input) = self.all.kept.lock().inputs.get_mut(self.number) {
            input.is_known = is_known;
        }
    }

    /// Keeps a block that was read, and its payload where it is compressed.
    pub(crate) fn keep(&self, block: &BlockRef, compression: u8, payload: Option<Bytes>) {
        let payload = self.all.form.usable(compression, payload, self.keeps_raw);
        self.keep_as(block, payload.map_or(KeptPayload::OfNoUse, KeptPayload::Known));
    }

    /// Keeps a block that was in the cache, and where it is in a file that can be read cheaply.
    pub(crate) fn keep_cached(&self, block: &BlockRef, place: Option<PlaceInFile>) {
        let keeps_raw = self.keeps_raw;
        let in_file = |place| KeptPayload::InFile { place, keeps_raw };
        self.keep_as(block, place.map_or(KeptPayload::OfNoUse, in_file));
    }

    /// Keeps a block, in which the input stands, in place of as many of its older ones as there is no room for.
    fn keep_as(&self, block: &BlockRef, payload: KeptPayload) {
        let bytes = 2 * block.data().map_or(0, |block| block.bytes().len());
        let mut kept = self.all.kept.lock();
        let Kept { inputs, bytes: all_bytes, last } = &mut *kept;
        let Some(input) = inputs.get_mut(self.number) else { return };
        while input.blocks.len() >= BLOCKS_PER_INPUT || *all_bytes + bytes > MOST_BYTES {
            let Some(dropped) = input.blocks.pop_front() else { break };
            *all_bytes -= dropped.bytes;
        }
        input.is_known = *all_bytes + bytes <= MOST_BYTES;
        if input.is_known {
            (*all_bytes, *last) = (*all_bytes + bytes, self.number);
            input.blocks.push_back(KeptBlock { block: block.clone(), payload, bytes });
            self.all.has_news.store(true, Ordering::Relaxed);
        }
    }
}

impl StoredPayload {
    /// The payload, if it is not the block itself.
    pub(crate) fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Compressed(payload) => Some(payload),
            Self::Raw => None,
        }
    }
}

/// Compression and its options as a property of tables has them.
pub(crate) fn compression_text(options: &CompressionOptions, kind: CompressionType) -> String {
    format!(
        "window_bits={}; level={}; strategy={}; max_dict_bytes={}; zstd_max_train_bytes={}; enabled={}; \
         max_dict_buffer_bytes={}; use_zstd_dict_trainer={}; max_compressed_bytes_per_kb={}; checksum={}; _type={}; ",
        options.window_bits,
        options.level,
        options.strategy,
        options.max_dict_bytes,
        options.zstd_max_train_bytes,
        u8::from(options.enabled),
        options.max_dict_buffer_bytes,
        u8::from(options.use_zstd_dict_trainer),
        options.max_compressed_bytes_per_kb,
        u8::from(options.checksum),
        kind.as_u8(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::CachedBlock;
    use ferrock_format::block::{BlockBuilder, BlockBuilderOptions};

    fn block(value: &[u8]) -> Vec<u8> {
        let mut builder = BlockBuilder::new(BlockBuilderOptions::default());
        builder.add(b"a key", value);
        builder.finish().to_vec()
    }

    fn held(value: &[u8]) -> BlockRef {
        BlockRef::standalone(CachedBlock::Data(DataBlock::new(block(value)).unwrap()))
    }

    fn two_inputs() -> (Arc<StoredBlocks>, [StoredInput; 2]) {
        let options = CompressionOptions::default();
        let stored = StoredBlocks::new(CompressionType::Lz4, &options, 7).unwrap();
        let properties = TableProperties {
            compression_options: compression_text(&options, CompressionType::Lz4),
            ..TableProperties::default()
        };
        let inputs = [stored.add_input(), stored.add_input()];
        let inputs = inputs.map(|input| input.of_table(&properties, 7, false).unwrap());
        assert!(inputs[0].of_table(&properties, 6, false).is_none());
        assert!(inputs[0].of_table(&properties, 7, true).is_none());
        assert!(inputs[0].of_table(&TableProperties::default(), 7, false).is_none());
        (stored, inputs)
    }

    const LZ4: u8 = CompressionType::Lz4 as u8;

    #[test]
    fn what_is_found_has_the_same_bytes() {
        let (stored, [first, second]) = two_inputs();
        first.keep(&held(b"one"), LZ4, Some(Bytes::from_static(b"1")));
        second.keep(&held(b"two"), 0, None);
        assert_eq!(stored.find(&block(b"one")), Some(Some(StoredPayload::Compressed(Bytes::from_static(b"1")))));
        assert_eq!(stored.find(&block(b"two")), Some(Some(StoredPayload::Raw)));
        for other in [&b"onf"[..], b"on", b"onee", b""] {
            assert_eq!(stored.find(&block(other)), None);
        }
        assert_eq!(stored.find(&[]), None);
    }

    #[test]
    fn an_input_keeps_its_last_blocks() {
        let (stored, [first, second]) = two_inputs();
        second.keep(&held(b"other"), LZ4, Some(Bytes::from_static(b"0")));
        let before = stored.memory_bytes();
        for number in 0..10u8 {
            first.keep(&held(&[number; 7]), LZ4, Some(Bytes::from(vec![number])));
            let found: Vec<u8> = (0..=number).filter(|number| stored.find(&block(&[*number; 7])).is_some()).collect();
            let kept = BLOCKS_PER_INPUT.min(usize::from(number) + 1);
            assert_eq!(found, ((number + 1 - kept as u8)..=number).collect::<Vec<u8>>());
            let bytes = 2 * block(&[number; 7]).len();
            assert_eq!(stored.memory_bytes(), before + kept * bytes);
        }
        assert!(stored.find(&block(b"other")).is_some());
    }

    #[test]
    fn large_blocks_take_the_place_of_older_ones() {
        let (stored, inputs) = two_inputs();
        for number in 0..10u8 {
            for (input, of_input) in inputs.iter().zip([0, 100]) {
                let value = vec![of_input + number; 500 << 10];
                input.keep(&held(&value), LZ4, Some(Bytes::from(vec![number])));
                assert!(stored.find(&block(&value)).is_some(), "block {number} of the input from {of_input}");
                assert!(stored.memory_bytes() <= MOST_BYTES);
            }
        }
        let value = vec![7; MOST_BYTES / 2 + 1];
        inputs[0].keep(&held(&value), LZ4, None);
        assert!(stored.find(&block(&value)).is_none() && stored.memory_bytes() <= MOST_BYTES, "it has no room at all");
        inputs[0].keep(&held(b"small"), LZ4, None);
        assert!(stored.find(&block(b"small")).is_some());
    }

    /// A file that has another block than the cache, or none.
    #[derive(Debug)]
    struct File(Option<&'static [u8]>);

    impl StoredFile for File {
        fn read_again(&self, _: BlockHandle, _: &ReadContext) -> Result<(DataBlock, u8, Option<Bytes>)> {
            let has = self.0.ok_or_else(|| ferrock_base::Error::corruption("no block"))?;
            Ok((DataBlock::new(block(has))?, LZ4, Some(Bytes::from_static(b"stored"))))
        }
    }

    #[test]
    fn a_cached_block_is_compared_with_its_file() {
        let (stored, [input, _]) = two_inputs();
        let stored_as = |has: Option<&'static [u8]>, value: &[u8]| {
            let file: Arc<dyn StoredFile> = Arc::new(File(has));
            input.keep_cached(&held(value), Some((file, BlockHandle::new(0, 1), ReadContext::default())));
            stored.find(&block(value))
        };
        let payload = StoredPayload::Compressed(Bytes::from_static(b"stored"));
        assert_eq!(stored_as(Some(b"one"), b"one"), Some(Some(payload)));
        assert_eq!(stored_as(Some(b"two"), b"twi"), Some(None));
        assert_eq!(stored_as(None, b"three"), Some(None));
        input.keep_cached(&held(b"four"), None);
        assert_eq!(stored.find(&block(b"four")), Some(None));
    }

    #[test]
    fn what_a_file_stores_by_other_rules_is_not_kept() {
        let (stored, [input, _]) = two_inputs();
        input.keep(&held(b"one"), CompressionType::Zstd as u8, Some(Bytes::from_static(b"1")));
        let untried = TableProperties {
            num_data_blocks_compression_bypassed: 1,
            compression_options: compression_text(&CompressionOptions::default(), CompressionType::Lz4),
            ..TableProperties::default()
        };
        let input = input.of_table(&untried, 7, false).unwrap();
        input.keep(&held(b"two"), 0, None);
        assert_eq!((stored.find(&block(b"one")), stored.find(&block(b"two"))), (Some(None), Some(None)));
    }
}
