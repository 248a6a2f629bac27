//! Copies in wide steps for the hot loops of decoders and encoders, the repetition of a match, and wide reads.
//!
//! A loop that knows how much room is left on both sides copies 16 bytes where it needs 5: the surplus is overwritten
//! by what follows. Each function here says how far it reads and writes beyond the length it is given, [`SURPLUS`] at
//! most; the loops that call them keep that distance from both edges and leave the rest to code that copies exactly.

use std::ptr;

/// No function here reads or writes further than this beyond the length it is given.
pub(super) const SURPLUS: usize = 64;

/// What [`read_8`] reads.
const READ_WIDTH: usize = 8;

/// For distances below 8: the factor that repeats a pattern of that many bytes through eight.
const REPEAT: [u64; 8] = [
    0,
    0x0101_0101_0101_0101,
    0x0001_0001_0001_0001,
    0x0001_0000_0100_0001,
    0x0000_0001_0000_0001,
    0x0000_0100_0000_0001,
    0x0001_0000_0000_0001,
    0x0100_0000_0000_0001,
];
/// For distances below 8: their largest multiple in eight bytes.
const STEP: [usize; 8] = [8, 8, 8, 6, 8, 5, 6, 7];

/// Copies 16 bytes.
///
/// # Safety
/// 16 bytes may be read at `from` and written at `to`, which do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_16(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { ptr::copy_nonoverlapping(from, to, 16) }
}

/// Copies `length` bytes, and up to [`SURPLUS`] more: the first 64 without looking at the length, which is then
/// foreseen wrongly less often.
///
/// # Safety
/// `length + SURPLUS` bytes may be read at `from` (or be written by this very copy before they are read) and written at
/// `to`, and `from` is in other memory than `to`, or 16 bytes or more before it.
#[inline(always)]
pub(super) unsafe fn copy_wide(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller's promise: 64 bytes, in steps of 16, which no pair of places overlaps.
    unsafe {
        copy_16(from, to);
        copy_16(from.add(16), to.add(16));
        copy_16(from.add(32), to.add(32));
        copy_16(from.add(48), to.add(48));
    }
    let mut done = 64;
    while done < length {
        // SAFETY: as above; the step ends 31 bytes beyond `length` at most.
        unsafe {
            copy_16(from.add(done), to.add(done));
            copy_16(from.add(done + 16), to.add(done + 16));
        }
        done += 32;
    }
}

/// Copies 18 bytes that begin 8 or more before where they go: what most matches take.
///
/// Loads of eight bytes: wider ones more often span two stores that are still under way, for which a processor waits.
///
/// # Safety
/// 18 bytes may be written at `to`, and `from` is 8 bytes or more before it, with nothing uninitialized between them.
#[inline(always)]
pub(super) unsafe fn copy_short_match(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise; each 8 bytes are read at least 8 before where they go.
    unsafe {
        ptr::copy_nonoverlapping(from, to, 8);
        ptr::copy_nonoverlapping(from.add(8), to.add(8), 8);
        ptr::copy_nonoverlapping(from.add(16), to.add(16), 2);
    }
}

/// Repeats what begins `distance` bytes before `to`: `length` bytes, and up to [`SURPLUS`] more are written.
///
/// # Safety
/// `written` bytes before `to` are initialized, `1 <= distance <= written`, and `length + SURPLUS` bytes may be written
/// at `to`.
#[inline(always)]
pub(super) unsafe fn copy_match(to: *mut u8, written: usize, distance: usize, length: usize) {
    debug_assert!((1..=written).contains(&distance));
    // SAFETY: `distance` bytes lie before `to`.
    let from = unsafe { to.sub(distance).cast_const() };
    if distance >= 16 {
        // SAFETY: what is read lies before `to`, or was written 16 bytes or more earlier.
        unsafe { copy_wide(from, to, length) };
    } else if distance >= 8 {
        let mut done = 0;
        while done < length {
            // SAFETY: at most `length + 15` bytes are written, each 8 read at least 8 before where they go.
            unsafe {
                ptr::copy_nonoverlapping(from.add(done), to.add(done), 8);
                ptr::copy_nonoverlapping(from.add(done + 8), to.add(done + 8), 8);
            }
            done += 16;
        }
    } else if written >= 8 {
        // SAFETY: the caller's promise, and eight bytes lie before `to`.
        unsafe { repeat_pattern(to, distance, length) };
    } else {
        for index in 0..length {
            // SAFETY: `length` bytes may be written, and what is read lies before what is written.
            unsafe { to.add(index).write(from.add(index).read()) };
        }
    }
}

/// Repeats less than eight bytes: from a register, since loads of what was just stored would wait.
///
/// # Safety
/// Eight initialized bytes lie before `to`, `1 <= distance < 8`, and `length + SURPLUS` bytes may be written at `to`.
#[inline(always)]
unsafe fn repeat_pattern(to: *mut u8, distance: usize, length: usize) {
    // SAFETY: the caller's promise.
    let before = u64::from_le_bytes(unsafe { ptr::read_unaligned(to.sub(8).cast::<[u8; 8]>()) });
    let pattern = (before >> (64 - 8 * distance)).wrapping_mul(REPEAT[distance & 7]).to_le_bytes();
    let step = STEP[distance & 7];
    // SAFETY: a step is 8 at most, so that 32 bytes are written.
    unsafe {
        ptr::write_unaligned(to.cast(), pattern);
        ptr::write_unaligned(to.add(step).cast(), pattern);
        ptr::write_unaligned(to.add(2 * step).cast(), pattern);
        ptr::write_unaligned(to.add(3 * step).cast(), pattern);
    }
    let mut done = 4 * step;
    while done < length {
        // SAFETY: at most `length + 7` bytes are written.
        unsafe { ptr::write_unaligned(to.add(done).cast(), pattern) };
        done += step;
    }
}

/// The eight bytes at `position`.
///
/// # Safety
/// `position + 8 <= raw.len()`.
#[inline(always)]
pub(super) unsafe fn read_8(raw: &[u8], position: usize) -> u64 {
    debug_assert!(position + READ_WIDTH <= raw.len());
    // SAFETY: the caller's promise.
    u64::from_le_bytes(unsafe { ptr::read_unaligned(raw.as_ptr().add(position).cast()) })
}

/// In how many bytes `raw` agrees at `before` and at `position`, up to `end`.
///
/// # Safety
/// `before < position <= end <= raw.len()`.
#[inline(always)]
pub(super) unsafe fn agreement(raw: &[u8], before: usize, position: usize, end: usize) -> usize {
    debug_assert!(before < position && position <= end && end <= raw.len());
    let mut length = 0;
    while position + length + READ_WIDTH <= end {
        // SAFETY: eight bytes lie before `end` at `position + length`, and so at `before + length`.
        let difference = unsafe { read_8(raw, before + length) ^ read_8(raw, position + length) };
        if difference != 0 {
            return length + (difference.trailing_zeros() / 8) as usize;
        }
        length += READ_WIDTH;
    }
    while position + length < end && raw[before + length] == raw[position + length] {
        length += 1;
    }
    length
}
