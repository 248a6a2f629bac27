//! Search structures over index keys of the bytewise order.
//!
//! ```text
//! flat     prefix | head u64 x n | guide to the heads | tail offset u32 x n | tail ...
//! tail     rest length varint32 | rest of the user key behind prefix and head | (trailer u64) | handle | (first key)
//!
//! head     eight bytes of the user key behind the common prefix, big-endian, zero-padded
//! ```
//!
//! Heads compare like the keys they come from. Equal heads are told apart by the rest; a key that ends inside its head
//! is a prefix of any other key with the same head, up to zero bytes, so the shorter one is smaller.

use super::entry::decode_header;
use super::entry::decode_index_header;
use super::entry_sums::piece_sum;
use super::head_guide::HeadGuide;
use super::index_format::IndexFormat;
use super::interpolation;
use super::layout::BlockLayout;
use crate::handle::BlockHandle;
use ferrock_base::coding::{get_fixed64, get_varint32, put_varint32};
use ferrock_base::hash::hash64_with_seed;
use ferrock_base::internal_key::{TRAILER_SIZE, trailer};
use std::cmp::Ordering;

const HEAD_SIZE: usize = 8;

/// Eight bytes as a number that compares like them; shorter keys are padded with zeros.
#[inline]
fn head(key: &[u8]) -> u64 {
    if let Some(bytes) = key.first_chunk::<HEAD_SIZE>() {
        return u64::from_be_bytes(*bytes);
    }
    let mut padded = [0; HEAD_SIZE];
    padded[..key.len()].copy_from_slice(key);
    u64::from_be_bytes(padded)
}

/// The head of the first `length` of these bytes.
#[inline]
fn head_of_start(bytes: &[u8], length: usize) -> u64 {
    match bytes.first_chunk::<HEAD_SIZE>() {
        Some(word) if length >= HEAD_SIZE => u64::from_be_bytes(*word),
        Some(word) => u64::from_be_bytes(*word) & !(u64::MAX >> (8 * length)),
        None => head(&bytes[..length.min(bytes.len())]),
    }
}

/// Where a search key stands relative to every key with a common prefix.
#[inline]
fn strip_prefix<'a>(prefix: &[u8], key: &'a [u8]) -> Result<&'a [u8], Ordering> {
    match key.get(..prefix.len()) {
        Some(start) if start == prefix => Ok(&key[prefix.len()..]),
        // A shorter key is smaller exactly when it does not exceed the prefix.
        _ => Err(key.cmp(prefix)),
    }
}

/// All entries, decoded.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FlatIndex {
    prefix: Vec<u8>,
    heads: Vec<u64>,
    guide: HeadGuide,
    tail_offsets: Vec<u32>,
    tails: Vec<u8>,
    key_is_user_key: bool,
    has_first_key: bool,
}

/// One entry of a [`FlatIndex`].
#[derive(Clone, Copy, Debug)]
pub(super) struct FlatEntry<'a> {
    /// Length of the user key behind the prefix.
    rest_length: usize,
    rest: &'a [u8],
    trailer: u64,
    pub(super) handle: BlockHandle,
    pub(super) first_key: Option<&'a [u8]>,
}

impl FlatIndex {
    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let heads = self.heads.capacity() * HEAD_SIZE + self.guide.memory_bytes();
        self.prefix.capacity() + heads + self.tail_offsets.capacity() * 4 + self.tails.capacity()
    }

    /// The entry at `index`. `None` past the end (the builder wrote every entry whole).
    #[inline]
    pub(super) fn entry(&self, index: usize) -> Option<FlatEntry<'_>> {
        let mut input = self.tails.get(*self.tail_offsets.get(index)? as usize..)?;
        let (rest_length, used) = get_varint32(input)?;
        let rest_length = rest_length as usize;
        let (rest, after) = input.get(used..)?.split_at_checked(rest_length.saturating_sub(HEAD_SIZE))?;
        input = after;
        let mut trailer = 0;
        if !self.key_is_user_key {
            trailer = get_fixed64(input, 0)?;
            input = &input[TRAILER_SIZE..];
        }
        let (handle, used) = BlockHandle::parse(input)?;
        let mut first_key = None;
        if self.has_first_key {
            input = &input[used..];
            let (length, used) = get_varint32(input)?;
            first_key = Some(input.get(used..)?.get(..length as usize)?);
        }
        Some(FlatEntry { rest_length, rest, trailer, handle, first_key })
    }

    /// The checksum of an entry with its head and the prefix.
    pub(super) fn entry_sum(&self, index: usize) -> u64 {
        let place = |index: usize| self.tail_offsets.get(index).map_or(self.tails.len(), |offset| *offset as usize);
        let head = self.heads.get(index).copied().unwrap_or(0);
        let tail = piece_sum(&self.tails, index, place(index)..place(index + 1));
        hash64_with_seed(&self.prefix, head) ^ tail
    }

    /// Turns over the bit that `choose` chooses of a number of bits.
    #[cfg(test)]
    pub(super) fn flip_bit(&mut self, choose: impl FnOnce(usize) -> usize) {
        let (heads, offsets) = (64 * self.heads.len(), 32 * self.tail_offsets.len());
        match choose(heads + offsets + 8 * self.tails.len()) {
            bit if bit < heads => self.heads[bit / 64] ^= 1 << (bit % 64),
            bit if bit < heads + offsets => self.tail_offsets[(bit - heads) / 32] ^= 1 << (bit % 32),
            bit => self.tails[(bit - heads - offsets) / 8] ^= 1 << (bit % 8),
        }
    }

    /// Appends the stored key of the entry at `index`.
    pub(super) fn key_into(&self, index: usize, out: &mut Vec<u8>) {
        let (Some(entry), Some(head)) = (self.entry(index), self.heads.get(index)) else { return };
        out.extend_from_slice(&self.prefix);
        out.extend_from_slice(&head.to_be_bytes()[..entry.rest_length.min(HEAD_SIZE)]);
        out.extend_from_slice(entry.rest);
        if !self.key_is_user_key {
            out.extend_from_slice(&entry.trailer.to_le_bytes());
        }
    }

    /// Index of the first entry whose key is at or after the target; `len()` when there is none. The trailer counts
    /// only where keys have one.
    #[inline]
    pub(super) fn lower_bound(&self, user_key: &[u8], target_trailer: u64) -> usize {
        let rest = match strip_prefix(&self.prefix, user_key) {
            Ok(rest) => rest,
            Err(Ordering::Less) => return 0,
            Err(_) => return self.heads.len(),
        };
        let target = head(rest);
        let window = self.guide.window(target, self.heads.len());
        let start = window.start;
        let heads = self.heads.get(window).unwrap_or_default();
        let low = start + heads.partition_point(|&head| head < target);
        self.lower_bound_from(low, target, rest, target_trailer)
    }

    /// The same by interpolation.
    pub(super) fn lower_bound_by_interpolation(&self, user_key: &[u8], target_trailer: u64) -> usize {
        match strip_prefix(&self.prefix, user_key) {
            Ok(rest) => {
                let target = head(rest);
                self.lower_bound_from(interpolation::lower_bound(&self.heads, target).0, target, rest, target_trailer)
            }
            Err(Ordering::Less) => 0,
            Err(_) => self.heads.len(),
        }
    }

    /// Continues the search among equal heads, from the first head at or after that of the target.
    #[inline(always)]
    fn lower_bound_from(&self, mut low: usize, target: u64, rest: &[u8], target_trailer: u64) -> usize {
        if self.heads.get(low) != Some(&target) {
            return low;
        }
        let mut high = low + self.heads[low..].partition_point(|&head| head == target);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_less(middle, rest, target_trailer) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// True when the key at `index`, whose head equals that of `rest`, is before the target.
    fn is_less(&self, index: usize, rest: &[u8], target_trailer: u64) -> bool {
        let Some(entry) = self.entry(index) else { return false };
        let order = if entry.rest_length < HEAD_SIZE || rest.len() < HEAD_SIZE {
            entry.rest_length.cmp(&rest.len())
        } else {
            entry.rest.cmp(&rest[HEAD_SIZE..])
        };
        match order {
            Ordering::Equal => !self.key_is_user_key && entry.trailer > target_trailer,
            order => order.is_lt(),
        }
    }
}

/// Builds a [`FlatIndex`] within a memory budget.
pub(super) struct FlatIndexBuilder {
    budget: usize,
    index: FlatIndex,
}

impl FlatIndexBuilder {
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, index: FlatIndex::default() }
    }

    pub(super) fn begin(&mut self, prefix: &[u8], entry_count: usize, format: IndexFormat) {
        self.index.prefix = prefix.to_vec();
        self.index.key_is_user_key = format.key_is_user_key;
        self.index.has_first_key = format.has_first_key;
        if prefix.len() + entry_count * (HEAD_SIZE + 4) <= self.budget {
            self.index.heads.reserve_exact(entry_count);
            self.index.tail_offsets.reserve_exact(entry_count);
        }
    }

    /// Prepares for this many bytes of tails.
    pub(super) fn reserve_tails(&mut self, bytes: usize) {
        self.index.tails.reserve(bytes);
    }

    /// Adds an entry that is stored whole: `entry` begins with the key and has the handle behind it, and goes on with
    /// whatever follows. False when the budget is used up, or the key is shorter than the prefix.
    #[inline]
    pub(super) fn add_stored(&mut self, entry: &[u8], key_length: usize, handle_length: usize) -> bool {
        let index = &mut self.index;
        let trailer_length = if index.key_is_user_key { 0 } else { TRAILER_SIZE };
        let Some(rest) = entry.get(index.prefix.len()..) else { return false };
        let Some(length) = key_length.checked_sub(index.prefix.len() + trailer_length) else { return false };
        let Ok(tail_offset) = u32::try_from(index.tails.len()) else { return false };
        index.heads.push(head_of_start(rest, length));
        index.tail_offsets.push(tail_offset);
        match u8::try_from(length) {
            Ok(length) if length < 0x80 => index.tails.push(length),
            _ => put_varint32(&mut index.tails, length as u32),
        }
        // Behind the head lie the rest of the key, its trailer, and the handle, as they are wanted.
        let tail_length = length.saturating_sub(HEAD_SIZE) + trailer_length + handle_length;
        let tail_start = length.min(HEAD_SIZE);
        let end = index.tails.len() + tail_length;
        match rest.get(tail_start..).and_then(|tail| tail.first_chunk::<16>()).filter(|_| tail_length <= 16) {
            // Loading sixteen bytes is one instruction, however many of them are used.
            Some(chunk) => {
                index.tails.extend_from_slice(chunk);
                index.tails.truncate(end);
            }
            None => match rest.get(tail_start..tail_start + tail_length) {
                Some(tail) => index.tails.extend_from_slice(tail),
                None => return false,
            },
        }
        index.prefix.len() + index.heads.len() * (HEAD_SIZE + 4) + index.tails.len() <= self.budget
    }

    /// Adds an entry; false when the budget is used up.
    pub(super) fn add(
        &mut self,
        key: &[u8],
        format: IndexFormat,
        handle: BlockHandle,
        first_key: Option<&[u8]>,
    ) -> bool {
        let index = &mut self.index;
        let Some(rest) = format.user_key(key).get(index.prefix.len()..) else { return false };
        let (Ok(rest_length), Ok(tail_offset)) = (u32::try_from(rest.len()), u32::try_from(index.tails.len())) else {
            return false;
        };
        index.heads.push(head(rest));
        index.tail_offsets.push(tail_offset);
        put_varint32(&mut index.tails, rest_length);
        index.tails.extend_from_slice(rest.get(HEAD_SIZE..).unwrap_or(&[]));
        if !format.key_is_user_key {
            index.tails.extend_from_slice(&trailer(key).to_le_bytes());
        }
        handle.encode_to(&mut index.tails);
        if let Some(first_key) = first_key {
            put_varint32(&mut index.tails, first_key.len() as u32);
            index.tails.extend_from_slice(first_key);
        }
        let used = index.prefix.len() + index.heads.len() * (HEAD_SIZE + 4) + index.tails.len();
        used <= self.budget
    }

    pub(super) fn finish(mut self) -> FlatIndex {
        self.index.heads.shrink_to_fit();
        self.index.tail_offsets.shrink_to_fit();
        self.index.tails.shrink_to_fit();
        self.index.guide = HeadGuide::build(&self.index.heads);
        self.index
    }
}

/// Heads of the restart keys.
#[derive(Debug)]
pub(super) struct RestartHeads {
    prefix: Vec<u8>,
    heads: Vec<u64>,
    /// Interpolation between them instead of bisection.
    pub(super) interpolates: bool,
}

impl RestartHeads {
    /// Gathers the heads, unless they would take more than half of the block or a restart is malformed.
    pub(super) fn build(bytes: &[u8], layout: &BlockLayout, format: IndexFormat, prefix: &[u8]) -> Option<Self> {
        if layout.restart_count.checked_mul(HEAD_SIZE)?.checked_add(prefix.len())? > bytes.len() / 2 {
            return None;
        }
        let heads: Option<Vec<u64>> = (0..layout.restart_count)
            .map(|restart| {
                let key = restart_key(bytes, layout, format, restart)?;
                Some(head(format.user_key(key).get(prefix.len()..)?))
            })
            .collect();
        Some(Self { prefix: prefix.to_vec(), heads: heads?, interpolates: false })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.prefix.capacity() + self.heads.capacity() * 8
    }

    /// The restarts whose keys may be the first at or after `user_key`: all before are smaller, all after are larger.
    pub(super) fn candidates(&self, user_key: &[u8]) -> std::ops::Range<usize> {
        match strip_prefix(&self.prefix, user_key) {
            Err(Ordering::Less) => 0..0,
            Err(_) => self.heads.len()..self.heads.len(),
            Ok(rest) => {
                let target = head(rest);
                let low = if self.interpolates {
                    interpolation::lower_bound(&self.heads, target).0
                } else {
                    self.heads.partition_point(|&head| head < target)
                };
                low..low + self.heads[low..].partition_point(|&head| head == target)
            }
        }
    }
}

/// The key at a restart, where it is stored whole.
pub(super) fn restart_key<'a>(
    bytes: &'a [u8],
    layout: &BlockLayout,
    format: IndexFormat,
    restart: usize,
) -> Option<&'a [u8]> {
    let entries = bytes.get(..layout.entries_end)?;
    let at = layout.restart(bytes, restart);
    let header =
        if format.value_is_delta_encoded { decode_index_header(entries, at) } else { decode_header(entries, at) }?;
    let key = entries.get(header.end..header.end.checked_add(header.non_shared)?)?;
    (header.shared == 0 && (format.key_is_user_key || key.len() >= TRAILER_SIZE)).then_some(key)
}
