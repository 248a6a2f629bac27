//! The parts of a table file: footer, blocks, properties, filters, compressed payloads.

use crate::{codecs, split_selector};
use ferrock_base::comparator::{Comparator, InternalComparator};
use ferrock_base::{InternalIterator, SequenceNumber};
use ferrock_format::block::{
    DataBlock, DataBlockIter, IndexBlock, IndexCursor, IndexFormat, MetaBlock, RowBounds, decode_row_bounds_directory,
    encode_row_bounds, encode_row_bounds_directory,
};
use ferrock_format::compression::{
    self, CompressionOptions, CompressionType, Compressor, Dictionary, zstd_frame_decompress,
};
use ferrock_format::filter::FilterKind;
use ferrock_format::footer::{Footer, MAX_FOOTER_SIZE};
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex::MetaBlockHandles;
use ferrock_format::properties::{CompressionName, TableProperties, decode_seqno_time_map};
use ferrock_format::unique_id::UniqueId;

/// The most that a payload may say it decompresses to.
const MAX_DECOMPRESSED_BYTES: usize = 1 << 20;

fn comparator(selector: u8) -> InternalComparator {
    InternalComparator::new(if selector & 1 == 0 { Comparator::Bytewise } else { Comparator::ReverseBytewise })
}

/// A footer in a file of its own length, or of a length that the first bytes choose.
pub fn footer(data: &[u8]) {
    let Some((size, tail)) = data.split_first_chunk::<3>() else { return };
    let extra = u64::from(u32::from_le_bytes([size[0], size[1], size[2], 0]));
    for file_size in [tail.len() as u64, tail.len() as u64 + extra, u64::MAX] {
        let Ok(footer) = Footer::decode(tail, file_size) else { continue };
        let footer_offset = file_size - footer.encoded_len() as u64;
        assert!(footer.metaindex.end().is_some_and(|end| end <= file_size));
        if let Ok(encoded) = footer.encode(footer_offset) {
            assert_eq!(Footer::decode(&encoded, footer_offset + MAX_FOOTER_SIZE as u64).expect("our own"), footer);
        }
    }
    if let Ok((handle, length)) = BlockHandle::decode(tail) {
        let mut encoded = Vec::new();
        handle.encode_to(&mut encoded);
        assert!(length <= tail.len());
        assert_eq!(BlockHandle::decode(&encoded).expect("our own").0, handle);
        let _ = (handle.end(), handle.end_with_trailer(), handle.checked_len_with_trailer(extra));
    }
}

/// A properties or metaindex block.
pub fn properties(data: &[u8]) {
    let (selector, block) = split_selector(data);
    let _ = decode_seqno_time_map(block);
    if let Ok(text) = std::str::from_utf8(block) {
        let _ = CompressionName::parse(text, u32::from(selector));
    }
    let Ok(block) = MetaBlock::new(block) else { return };
    let Ok(entries) = block.entries() else { return };
    let borrowed = || entries.iter().map(|(name, value)| (name.as_slice(), *value));
    let _ = MetaBlockHandles::from_entries(borrowed());
    let Ok(properties) = TableProperties::decode_entries(borrowed()) else { return };
    let again = properties.entries();
    let again = TableProperties::decode_entries(again.iter().map(|(name, value)| (name.as_slice(), value.as_slice())));
    assert_eq!(again.expect("our own"), properties);
    let _ = properties.to_text("; ", "=");
    let _ = UniqueId::from_properties(&properties).map(|id| (id.manifest_bytes(), id.to_public().to_human_string()));
    let mut sum = properties.clone();
    sum.add(&properties);
    let _ = sum.aggregated_values();
}

/// A data block: every movement of its iterator, to keys from the block itself and to any others.
pub fn block_data(data: &[u8]) {
    let (selector, bytes) = split_selector(data);
    let Ok(block) = DataBlock::new(bytes.to_vec()) else { return };
    let global_sequence = (selector & 2 != 0).then_some(SequenceNumber(1 << 40));
    let mut iter = DataBlockIter::new(&block, comparator(selector), global_sequence);
    let most = bytes.len() + 1;
    let mut keys = Vec::new();
    iter.seek_to_first();
    for _ in 0..=most {
        if !iter.valid() {
            break;
        }
        if keys.len() < 8 {
            keys.push(iter.key().to_vec());
        }
        let _ = iter.value().len();
        iter.next();
    }
    assert!(!iter.valid(), "more entries than bytes");
    iter.seek_to_last();
    for _ in 0..=most {
        if !iter.valid() {
            break;
        }
        iter.prev();
    }
    assert!(!iter.valid(), "more entries than bytes, backwards");
    keys.push(bytes[..bytes.len().min(24)].to_vec());
    keys.push(Vec::new());
    for key in &keys {
        iter.seek(key);
        iter.next();
        iter.prev();
        iter.seek_for_prev(key);
        iter.prev();
        iter.next();
        iter.seek_for_get(key);
        let _ = (iter.key().len(), iter.value().len(), iter.status());
    }
}

/// An index block of each format.
pub fn block_index(data: &[u8]) {
    let (selector, bytes) = split_selector(data);
    let format = IndexFormat {
        key_is_user_key: selector & 2 != 0,
        value_is_delta_encoded: selector & 4 != 0,
        has_first_key: selector & 8 != 0,
    };
    let comparator = comparator(selector);
    let Ok(block) = IndexBlock::new(bytes.to_vec(), format, &comparator) else { return };
    assert!(block.len() <= bytes.len());
    let mut cursor = IndexCursor::new();
    let mut keys = Vec::new();
    let mut forward = 0;
    cursor.seek_to_first(&block);
    while cursor.valid() {
        let mut key = Vec::new();
        cursor.key_into(&block, &mut key);
        let _ = cursor.entry(&block);
        if keys.len() < 8 {
            keys.push(key);
        }
        forward += 1;
        assert!(forward <= block.len(), "more entries than counted");
        cursor.next(&block);
    }
    let mut backward = 0;
    cursor.seek_to_last(&block);
    while cursor.valid() {
        backward += 1;
        assert!(backward <= block.len(), "more entries than counted, backwards");
        let _ = cursor.entry(&block);
        cursor.prev(&block);
    }
    keys.push(bytes[..bytes.len().min(24)].to_vec());
    keys.push(Vec::new());
    for key in &keys {
        cursor.seek(&block, &comparator, key);
        if cursor.valid() {
            let _ = cursor.entry(&block);
            cursor.next(&block);
        }
        let _ = cursor.status();
    }
}

/// A side block, or the directory of side blocks; what is accepted survives encoding.
pub fn row_bounds(data: &[u8]) {
    let (selector, bytes) = split_selector(data);
    if selector & 1 != 0 {
        let Ok(Some(handles)) = decode_row_bounds_directory(bytes) else { return };
        assert!(handles.len() <= bytes.len());
        let again = encode_row_bounds_directory(&handles);
        assert_eq!(decode_row_bounds_directory(&again).expect("our own"), Some(handles));
        return;
    }
    let Ok(bounds) = RowBounds::new(bytes.to_vec()) else { return };
    assert!(bounds.len() <= bytes.len() && bounds.memory_bytes() <= bytes.len() * 2 + 256);
    // Entries that share much make more of a block than it is.
    let known: Vec<(Vec<u8>, bool)> = (0..bounds.len().min(1000))
        .map(|ordinal| bounds.bound(ordinal).expect("within the length"))
        .map(|bound| (bound.key().to_vec(), bound.is_exact()))
        .collect();
    assert!(bounds.bound(bounds.len()).is_none());
    let again = encode_row_bounds(known.iter().map(|(key, is_exact)| (&key[..], *is_exact)));
    let again = RowBounds::new(again).expect("our own");
    for (ordinal, (key, is_exact)) in known.iter().enumerate() {
        let bound = again.bound(ordinal).expect("as many");
        assert_eq!((bound.key(), bound.is_exact()), (&key[..], *is_exact));
        let _ = bounds.begins_at_or_after(comparator(selector >> 1).user(), ordinal, key);
    }
}

/// A filter payload; probing one key at a time and in a batch agree.
pub fn filter(data: &[u8]) {
    let kind = FilterKind::parse(data);
    let keys: Vec<&[u8]> = (0..6).map(|length| &data[..data.len().min(length * 3)]).chain([&b"a key"[..]]).collect();
    let hashed: Vec<_> = keys.iter().map(|key| (ferrock_base::hash::hash64(key), *key)).collect();
    let mut batch = vec![true; keys.len()];
    kind.may_match_batch(data, &hashed, &mut batch);
    for ((hash, key), in_batch) in hashed.into_iter().zip(batch) {
        assert_eq!(kind.may_match(data, key), in_batch);
        assert_eq!(kind.may_match_hash64(data, hash, key), in_batch);
    }
    // Probing another payload than the one parsed must not panic either.
    let _ = kind.may_match(&data[..data.len() / 2], b"key");
}

/// A compressed payload of any type; and the payload taken as content, there and back.
pub fn decompress(data: &[u8]) {
    let (selector, payload) = split_selector(data);
    let Ok(compression_type) = CompressionType::try_from(selector & 7) else { return };
    let format_version = if selector & 8 == 0 { 7 } else { 1 };
    let split = payload.len() / 3;
    let (dictionary, payload) = match selector & 16 {
        0 => (None, payload),
        _ => (Dictionary::new(compression_type, &payload[..split]).ok(), &payload[split..]),
    };
    let decode = |bytes: &[u8]| {
        compression::decompress(compression_type, bytes, format_version, dictionary.as_ref(), MAX_DECOMPRESSED_BYTES)
    };
    let decoded = decode(payload);
    if let Ok(content) = &decoded {
        assert!(content.len() <= MAX_DECOMPRESSED_BYTES);
    }
    if format_version != 1 {
        let dictionary = dictionary.as_ref().map_or(&[][..], Dictionary::bytes);
        codecs::compare_with_c(compression_type, payload, dictionary, MAX_DECOMPRESSED_BYTES, decoded.ok());
    }
    if let Ok(content) = zstd_frame_decompress(payload, MAX_DECOMPRESSED_BYTES) {
        assert!(content.len() <= MAX_DECOMPRESSED_BYTES);
        // What the blocks of a frame could have held is not kept.
        let (length, kept) = (content.len(), content.capacity());
        assert!(kept <= 2 * length + 4096, "{kept} bytes are kept for {length}");
    }
    if selector & 32 == 0 || format_version == 1 || !compression_type.is_supported() {
        return;
    }
    let options = CompressionOptions { level: i32::from(selector >> 6) * 3, ..CompressionOptions::default() };
    let Ok(mut compressor) = Compressor::new(compression_type, &options, dictionary.as_ref().map(Dictionary::bytes))
    else {
        return;
    };
    let mut stored = Vec::new();
    if compressor.compress(payload, &mut stored) {
        assert_eq!(decode(&stored).expect("decode what was encoded"), payload);
    }
}
