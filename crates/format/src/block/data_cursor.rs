//! A position in a data block.
//!
//! The cursor does not own its block, so that a table iterator can exchange the block under it and keep its buffers;
//! every call must be given the block of the last seek (another block gives wrong entries or `Corruption`, but no
//! undefined behaviour).
//!
//! A key that shares nothing with its predecessor is borrowed from the block; others are put together in a buffer.
//! Going back costs one scan of a restart interval, whose entries are kept, so that the next steps back decode nothing.

use super::data::DataBlock;
use super::entry::{EntryHeader, bad_entry, decode_header, range, shared_prefix};
use super::entry_sums::changed_in_memory;
use super::hash_index::Bucket;
use super::key_buffer::KeyBuffer;
use ferrock_base::coding::get_varint32;
use ferrock_base::internal_key::{TRAILER_SIZE, trailer, user_key};
use ferrock_base::{Error, InternalComparator, Result, SequenceNumber};
use std::cmp::Ordering;

/// Bit `t` is set when type `t` may stand in a data block.
const POINT_TYPES: u32 = 1 << 0x00 | 1 << 0x01 | 1 << 0x02 | 1 << 0x07 | 1 << 0x11 | 1 << 0x14 | 1 << 0x16 | 1 << 0x18;

#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: usize,
    end: usize,
}

/// The end of a scan.
#[derive(Clone, Copy, Debug)]
enum Extent {
    /// To the next restart.
    Interval,
    /// To the end.
    Block,
}

/// An entry passed over on the way to the one before the current.
#[derive(Clone, Copy, Debug)]
struct PassedEntry {
    at: usize,
    /// In the block, or in `passed_keys`.
    key: Span,
    key_in_block: bool,
    value: Span,
    raw_trailer: u64,
}

/// A position in a [`DataBlock`]: before the first seek, on an entry, or behind either end.
#[derive(Clone, Debug, Default)]
pub struct DataBlockCursor {
    valid: bool,
    key_in_block: bool,
    has_separate_values: bool,
    /// Offset of the current entry.
    at: usize,
    /// Offset of the entry behind it.
    next_at: usize,
    key: Span,
    value: Span,
    restart_index: usize,
    /// Offset of restart `restart_index + 1`.
    next_restart_at: usize,
    buffer: KeyBuffer,
    global_sequence: Option<SequenceNumber>,
    /// Trailer of the current key as stored, when it is shown with the global sequence number.
    raw_trailer: u64,
    passed: Vec<PassedEntry>,
    passed_keys: Vec<u8>,
    error: Option<Error>,
}

/// Compares two internal keys of the bytewise order, each without the same leading bytes; also tells how many more
/// bytes their user keys have in common. `None` when one has no trailer.
#[inline]
fn compare_to_target(suffix: &[u8], target: &[u8]) -> Option<(Ordering, usize)> {
    // A trailer follows every user key, so there are always eight bytes to load.
    let (left, right) = (suffix.first_chunk::<8>()?, target.first_chunk::<8>()?);
    let (left_length, right_length) = (suffix.len() - TRAILER_SIZE, target.len() - TRAILER_SIZE);
    let (left, right) = (u64::from_be_bytes(*left), u64::from_be_bytes(*right));
    let shorter = left_length.min(right_length);
    let mut common = ((left ^ right).leading_zeros() / 8) as usize;
    if common < shorter && common < 8 {
        return Some((left.cmp(&right), common));
    }
    if shorter > 8 {
        common = shared_prefix(&suffix[..shorter], &target[..shorter]);
        if common < shorter {
            return Some((suffix[common].cmp(&target[common]), common));
        }
    }
    let order = left_length.cmp(&right_length).then_with(|| trailer(target).cmp(&trailer(suffix)));
    Some((order, shorter))
}

/// A way through the entries of a restart interval that are smaller than a target.
struct IntervalWalk {
    /// Of the entry.
    at: usize,
    /// Leading bytes that the user key before has in common with the target's.
    matched: usize,
    /// Length of the internal key before.
    previous: usize,
}

impl IntervalWalk {
    /// Goes to the first entry that is not smaller by what it shares and by its first own bytes, or to `end`; gives the
    /// header of the last entry that was looked at. `None` where the entries are not as they should be.
    // A function of its own: it keeps all it works with in registers, which is a quarter of a search.
    #[inline(never)]
    fn skip(&mut self, entries: &[u8], end: usize, target: &[u8]) -> Option<EntryHeader> {
        let wanted_length = target.len().wrapping_sub(TRAILER_SIZE);
        let Self { mut at, mut matched, mut previous } = *self;
        let header = loop {
            let header = decode_header(entries, at)?;
            let EntryHeader { shared, non_shared, value_length, end: suffix_at } = header;
            let length = shared + non_shared;
            if shared > matched {
                if matched + TRAILER_SIZE >= previous.min(length) || shared > previous {
                    return None;
                }
            } else {
                // Most entries on the way differ from the target in the eight bytes behind those they share. Trailers
                // follow both user keys, so there are as many.
                let own = u64::from_be_bytes(*entries.get(suffix_at..)?.first_chunk()?);
                let other = u64::from_be_bytes(*target.get(shared..)?.first_chunk()?);
                let common = (own ^ other).leading_zeros() as usize / 8;
                let shorter = non_shared.saturating_sub(TRAILER_SIZE).min(wanted_length - shared);
                if own >= other || common >= shorter {
                    break header;
                }
                matched = shared + common;
            }
            (at, previous) = (suffix_at + non_shared + value_length, length);
            if at >= end {
                break header;
            }
        };
        *self = Self { at, matched, previous };
        Some(header)
    }
}

impl DataBlockCursor {
    /// A cursor without a position. With a `global_sequence`, keys show that sequence number instead of their own.
    #[inline]
    #[must_use]
    pub fn new(global_sequence: Option<SequenceNumber>) -> Self {
        Self { global_sequence, ..Self::default() }
    }

    /// True on an entry.
    #[inline]
    #[must_use]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// True on the first entry of the block.
    #[inline]
    #[must_use]
    pub fn is_first(&self, block: &DataBlock) -> bool {
        self.valid && self.at == block.layout().restart(block.bytes(), 0)
    }

    /// True on the last entry of the block.
    #[inline]
    #[must_use]
    pub fn is_last(&self, block: &DataBlock) -> bool {
        self.valid && self.next_at >= block.layout().entries_end
    }

    /// The internal key; empty when not [`valid`](Self::valid).
    #[inline]
    #[must_use]
    pub fn key<'a>(&'a self, block: &'a DataBlock) -> &'a [u8] {
        if !self.valid {
            &[]
        } else if self.key_in_block {
            block.bytes().get(self.key.start..self.key.end).unwrap_or(&[])
        } else {
            self.buffer.as_slice()
        }
    }

    /// The value; empty when not [`valid`](Self::valid).
    #[inline]
    #[must_use]
    pub fn value<'a>(&self, block: &'a DataBlock) -> &'a [u8] {
        if self.valid { block.bytes().get(self.value.start..self.value.end).unwrap_or(&[]) } else { &[] }
    }

    /// Where the value lies in the bytes of the block.
    #[inline]
    #[must_use]
    pub fn value_range(&self) -> std::ops::Range<usize> {
        self.value.start..self.value.end
    }

    /// The corruption that ended the iteration, with the offset in the block.
    ///
    /// # Errors
    /// `Corruption` with the offset of the entry that is malformed. It stays until the next seek.
    #[inline]
    pub fn status(&self) -> Result<()> {
        match &self.error {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Makes the cursor invalid.
    pub fn reset(&mut self) {
        self.valid = false;
        self.error = None;
        self.passed.clear();
    }

    /// Goes to the first entry.
    pub fn seek_to_first(&mut self, block: &DataBlock) {
        self.go_to_restart(block, 0);
        self.advance(block);
    }

    /// Goes to the last entry.
    pub fn seek_to_last(&mut self, block: &DataBlock) {
        self.go_to_restart(block, block.layout().restart_count.saturating_sub(1));
        self.advance(block);
        while self.valid && self.next_at < block.layout().entries_end {
            self.advance(block);
        }
    }

    /// Goes to the first entry at or after the internal key `target`.
    pub fn seek(&mut self, block: &DataBlock, comparator: &InternalComparator, target: &[u8]) {
        let Some(restart) = self.find_restart(block, comparator, target) else { return };
        if comparator.user().is_bytewise() && self.scan_bytewise(block, restart, Extent::Block, target) {
            return;
        }
        self.go_to_restart(block, restart);
        self.advance(block);
        self.skip_smaller(block, comparator, target);
    }

    /// Goes from a restart whose key is smaller (or the first one) to the first entry at or after `target` without
    /// putting any key together. At the end of `extent` the cursor is not valid. False when such a scan is not possible
    /// here: the position is then undefined.
    ///
    /// `matched` counts the leading bytes that the user key before has in common with the target's. As that key is
    /// smaller, an entry that shares more than those bytes with it is smaller too; any other entry begins with the
    /// shared bytes of the *target* and only its suffix has to be compared. So the found key is put together from the
    /// target and one suffix.
    fn scan_bytewise(&mut self, block: &DataBlock, restart: usize, extent: Extent, target: &[u8]) -> bool {
        let layout = block.layout();
        if layout.has_separate_values || self.global_sequence.is_some() {
            return false;
        }
        self.go_to_restart(block, restart);
        if self.error.is_some() {
            return true;
        }
        let Some(entries) = block.bytes().get(..layout.entries_end) else { return false };
        let stop = match extent {
            Extent::Block => entries.len(),
            Extent::Interval => self.next_restart_at.min(entries.len()),
        };
        let mut walk = IntervalWalk { at: self.next_at, matched: 0, previous: 0 };
        loop {
            let end = self.next_restart_at.min(stop);
            while walk.at < end {
                let Some(header) = walk.skip(entries, end, target) else { return false };
                let at = walk.at;
                if at >= end {
                    break;
                }
                let EntryHeader { shared, non_shared, value_length, end: suffix_at } = header;
                let next_at = suffix_at + non_shared + value_length;
                let Some(suffix) = entries.get(suffix_at..suffix_at + non_shared) else { return false };
                let Some((order, common)) = compare_to_target(suffix, &target[shared..]) else { return false };
                if order.is_ge() {
                    if next_at > entries.len() {
                        return false;
                    }
                    (self.at, self.next_at) = (at, next_at);
                    self.take_found(header, suffix, target, at, entries.len());
                    return true;
                }
                walk = IntervalWalk { at: next_at, matched: shared + common, previous: shared + non_shared };
            }
            // The last entry of an interval ends where the next one begins.
            if walk.at != end {
                return false;
            }
            if end == stop {
                break;
            }
            self.restart_index += 1;
            self.next_restart_at = layout.restart(block.bytes(), self.restart_index + 1);
            if !block.interval_holds(self.restart_index) {
                self.refuse(block, self.restart_index);
                return true;
            }
            if self.next_restart_at <= end || entries.get(end) != Some(&0) {
                return false;
            }
        }
        let at = walk.at;
        (self.at, self.next_at) = (at, at);
        true
    }

    /// Puts the cursor on the entry that [`scan_bytewise`](Self::scan_bytewise) found.
    #[inline(always)]
    fn take_found(&mut self, header: EntryHeader, suffix: &[u8], target: &[u8], at: usize, limit: usize) {
        let Some(value) = range(header.end + header.non_shared, header.value_length, limit) else {
            return self.fail(bad_entry("lengths reach beyond the entries", at));
        };
        self.value = Span { start: value.start, end: value.end };
        if header.shared == 0 {
            self.key_in_block = true;
            self.key = Span { start: header.end, end: header.end + header.non_shared };
        } else {
            self.key_in_block = false;
            self.buffer.set(&target[..header.shared]);
            self.buffer.replace_tail(header.shared, suffix);
        }
        self.check_key(suffix, at);
    }

    /// Goes to the last entry at or before `target`.
    pub fn seek_for_prev(&mut self, block: &DataBlock, comparator: &InternalComparator, target: &[u8]) {
        self.seek(block, comparator, target);
        if self.error.is_some() {
            return;
        }
        if !self.valid {
            self.seek_to_last(block);
        } else if comparator.compare(self.key(block), target).is_gt() {
            self.prev(block);
        }
    }

    /// Goes to the first entry at or after `target` if the block has an entry of its user key at or after it. Otherwise
    /// to any entry of a larger user key, or behind the end, if the key may only be in the next block.
    ///
    /// Uses the hash index if there is one; then only one restart interval is read. The index hashes bytes: it cannot
    /// be used under a comparator for which keys that differ in bytes may be equal.
    pub fn seek_for_get(&mut self, block: &DataBlock, comparator: &InternalComparator, target: &[u8]) {
        let layout = block.layout();
        let by_bytes = !comparator.user().can_keys_with_different_bytes_be_equal();
        let Some(hash_index) = layout.hash_index.filter(|_| by_bytes && layout.restart_count > 0) else {
            return self.seek(block, comparator, target);
        };
        if !block.hash_index_holds() {
            return self.refuse(block, layout.restart_count);
        }
        let last = layout.restart_count - 1;
        let restart = match hash_index.lookup(block.bytes(), user_key(target)) {
            Bucket::Collision => return self.seek(block, comparator, target),
            // The end of the block decides whether the search goes on in the next one.
            Bucket::Empty => last,
            Bucket::Interval(interval) if interval <= last => interval,
            Bucket::Interval(interval) => {
                return self.fail(bad_entry(&format!("the hash index names interval {interval} of {last}"), 0));
            }
        };
        if comparator.user().is_bytewise() && self.scan_bytewise(block, restart, Extent::Interval, target) {
            if !self.valid && self.error.is_none() && self.at < layout.entries_end {
                // The bucket belongs to another key: it does not decide about this one.
                self.seek(block, comparator, target);
            }
            return;
        }
        self.go_to_restart(block, restart);
        let limit = self.next_restart_at;
        self.advance(block);
        while self.valid && self.at < limit && comparator.compare(self.key(block), target).is_lt() {
            self.advance(block);
        }
        if self.valid && self.at >= limit {
            self.seek(block, comparator, target);
        }
    }

    /// Goes one entry forward.
    #[inline]
    pub fn next(&mut self, block: &DataBlock) {
        if self.valid {
            self.passed.clear();
            self.advance(block);
        }
    }

    /// Goes one entry forward, unless the current one is the last; its key, or nothing.
    #[inline]
    pub fn step<'a>(&'a mut self, block: &'a DataBlock) -> &'a [u8] {
        if !self.valid || self.next_at >= block.layout().entries_end {
            return &[];
        }
        self.passed.clear();
        self.advance(block);
        self.key(block)
    }

    /// Goes one entry back.
    pub fn prev(&mut self, block: &DataBlock) {
        if !self.valid {
            return;
        }
        if self.passed.is_empty() && !self.collect_passed(block) {
            return;
        }
        let Some(entry) = self.passed.pop() else { return self.invalidate() };
        self.next_at = self.at;
        self.at = entry.at;
        self.value = entry.value;
        self.key = entry.key;
        self.key_in_block = entry.key_in_block;
        self.raw_trailer = entry.raw_trailer;
        if !entry.key_in_block {
            self.buffer.set(&self.passed_keys[entry.key.start..entry.key.end]);
            self.passed_keys.truncate(entry.key.start);
        }
        if self.at < block.layout().restart(block.bytes(), self.restart_index) {
            self.restart_index = self.restart_index.saturating_sub(1);
        }
        self.next_restart_at = block.layout().restart(block.bytes(), self.restart_index + 1);
    }

    /// Fills `passed` with the entries of the restart interval up to the current one. False when there is none before
    /// it (or the block is damaged): the cursor is then off the block.
    fn collect_passed(&mut self, block: &DataBlock) -> bool {
        let stop = self.at;
        let restart = if block.layout().restart(block.bytes(), self.restart_index) < stop {
            self.restart_index
        } else if let Some(previous) = self.restart_index.checked_sub(1) {
            previous
        } else {
            self.invalidate();
            return false;
        };
        self.go_to_restart(block, restart);
        self.passed_keys.clear();
        self.advance(block);
        while self.valid && self.at < stop {
            let key = if self.key_in_block {
                self.key
            } else {
                let start = self.passed_keys.len();
                self.passed_keys.extend_from_slice(self.buffer.as_slice());
                Span { start, end: self.passed_keys.len() }
            };
            self.passed.push(PassedEntry {
                at: self.at,
                key,
                key_in_block: self.key_in_block,
                value: self.value,
                raw_trailer: self.raw_trailer,
            });
            self.advance(block);
        }
        if self.valid && self.at != stop {
            self.fail(bad_entry("not reached from the restart before it", stop));
        }
        self.valid
    }

    fn invalidate(&mut self) {
        self.valid = false;
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.valid = false;
        self.passed.clear();
        self.error = Some(error);
    }

    /// Prepares to read the entry at a restart.
    // Two calls in a search, for this and what it found, are a twentieth of it.
    #[inline(always)]
    fn go_to_restart(&mut self, block: &DataBlock, restart: usize) {
        let layout = block.layout();
        self.valid = false;
        self.error = None;
        self.passed.clear();
        self.has_separate_values = layout.has_separate_values;
        self.restart_index = restart;
        self.next_at = layout.restart(block.bytes(), restart);
        self.next_restart_at = layout.restart(block.bytes(), restart + 1);
        self.key_in_block = false;
        self.buffer.clear();
        if !block.interval_holds(restart) {
            self.refuse(block, restart);
        }
    }

    /// Ends at entries that changed in memory: nothing is read behind here.
    #[cold]
    #[inline(never)]
    fn refuse(&mut self, block: &DataBlock, restart: usize) {
        self.next_at = block.layout().entries_end;
        let at = block.layout().restart(block.bytes(), restart) as u64;
        self.fail(changed_in_memory().at_offset(at));
    }

    #[inline]
    fn skip_smaller(&mut self, block: &DataBlock, comparator: &InternalComparator, target: &[u8]) {
        while self.valid && comparator.compare(self.key(block), target).is_lt() {
            self.advance(block);
        }
    }

    /// The last restart whose key is smaller than `target`, or the first one. `None` after corruption was found. The
    /// interval behind it holds by its checksum; its own is compared when it is entered.
    fn find_restart(&mut self, block: &DataBlock, comparator: &InternalComparator, target: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, block.layout().restart_count.saturating_sub(1));
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let Some(key) = restart_key(block, middle) else {
                let at = block.layout().restart(block.bytes(), middle);
                self.fail(bad_entry("malformed entry at a restart", at));
                return None;
            };
            let order = comparator.compare_user_keys(key, target).then_with(|| {
                let shown = self.shown_trailer(trailer(key));
                trailer(target).cmp(&shown)
            });
            if order.is_lt() {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        // The key there was compared with the target: where both intervals hold, so does the place between them.
        if low + 1 < block.layout().restart_count
            && !block.layout().has_separate_values
            && !block.interval_holds(low + 1)
        {
            self.refuse(block, low + 1);
            return None;
        }
        Some(low)
    }

    #[inline]
    fn shown_trailer(&self, stored: u64) -> u64 {
        match self.global_sequence {
            None => stored,
            Some(sequence) => sequence.0 << 8 | stored & 0xff,
        }
    }

    /// Reads the entry at `next_at`. The current key must be the one before it, or nothing at a restart.
    // A call for each entry of a scan costs 5 % of it.
    #[inline(always)]
    fn advance(&mut self, block: &DataBlock) {
        let layout = block.layout();
        let bytes = block.bytes();
        let at = self.next_at;
        self.at = at;
        if at >= layout.entries_end {
            self.valid = false;
            return;
        }
        let Some(entries) = bytes.get(..layout.entries_end) else { return self.fail(bad_entry("no entries", at)) };
        let Some(header) = decode_header(entries, at) else { return self.fail(bad_entry("malformed lengths", at)) };
        let mut at_restart = false;
        if at >= self.next_restart_at {
            if at > self.next_restart_at {
                return self.fail(bad_entry("a restart points into the entry before it", at));
            }
            self.restart_index += 1;
            self.next_restart_at = layout.restart(bytes, self.restart_index + 1);
            at_restart = true;
            // One sum of the whole was compared when the cursor was placed.
            if !self.has_separate_values && !block.interval_holds(self.restart_index) {
                return self.refuse(block, self.restart_index);
            }
        }
        if at_restart && header.shared != 0 {
            return self.fail(bad_entry("a restart entry shares bytes", at));
        }
        let key_at = if self.has_separate_values {
            match self.separate_value(block, header, at) {
                Some(key_at) => key_at,
                None => return self.fail(bad_entry("its separate value is out of bounds", at)),
            }
        } else {
            let value = range(header.end + header.non_shared, header.value_length, layout.entries_end);
            let Some(value) = value else { return self.fail(bad_entry("lengths reach beyond the entries", at)) };
            self.value = Span { start: value.start, end: value.end };
            self.next_at = value.end;
            header.end
        };
        self.take_key(block, header, key_at, at);
    }

    /// Puts the current key together from its parts.
    #[inline(always)]
    fn take_key(&mut self, block: &DataBlock, header: EntryHeader, key_at: usize, at: usize) {
        let Some(suffix) = block.bytes().get(key_at..key_at + header.non_shared) else {
            return self.fail(bad_entry("the key reaches beyond the block", at));
        };
        if header.shared == 0 && self.global_sequence.is_none() {
            self.key_in_block = true;
            self.key = Span { start: key_at, end: key_at + header.non_shared };
            return self.check_key(suffix, at);
        }
        if self.global_sequence.is_some() && self.valid && !self.key_in_block {
            // The next key shares bytes with the key as it is stored, not as it is shown.
            let raw = self.raw_trailer.to_le_bytes();
            if let Some(shown) = self.buffer.as_mut_slice().last_chunk_mut::<TRAILER_SIZE>() {
                *shown = raw;
            }
        }
        if self.key_in_block {
            let previous = block.bytes().get(self.key.start..self.key.end).unwrap_or(&[]);
            let Some(shared) = previous.get(..header.shared) else {
                return self.fail(bad_entry("shares more than the key before it has", at));
            };
            self.buffer.set(shared);
            self.key_in_block = false;
        } else if header.shared > self.buffer.len() {
            return self.fail(bad_entry("shares more than the key before it has", at));
        }
        self.buffer.replace_tail(header.shared, suffix);
        if self.global_sequence.is_some() {
            self.raw_trailer = trailer(self.buffer.as_slice());
            let shown = self.shown_trailer(self.raw_trailer).to_le_bytes();
            if let Some(stored) = self.buffer.as_mut_slice().last_chunk_mut::<TRAILER_SIZE>() {
                *stored = shown;
            }
        }
        if suffix.len() >= TRAILER_SIZE {
            return self.check_key(suffix, at);
        }
        let key = self.buffer.as_slice();
        let type_byte = key.len().checked_sub(TRAILER_SIZE).map(|index| key[index]);
        self.check_type(type_byte, at);
    }

    /// Checks the type in a key, or in the end of a key that holds its trailer.
    #[inline]
    fn check_key(&mut self, key: &[u8], at: usize) {
        let type_byte = key.len().checked_sub(TRAILER_SIZE).map(|index| key[index]);
        self.check_type(type_byte, at);
    }

    #[inline(always)]
    fn check_type(&mut self, type_byte: Option<u8>, at: usize) {
        match type_byte {
            Some(byte) if byte < 32 && POINT_TYPES >> byte & 1 == 1 => self.valid = true,
            Some(byte) => self.fail(bad_entry(&format!("a key of type {byte:#04x} in a data block"), at)),
            None => self.fail(bad_entry("a key shorter than its trailer", at)),
        }
    }

    /// Finds the value of an entry in a block that keeps values apart; returns where the key suffix begins.
    fn separate_value(&mut self, block: &DataBlock, header: EntryHeader, at: usize) -> Option<usize> {
        let layout = block.layout();
        let mut key_at = header.end;
        let mut value_at = self.value.end;
        if at == layout.restart(block.bytes(), self.restart_index) {
            let (offset, length) = get_varint32(block.bytes().get(key_at..layout.entries_end)?)?;
            key_at += length;
            value_at = layout.entries_end.checked_add(offset as usize)?;
        }
        let value = range(value_at, header.value_length, layout.values_end)?;
        let key = range(key_at, header.non_shared, layout.entries_end)?;
        self.value = Span { start: value.start, end: value.end };
        self.next_at = key.end;
        Some(key_at)
    }
}

/// The key at a restart, where it is stored whole.
#[inline]
fn restart_key(block: &DataBlock, restart: usize) -> Option<&[u8]> {
    let layout = block.layout();
    let entries = block.bytes().get(..layout.entries_end)?;
    let header = decode_header(entries, layout.restart(block.bytes(), restart))?;
    if header.shared != 0 || header.non_shared < TRAILER_SIZE {
        return None;
    }
    let mut key_at = header.end;
    if layout.has_separate_values {
        key_at += get_varint32(entries.get(key_at..)?)?.1;
    }
    entries.get(key_at..key_at.checked_add(header.non_shared)?)
}
