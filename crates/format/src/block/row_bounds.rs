//! Row bounds: where the rows of each data block begin, a block of Ferrock's own beside each index partition.
//!
//! ```text
//! side block   count varint32 | prefix length varint32 | prefix | entry ...       one entry for every data block
//! entry        shared varint32 | suffix length * 2 + exact varint32 | suffix
//!
//! bound        prefix | rest        rest = the first `shared` bytes of the rest before it, then the suffix
//!
//! directory    version varint32 (1) | count varint32 | ( offset varint64 | size varint64 ) ...
//! ```
//!
//! The bound `B` of a block is a user key with `last row of the block before < B <= first row of the block`; where one
//! user key goes on from the block before, it is that key. So a key before `B` is not in the block. `exact` says that
//! the separator of the block has the user key of its last row.
//!
//! At each multiple of [`RESTART_INTERVAL`] nothing is shared. The directory has the handle of the side block of every
//! index partition, in order; the block behind it may hold more in a later version, which readers of this one leave
//! alone.
//!
//! Invariants after decoding: every entry lies inside the block, shares no more than there is, and the last ends where
//! the block ends. Nothing is allocated that the block does not hold bytes for.

use super::entry::shared_prefix;
use super::key_buffer::KeyBuffer;
use crate::handle::BlockHandle;
use ferrock_base::coding::{get_varint32, put_varint32};
use ferrock_base::{Comparator, Error, Result};
use std::cmp::Ordering;

/// Entries between those that share nothing.
const RESTART_INTERVAL: usize = 16;
/// Version of the directory that is written and read.
const DIRECTORY_VERSION: u32 = 1;
/// An entry takes no less.
const MIN_ENTRY_BYTES: usize = 2;
/// A handle takes no less.
const MIN_HANDLE_BYTES: usize = 2;
/// Bytes kept beyond those that tell two neighbours apart, so that most keys between them lie between the bounds, too.
const SPARE_BYTES: usize = 2;

#[cold]
fn bad(what: &str, at: usize) -> Error {
    Error::corruption(format!("row bounds: {what}")).at_offset(at as u64)
}

/// Length of a prefix of two keys that differ behind `common` bytes: the difference and what is spared.
fn kept_length(common: usize) -> usize {
    common.saturating_add(1 + SPARE_BYTES)
}

/// The byte strings `key[..=position]` with the byte at `position` one higher, for the last position in `positions`
/// where that is possible.
fn nudged(key: &[u8], positions: std::ops::Range<usize>) -> Option<Vec<u8>> {
    let position = positions.rev().find(|&position| key.get(position).is_some_and(|&byte| byte != 0xff))?;
    let mut longer = key[..=position].to_vec();
    longer[position] += 1;
    Some(longer)
}

/// The bound of a block that begins with user key `first`, behind a block that ends with `last`: the shortest key that
/// is above `last` and not above `first`, and two bytes more. Whole for the first block, and for an order of the
/// caller's own.
#[must_use]
pub fn bound_between(comparator: &Comparator, last: Option<&[u8]>, first: &[u8]) -> Vec<u8> {
    let Some(last) = last else { return first.to_vec() };
    let common = shared_prefix(last, first);
    let kept = kept_length(common);
    if kept >= first.len() || common == first.len() {
        return first.to_vec();
    }
    match comparator {
        // A prefix of `first` is below it, and above `last` once it has the byte that differs.
        Comparator::Bytewise => first[..kept].to_vec(),
        // Backwards, what comes before `first` is above it bytewise.
        Comparator::ReverseBytewise => nudged(first, common + 1..kept).unwrap_or_else(|| first.to_vec()),
        Comparator::Custom(_) => first.to_vec(),
    }
}

/// The separator between `last` and the larger `next` that row bounds go with: `last` itself, or where it is longer
/// than what tells the two apart by more than two bytes, a shorter key just behind it. `None` leaves it to the
/// comparator.
#[must_use]
pub fn separator_between(comparator: &Comparator, last: &[u8], next: &[u8]) -> Option<Vec<u8>> {
    let common = shared_prefix(last, next);
    let kept = kept_length(common);
    match comparator {
        Comparator::Custom(_) => None,
        _ if kept >= last.len() => Some(last.to_vec()),
        Comparator::Bytewise => Some(nudged(last, common + 1..kept).unwrap_or_else(|| last.to_vec())),
        Comparator::ReverseBytewise => Some(last[..kept].to_vec()),
    }
}

/// Encodes side blocks.
///
/// ```
/// use ferrock_format::block::{RowBounds, encode_row_bounds};
/// let block = encode_row_bounds([(&b"apple"[..], true), (&b"apricot"[..], false)].into_iter());
/// let bounds = RowBounds::new(block).unwrap();
/// let last = bounds.bound(1).unwrap();
/// assert_eq!((bounds.len(), last.key(), last.is_exact()), (2, &b"apricot"[..], false));
/// ```
#[must_use]
pub fn encode_row_bounds<'a>(entries: impl Iterator<Item = (&'a [u8], bool)> + Clone) -> Vec<u8> {
    let mut prefix: Option<&[u8]> = None;
    let mut count = 0u32;
    for (bound, _) in entries.clone() {
        count += 1;
        prefix = Some(prefix.map_or(bound, |prefix| &prefix[..shared_prefix(prefix, bound)]));
    }
    let prefix = prefix.unwrap_or(&[]);
    let mut block = Vec::new();
    put_varint32(&mut block, count);
    put_varint32(&mut block, prefix.len() as u32);
    block.extend_from_slice(prefix);
    let mut before: &[u8] = &[];
    for (ordinal, (bound, is_exact)) in entries.enumerate() {
        let rest = &bound[prefix.len()..];
        let shared = if ordinal % RESTART_INTERVAL == 0 { 0 } else { shared_prefix(before, rest) };
        put_varint32(&mut block, shared as u32);
        put_varint32(&mut block, ((rest.len() - shared) as u32) << 1 | u32::from(is_exact));
        block.extend_from_slice(&rest[shared..]);
        before = rest;
    }
    block
}

/// The row bound of one data block.
#[derive(Clone, Debug, Default)]
pub struct RowBound {
    key: KeyBuffer,
    is_exact: bool,
}

impl RowBound {
    /// A user key that no row of the block is before.
    #[inline]
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.key.as_slice()
    }

    /// True when the user key of the block's separator is that of its last row.
    #[inline]
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }
}

/// The row bounds of one index partition, checked.
#[derive(Debug)]
pub struct RowBounds {
    bytes: Vec<u8>,
    count: usize,
    prefix: std::ops::Range<usize>,
    /// Where the entries begin that share nothing.
    restarts: Vec<u32>,
}

/// One entry, at `at`: what it shares, its suffix, whether the separator is exact.
fn decode_entry(bytes: &[u8], at: usize) -> Option<(usize, std::ops::Range<usize>, bool)> {
    let (shared, first) = get_varint32(bytes.get(at..)?)?;
    let (packed, second) = get_varint32(&bytes[at + first..])?;
    let start = at + first + second;
    let end = start.checked_add((packed >> 1) as usize)?;
    (end <= bytes.len()).then_some((shared as usize, start..end, packed & 1 != 0))
}

impl RowBounds {
    /// Decodes and checks a side block.
    ///
    /// # Errors
    /// `Corruption` with the offset of what is malformed or out of bounds, and for bytes behind the last entry.
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(bad("impossible length", 0));
        }
        let (count, used) = get_varint32(&bytes).ok_or_else(|| bad("malformed count", 0))?;
        let count = count as usize;
        let (length, second) = get_varint32(&bytes[used..]).ok_or_else(|| bad("malformed prefix length", used))?;
        let start = used + second;
        let end = start.checked_add(length as usize).filter(|&end| end <= bytes.len());
        let end = end.ok_or_else(|| bad("the prefix is out of bounds", used))?;
        if count > (bytes.len() - end) / MIN_ENTRY_BYTES {
            return Err(bad("more entries than fit", 0));
        }
        let mut restarts = Vec::with_capacity(count.div_ceil(RESTART_INTERVAL));
        let (mut at, mut rest_length) = (end, 0);
        for ordinal in 0..count {
            let (shared, suffix, _) = decode_entry(&bytes, at).ok_or_else(|| bad("an entry is out of bounds", at))?;
            if ordinal % RESTART_INTERVAL == 0 {
                restarts.push(at as u32);
                rest_length = 0;
            }
            if shared > rest_length {
                return Err(bad("shares more than the bound before it has", at));
            }
            rest_length = shared + suffix.len();
            at = suffix.end;
        }
        if at != bytes.len() {
            return Err(bad("bytes behind the last entry", at));
        }
        Ok(Self { bytes, count, prefix: start..end, restarts })
    }

    /// Number of data blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// True when there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The row bound of the data block at `ordinal` of the index partition, `None` past the end.
    #[must_use]
    pub fn bound(&self, ordinal: usize) -> Option<RowBound> {
        if ordinal >= self.count {
            return None;
        }
        let mut bound = RowBound::default();
        bound.key.set(self.bytes.get(self.prefix.clone())?);
        let mut at = *self.restarts.get(ordinal / RESTART_INTERVAL)? as usize;
        for _ in 0..=ordinal % RESTART_INTERVAL {
            let (shared, suffix, is_exact) = decode_entry(&self.bytes, at)?;
            bound.key.replace_tail(self.prefix.len() + shared, self.bytes.get(suffix.clone())?);
            bound.is_exact = is_exact;
            at = suffix.end;
        }
        Some(bound)
    }

    /// True when no row of the block at `ordinal` is before `user_key`, nor equal to it unless it is the first.
    #[must_use]
    pub fn begins_at_or_after(&self, comparator: &Comparator, ordinal: usize, user_key: &[u8]) -> bool {
        self.bound(ordinal).is_some_and(|bound| comparator.compare(user_key, bound.key()) != Ordering::Greater)
    }

    /// Bytes held, for cache charging.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.restarts.capacity() * size_of::<u32>() + size_of::<Self>()
    }
}

/// Encodes the directory: the handle of the side block of every index partition, in order.
#[must_use]
pub fn encode_row_bounds_directory(handles: &[BlockHandle]) -> Vec<u8> {
    let mut block = Vec::new();
    put_varint32(&mut block, DIRECTORY_VERSION);
    put_varint32(&mut block, handles.len() as u32);
    for handle in handles {
        handle.encode_to(&mut block);
    }
    block
}

/// Decodes the directory; `None` for a version that this release does not know, whose bounds are then not used.
///
/// # Errors
/// `Corruption` for a malformed count or handle, and for bytes behind the last handle.
pub fn decode_row_bounds_directory(block: &[u8]) -> Result<Option<Vec<BlockHandle>>> {
    let (version, used) = get_varint32(block).ok_or_else(|| bad("malformed version", 0))?;
    if version != DIRECTORY_VERSION {
        return Ok(None);
    }
    let (count, second) = get_varint32(&block[used..]).ok_or_else(|| bad("malformed count", used))?;
    let mut at = used + second;
    if count as usize > (block.len() - at) / MIN_HANDLE_BYTES {
        return Err(bad("more handles than fit", used));
    }
    let mut handles = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let (handle, length) = BlockHandle::decode(&block[at..]).map_err(|error| error.offset_by(at as u64))?;
        handles.push(handle);
        at += length;
    }
    if at != block.len() {
        return Err(bad("bytes behind the last handle", at));
    }
    Ok(Some(handles))
}

#[cfg(test)]
mod tests;
