//! The entry to write, and those to write behind it before the input is looked at again.

use ferrock_base::internal_key::{TRAILER_SIZE, append_internal_key, pack_trailer, sequence, trailer};
use ferrock_base::types::{SequenceNumber, ValueType};
use std::collections::VecDeque;

/// The entry to write.
#[derive(Debug, Default)]
pub(super) struct Output {
    is_there: bool,
    /// Its internal key.
    key: Vec<u8>,
    /// Its value is in `buffer`, as the input has moved on; otherwise the input still stands on it.
    has_own_value: bool,
    buffer: Vec<u8>,
    /// Merge operands that could not be folded, to be written next.
    queue: VecDeque<(Vec<u8>, Vec<u8>)>,
}

impl Output {
    /// True when there is an entry to write.
    #[inline]
    pub(super) fn is_there(&self) -> bool {
        self.is_there
    }

    pub(super) fn set_there(&mut self, is_there: bool) {
        self.is_there = is_there;
    }

    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value, if it is not the input's.
    #[inline]
    pub(super) fn own_value(&self) -> Option<&[u8]> {
        if self.has_own_value { Some(&self.buffer) } else { None }
    }

    /// Makes the input's entry with this key the output.
    pub(super) fn take_input(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.has_own_value = false;
    }

    /// Makes an entry with a value of its own the output.
    pub(super) fn set(&mut self, user_key: &[u8], sequence: SequenceNumber, value_type: ValueType, value: &[u8]) {
        self.key.clear();
        append_internal_key(&mut self.key, user_key, sequence, value_type);
        self.set_value(value);
    }

    /// Gives the output a value of its own.
    pub(super) fn set_value(&mut self, value: &[u8]) {
        self.has_own_value = true;
        self.buffer.clear();
        self.buffer.extend_from_slice(value);
    }

    /// The buffer of a value that is made for [`set_made`](Self::set_made).
    pub(super) fn buffer_mut(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Makes an entry whose value was made in the buffer the output.
    pub(super) fn set_made(&mut self, key: Vec<u8>) {
        (self.key, self.has_own_value) = (key, true);
    }

    /// Makes the first of some entries the output, and the others those to write next; false without entries.
    pub(super) fn set_all(&mut self, entries: VecDeque<(Vec<u8>, Vec<u8>)>) -> bool {
        self.queue = entries;
        self.pop()
    }

    /// Makes the next of those entries the output; false when there is none.
    pub(super) fn pop(&mut self) -> bool {
        let Some((key, value)) = self.queue.pop_front() else { return false };
        (self.key, self.buffer, self.has_own_value) = (key, value, true);
        true
    }

    /// Replaces the sequence number of a value by zero, unless it is newer than `newest`; true if it was replaced.
    pub(super) fn zero_sequence(&mut self, newest: SequenceNumber) -> bool {
        let own = sequence(&self.key);
        if own.0 == 0 || own > newest {
            return false;
        }
        let Some(value_type) = ValueType::from_u8(trailer(&self.key) as u8) else { return false };
        if value_type == ValueType::Merge || value_type.is_point_tombstone() {
            return false;
        }
        let length = self.key.len() - TRAILER_SIZE;
        self.key.truncate(length);
        self.key.extend_from_slice(&pack_trailer(SequenceNumber(0), value_type).to_le_bytes());
        true
    }
}
