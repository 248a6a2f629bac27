//! A node: its tower lies below the address that the pointer holds, its entry above.
//!
//! ```text
//!            pointer to the node
//!                   v
//! [next h-1] ... [next 1] [next 0] | varint32 internal key length | user key | trailer (8)
//!                                  | varint32 value length | value
//! ```
//!
//! Tower and entry are one piece: following a link and comparing the key there accesses one cache line, not two. No
//! height is stored; a search that reached a node on level `l` knows that its tower has more than `l` links.

use crate::sync::{AtomicPtr, Ordering, moment_between};
use ferrock_base::coding::{get_varint32, varint_len, write_varint64};
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
}

impl EntryLayout {
    /// Bytes of the entry. Cannot overflow: two 32-bit lengths and two varints.
    pub(super) fn bytes(self) -> usize {
        let (key, value) = (u64::from(self.internal_key_length), u64::from(self.value_length));
        varint_len(key) + self.internal_key_length as usize + varint_len(value) + self.value_length as usize
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

impl NodeRef<'_> {
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
