//! A node: its tower lies below the address that the pointer holds, its entry above.
//!
//! ```text
//!            pointer to the node
//!                   v
//! [next h-1] ... [next 1] [next 0] | varint32 internal key length | user key | trailer (8)
//!                                  | varint32 value length | value (| sum, of 1 to 8 bytes)
//! ```
//!
//! Tower and entry are one piece: following a link and comparing the key there accesses one cache line, not two. No
//! height is stored; a search that reached a node on level `l` knows that its tower has more than `l` links.
//!
//! A memtable has either sums behind all its entries, of as many bytes (`memtable_protection_bytes_per_key`), or none.

use crate::sync::{AtomicPtr, Ordering, moment_between};
use ferrock_base::coding::{get_varint32, varint_len, write_varint64};
use ferrock_base::hash::{hash64, hash64_with_seed};
use ferrock_base::internal_key::TRAILER_SIZE;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// One level's pointer to the next node (to its level-0 link).
pub(super) struct Link(AtomicPtr<Link>);

/// Bytes of a link.
pub(super) const LINK_BYTES: usize = size_of::<Link>();
const _: () = assert!(align_of::<Link>() <= crate::arena::ALIGNMENT);

/// A node of a living list.
///
/// Invariant: `link0` is the level-0 link of a node whose tower and entry are completely written (an entry is absent
/// only from the head), in an arena that lives for `'a`.
#[derive(Clone, Copy)]
pub(super) struct NodeRef<'a> {
    link0: NonNull<Link>,
    arena: PhantomData<&'a ()>,
}

impl PartialEq for NodeRef<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.link0 == other.link0
    }
}

/// The sizes of an entry's parts.
#[derive(Clone, Copy)]
pub(super) struct EntryLayout {
    pub(super) internal_key_length: u32,
    pub(super) value_length: u32,
    /// Bytes of the sum behind the value, up to eight.
    pub(super) sum_bytes: u8,
}

impl EntryLayout {
    /// Bytes of the entry. Cannot overflow: two 32-bit lengths, two varints and a sum.
    pub(super) fn bytes(self) -> usize {
        let (key, value) = (u64::from(self.internal_key_length), u64::from(self.value_length));
        let (key_bytes, value_bytes) = (self.internal_key_length as usize, self.value_length as usize);
        varint_len(key) + key_bytes + varint_len(value) + value_bytes + usize::from(self.sum_bytes)
    }
}

impl<'a> NodeRef<'a> {
    /// # Safety
    /// `link0` must be as the invariant says.
    #[inline]
    pub(super) unsafe fn from_raw(link0: NonNull<Link>) -> Self {
        Self { link0, arena: PhantomData }
    }

    /// # Safety
    /// `link0` must be null or as the invariant says.
    #[inline]
    unsafe fn from_nullable(link0: *mut Link) -> Option<Self> {
        NonNull::new(link0).map(|link0| Self { link0, arena: PhantomData })
    }

    #[inline]
    pub(super) fn as_raw(self) -> NonNull<Link> {
        self.link0
    }

    /// # Safety
    /// `level` must be below the height of the node's tower.
    #[inline]
    unsafe fn link(self, level: usize) -> &'a Link {
        // SAFETY: the tower has more than `level` links below `link0` (caller) and lives for 'a (invariant).
        unsafe { self.link0.sub(level).as_ref() }
    }

    /// The next node on `level`.
    ///
    /// # Safety
    /// `level` must be below the height of the node's tower.
    #[inline]
    pub(super) unsafe fn next(self, level: usize) -> Option<Self> {
        // SAFETY: by the caller; a link holds null or a node that was complete before the Release store that linked it,
        // which this Acquire load pairs with.
        unsafe { Self::from_nullable(self.link(level).0.load(Ordering::Acquire)) }
    }

    /// The next node in key order.
    #[inline]
    pub(super) fn next_in_order(self) -> Option<Self> {
        // SAFETY: every tower has a level 0.
        unsafe { self.next(0) }
    }

    /// Sets the link of a node that is not yet reachable on `level`.
    ///
    /// # Safety
    /// `level` must be below the height of the node's tower.
    #[inline]
    pub(super) unsafe fn set_next_before_linking(self, level: usize, next: Option<Self>) {
        let next = next.map_or(std::ptr::null_mut(), |node| node.link0.as_ptr());
        // SAFETY: by the caller. Relaxed: the node is published on this level by a later Release.
        unsafe { self.link(level) }.0.store(next, Ordering::Relaxed);
    }

    /// Replaces `expected` by `node` as the next node on `level`; false when another thread was faster.
    ///
    /// # Safety
    /// `level` must be below the heights of both towers.
    #[inline]
    pub(super) unsafe fn link_next(self, level: usize, expected: Option<Self>, node: Self) -> bool {
        let expected = expected.map_or(std::ptr::null_mut(), |node| node.link0.as_ptr());
        // SAFETY: by the caller.
        let link = unsafe { self.link(level) };
        link.0.compare_exchange(expected, node.link0.as_ptr(), Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// The first byte of the entry.
    #[inline]
    fn entry(self) -> *const u8 {
        // SAFETY: the entry starts right behind the level-0 link, in the same allocation. (For the head this is one
        // past its end, which may be formed.)
        unsafe { self.link0.as_ptr().add(1).cast::<u8>() }
    }

    /// The internal key: at least [`TRAILER_SIZE`] bytes. Must not be called on the head.
    #[inline]
    pub(super) fn internal_key(self) -> &'a [u8] {
        // SAFETY: `entry` points to a varint32 that `write` made, then that many bytes of key.
        unsafe { read_length_prefixed(self.entry()) }
    }

    /// The first eight bytes of the user key, most significant first, when the key has eight and its length one byte:
    /// the fast path of a comparison. Must not be called on the head.
    #[inline]
    pub(super) fn long_key_head(self) -> Option<u64> {
        let entry = self.entry();
        // SAFETY: the entry starts with the varint of the internal key's length, which has at least one byte.
        let first = unsafe { *entry };
        // SAFETY: an internal key of 16 bytes or more is behind its one-byte length.
        (16..0x80).contains(&first).then(|| u64::from_be_bytes(unsafe { entry.add(1).cast::<[u8; 8]>().read() }))
    }

    /// The eight bytes behind these, when the user key has sixteen and its length one byte. Must not be called on the
    /// head.
    #[inline]
    pub(super) fn long_key_second(self) -> Option<u64> {
        let entry = self.entry();
        // SAFETY: the entry starts with the varint of the internal key's length, which has at least one byte.
        let first = unsafe { *entry };
        // SAFETY: an internal key of 24 bytes or more is behind its one-byte length.
        (24..0x80).contains(&first).then(|| u64::from_be_bytes(unsafe { entry.add(9).cast::<[u8; 8]>().read() }))
    }

    /// The value. Must not be called on the head.
    #[inline]
    pub(super) fn value(self) -> &'a [u8] {
        let key = self.internal_key();
        // SAFETY: the value's varint32 follows the key, then that many bytes of value.
        unsafe { read_length_prefixed(key.as_ptr().add(key.len())) }
    }
}

/// The sum of an entry.
pub(super) fn entry_sum(internal_key: &[u8], value: &[u8]) -> u64 {
    hash64_with_seed(value, hash64(internal_key))
}

impl NodeRef<'_> {
    /// Where the sum is, behind the value. Must not be called on the head.
    fn sum_at(self) -> *mut u8 {
        let value = self.value();
        let offset = value.as_ptr() as usize - self.entry() as usize + value.len();
        // SAFETY: the value lies in the piece of memory that `entry` points into; its end may be formed.
        unsafe { self.entry().cast_mut().add(offset) }
    }

    /// True when the sum behind the entry is that of the entry.
    ///
    /// # Safety
    /// The entry must have been written with a sum of so many bytes, up to eight. Must not be called on the head.
    pub(super) unsafe fn has_its_sum(self, sum_bytes: usize) -> bool {
        // SAFETY: the sum is behind the value (caller).
        let stored = unsafe { std::slice::from_raw_parts(self.sum_at(), sum_bytes) };
        stored == &entry_sum(self.internal_key(), self.value()).to_le_bytes()[..sum_bytes]
    }

    /// Writes the sum of the entry behind it.
    ///
    /// # Safety
    /// As [`has_its_sum`](Self::has_its_sum), and no other thread may read or write the value until this returns.
    #[cold]
    pub(super) unsafe fn write_sum(self, sum_bytes: usize) {
        let sum = entry_sum(self.internal_key(), self.value()).to_le_bytes();
        // SAFETY: there is room for the sum behind the value, which is this thread's alone (caller).
        unsafe { self.sum_at().copy_from_nonoverlapping(sum.as_ptr(), sum_bytes) };
    }

    /// Turns over a bit of the user key, its trailer's bytes left out, or of the value.
    ///
    /// # Safety
    /// No other thread may read or write the entry. Must not be called on the head.
    #[cfg(any(test, feature = "test-faults"))]
    pub(super) unsafe fn flip_bit(self, bit: usize) {
        let (key, value) = (self.internal_key(), self.value());
        let user_key_bytes = key.len() - TRAILER_SIZE;
        let place = bit % (8 * (user_key_bytes + value.len()).max(1));
        let (start, byte) = match (place / 8).checked_sub(user_key_bytes) {
            None => (key.as_ptr() as usize, place / 8),
            Some(byte) if byte < value.len() => (value.as_ptr() as usize, byte),
            // An entry without a byte of either: its trailer has some.
            Some(_) => (key.as_ptr() as usize, 1),
        };
        let offset = start - self.entry() as usize + byte;
        // SAFETY: a byte of the entry, which is this thread's alone (caller).
        unsafe {
            let at = self.entry().cast_mut().add(offset);
            at.write(at.read() ^ 1 << (place % 8));
        }
    }

    /// Writes another value over the value.
    ///
    /// # Safety
    /// `value` must not be longer than the value, and the value must not be read or written by another thread until
    /// this returns. Must not be called on the head.
    pub(super) unsafe fn overwrite_value(self, value: &[u8]) {
        let key = self.internal_key();
        // SAFETY: the key is behind its length in the piece of memory that `entry` points into; the value is behind it,
        // has room for the shorter one (caller), whose length takes no more bytes, and is this thread's alone (caller).
        unsafe {
            let key_end = key.as_ptr().offset_from(self.entry()) as usize + key.len();
            let at = write_length(self.entry().cast_mut().add(key_end), value.len() as u32);
            moment_between();
            at.copy_from_nonoverlapping(value.as_ptr(), value.len());
        }
    }
}

/// # Safety
/// `at` must point to a varint32 written by [`write_length`], followed by that many bytes that live for `'a`.
#[inline]
unsafe fn read_length_prefixed<'a>(at: *const u8) -> &'a [u8] {
    // SAFETY: a varint has at least one byte.
    let first = unsafe { *at };
    let (length, prefix) = if first < 0x80 {
        (usize::from(first), 1)
    } else {
        // SAFETY: by the caller.
        unsafe { read_long_length(at) }
    };
    // SAFETY: by the caller.
    unsafe { std::slice::from_raw_parts(at.add(prefix), length) }
}

/// # Safety
/// As [`read_length_prefixed`]; the varint has at least two bytes.
unsafe fn read_long_length(at: *const u8) -> (usize, usize) {
    let mut length = 1;
    // SAFETY: the varint ends with the first byte below 0x80; nothing behind it is read.
    while unsafe { *at.add(length) } >= 0x80 {
        length += 1;
    }
    // SAFETY: just walked over.
    let bytes = unsafe { std::slice::from_raw_parts(at, length + 1) };
    get_varint32(bytes).map_or((0, length + 1), |(value, prefix)| (value as usize, prefix))
}

/// Writes a node with empty links into `memory` and returns it with the start of its key.
///
/// # Safety
/// `memory` must be writable, aligned for [`Link`], of at least `height * LINK_BYTES + entry.bytes()` bytes, unshared,
/// and live for `'a`. `user_key` and `value` must have the lengths in `entry`.
pub(super) unsafe fn write_node<'a>(
    memory: NonNull<u8>,
    height: usize,
    entry: EntryLayout,
    user_key: &[u8],
    trailer: u64,
    value: &[u8],
) -> NodeRef<'a> {
    debug_assert!(entry.internal_key_length as usize == user_key.len() + TRAILER_SIZE);
    // SAFETY: the links take the first `height * LINK_BYTES` bytes; the entry takes `entry.bytes()` behind them, and
    // the pieces written below sum up to exactly that.
    unsafe {
        let node = write_tower(memory, height);
        let mut at = node.link0.as_ptr().add(1).cast::<u8>();
        at = write_length(at, entry.internal_key_length);
        at.copy_from_nonoverlapping(user_key.as_ptr(), user_key.len());
        at = at.add(user_key.len());
        at.copy_from_nonoverlapping(trailer.to_le_bytes().as_ptr(), TRAILER_SIZE);
        at = write_length(at.add(TRAILER_SIZE), entry.value_length);
        at.copy_from_nonoverlapping(value.as_ptr(), value.len());
        if entry.sum_bytes > 0 {
            node.write_sum(usize::from(entry.sum_bytes));
        }
        node
    }
}

/// Writes a tower of empty links.
///
/// # Safety
/// As [`write_node`], without an entry.
pub(super) unsafe fn write_tower<'a>(memory: NonNull<u8>, height: usize) -> NodeRef<'a> {
    let lowest = memory.cast::<Link>();
    for index in 0..height {
        // SAFETY: `height` links fit (caller).
        unsafe { lowest.add(index).write(Link(AtomicPtr::new(std::ptr::null_mut()))) };
    }
    // SAFETY: the level-0 link is the last one.
    NodeRef { link0: unsafe { lowest.add(height - 1) }, arena: PhantomData }
}

/// # Safety
/// `at` must have room for the varint.
unsafe fn write_length(at: *mut u8, length: u32) -> *mut u8 {
    if length < 0x80 {
        // SAFETY: one byte, by the caller.
        unsafe {
            at.write(length as u8);
            return at.add(1);
        }
    }
    let mut buffer = [0; ferrock_base::coding::MAX_VARINT64_LEN];
    let bytes = write_varint64(&mut buffer, u64::from(length));
    // SAFETY: by the caller.
    unsafe {
        at.copy_from_nonoverlapping(buffer.as_ptr(), bytes);
        at.add(bytes)
    }
}
