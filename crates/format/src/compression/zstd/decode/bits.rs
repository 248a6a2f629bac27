//! Bits of a stream that is read from its end to its beginning.
//!
//! ```text
//! stream:  | first bits read last ... | last byte: 0..0 1 first bits read |
//!                  window (8 bytes)  ^
//! ```
//!
//! The highest set bit of the last byte marks where the bits begin. A window of eight bytes moves to the front as bits
//! are used up; 57 bits can be read after each [`refill`](BackwardBits::refill) while there are as many.

use std::ptr;

use super::{BAD_STREAM, Damage};

const WINDOW: usize = 8;

/// The reader. What is read beyond the beginning has no meaning, and shows in [`is_overrun`](Self::is_overrun).
#[derive(Clone, Copy)]
pub(super) struct BackwardBits<'a> {
    stream: &'a [u8],
    /// Where the window begins. `start + WINDOW <= stream.len()`, except for streams shorter than a window.
    start: usize,
    window: u64,
    /// Bits of the window that are used up, from the highest down.
    used: u32,
}

impl<'a> BackwardBits<'a> {
    #[inline]
    pub(super) fn new(stream: &'a [u8]) -> Result<Self, Damage> {
        let last = *stream.last().ok_or(BAD_STREAM)?;
        if last == 0 {
            return Err(BAD_STREAM);
        }
        let padding = last.leading_zeros() + 1;
        Ok(match stream.last_chunk::<WINDOW>() {
            Some(chunk) => {
                Self { stream, start: stream.len() - WINDOW, window: u64::from_le_bytes(*chunk), used: padding }
            }
            None => {
                let mut bytes = [0; WINDOW];
                bytes[..stream.len()].copy_from_slice(stream);
                let missing = (WINDOW - stream.len()) as u32 * 8;
                Self { stream, start: 0, window: u64::from_le_bytes(bytes), used: padding + missing }
            }
        })
    }

    /// Goes on in the middle: at the window that begins at `start`, of which `used` bits (56 at most) are used up.
    #[inline]
    pub(super) fn resume(stream: &'a [u8], start: usize, used: u32) -> Option<Self> {
        let window = u64::from_le_bytes(*stream.get(start..)?.first_chunk::<WINDOW>()?);
        Some(Self { stream, start, window, used })
    }

    /// The next `count` bits (1 to 57), which stay. Before the beginning of the stream there are zeros.
    #[inline(always)]
    pub(super) fn peek_padded(&self, count: u32) -> u64 {
        self.window.wrapping_shl(self.used) >> (64 - count)
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.used += count;
    }

    /// Takes the next `count` bits, of which there have to be as many for the value to have a meaning.
    #[inline(always)]
    pub(super) fn read(&mut self, count: u8) -> usize {
        let count = u32::from(count & 31);
        self.used += count;
        let bits = self.window.wrapping_shr(0u32.wrapping_sub(self.used));
        bits as usize & ((1 << count) - 1)
    }

    /// Moves the window, so that 57 bits can be read, or all that are left.
    #[inline(always)]
    pub(super) fn refill(&mut self) {
        let bytes = (self.used >> 3) as usize;
        if let Some(start) = self.start.checked_sub(bytes) {
            self.start = start;
            self.used &= 7;
            // SAFETY: the window is not behind where it was, and so lies within the stream. (In a stream shorter than a
            // window, eight bits and more count as used up from the beginning: `bytes` is above `start`, which is 0.)
            self.window = u64::from_le_bytes(unsafe { ptr::read_unaligned(self.stream.as_ptr().add(start).cast()) });
        } else {
            self.refill_at_beginning();
        }
    }

    #[inline(always)]
    fn refill_at_beginning(&mut self) {
        self.used -= self.start as u32 * 8;
        self.start = 0;
        if let Some(chunk) = self.stream.first_chunk::<WINDOW>() {
            self.window = u64::from_le_bytes(*chunk);
        }
    }

    /// True if more was read than there is.
    #[inline(always)]
    pub(super) fn is_overrun(&self) -> bool {
        self.used > 64
    }

    /// True if exactly all bits were read.
    #[inline(always)]
    pub(super) fn is_finished(&self) -> bool {
        self.start == 0 && self.used == 64
    }
}

/// Bits from the lowest up, as descriptions of FSE tables have them. Behind the end there are zeros.
pub(super) struct ForwardBits<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> ForwardBits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// The next 16 bits and more, which stay.
    #[inline(always)]
    pub(super) fn peek(&self) -> u32 {
        let start = self.position >> 3;
        let word = match self.bytes.get(start..).and_then(<[u8]>::first_chunk::<4>) {
            Some(chunk) => u32::from_le_bytes(*chunk),
            None => {
                let rest = self.bytes.get(start..).unwrap_or_default();
                rest.iter().rev().fold(0, |word, byte| (word << 8) | u32::from(*byte))
            }
        };
        word >> (self.position & 7)
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.position += count as usize;
    }

    /// The bytes that were begun, if there are as many.
    pub(super) fn bytes_read(&self) -> Option<usize> {
        Some(self.position.div_ceil(8)).filter(|bytes| *bytes <= self.bytes.len())
    }
}
