//! The LZ4 decoder: blocks (not frames), with or without a dictionary, into memory that nothing was written to.
//!
//! ```text
//! input   |<---------------- fast ---------------->|<- careful ->|
//! output  |<---------------- fast ---------------->|<- careful ->|
//! ```
//!
//! [`fast`] decodes sequences while both positions are far enough from their ends that a token, its short literals and
//! its short match can be read and written in wide steps without a look at what is left ([`INPUT_MARGIN`],
//! [`OUTPUT_MARGIN`]). Longer lengths are looked at. What comes too close to an end is left to [`careful`], which
//! copies exactly.
//!
//! What is accepted is what the format allows in a buffer of the claimed size: no match begins within the last twelve
//! bytes of the output or ends within the last five, the input ends with literals, and they end the output. The C
//! library does not look at the last five bytes everywhere, and takes a distance of 0, which no encoder writes.
//!
//! Speeds beside C's are in `docs/dependencies.md`. Tried and lost: `lz4_flex`, safe (0.73 to 0.86 of C) and with its
//! unsafe code (0.55 to 0.87); loads of 16 bytes for short matches (they wait for stores); steps of 32 bytes for longer
//! ones (whether there are one or two is foreseen wrongly); positions as numbers instead of pointers.

use std::mem::MaybeUninit;
use std::ptr;

use super::lz4_block::{LAST_LITERALS, MATCH_START_MARGIN, MIN_MATCH};
use super::wide_copy::{SURPLUS, copy_16, copy_match, copy_short_match, copy_wide};

/// Bytes of input from a token on that [`fast`] reads without a look: the token, 16 from where literals begin, an
/// offset behind 14 of them and a byte of a length, 18 in all. And behind literals there are eight more at least: an
/// offset, a token and the last literals.
const INPUT_MARGIN: usize = 24;
/// Bytes of output that [`fast`] writes without a look: 14 literals and a match of 18. And five follow at least.
const OUTPUT_MARGIN: usize = 40;
/// What has to follow long literals in the output.
const WIDE_OUTPUT_MARGIN: usize = SURPLUS + MATCH_START_MARGIN;
/// A length that goes on in further bytes.
const LONG: usize = 15;

/// Why a block is damaged.
pub(super) type Damage = &'static str;

const CUT: Damage = "it ends within a sequence";
const TOO_LONG: Damage = "it decodes to more than is claimed";
const TOO_SHORT: Damage = "it decodes to less than is claimed";
const BEFORE_BEGINNING: Damage = "a match begins before everything, or at no distance";
const BAD_END: Damage = "it does not end with literals";

/// How far a block is decoded: all of the output before `written` is initialized.
#[derive(Clone, Copy)]
struct Progress {
    read: usize,
    written: usize,
}

/// Fills `out` with the content of the block: all of it is initialized if the block is sound.
pub(super) fn decode(input: &[u8], dictionary: &[u8], out: &mut [MaybeUninit<u8>]) -> Result<(), Damage> {
    let progress = fast(input, dictionary, out)?;
    careful(input, dictionary, out, progress)
}

/// What the bytes from `position` on add to a length, and where the input goes on.
#[inline(never)]
fn long_length(input: &[u8], mut position: usize) -> Result<(usize, usize), Damage> {
    let mut length = 0usize;
    loop {
        let byte = *input.get(position).ok_or(CUT)?;
        position += 1;
        length = length.saturating_add(usize::from(byte));
        if byte != 255 {
            return Ok((length, position));
        }
    }
}

fn fast(input: &[u8], dictionary: &[u8], out: &mut [MaybeUninit<u8>]) -> Result<Progress, Damage> {
    if input.len() < SURPLUS || out.len() < WIDE_OUTPUT_MARGIN {
        return Ok(Progress { read: 0, written: 0 });
    }
    const { assert!(INPUT_MARGIN <= SURPLUS && OUTPUT_MARGIN <= WIDE_OUTPUT_MARGIN) };
    let (source, mut target) = (input.as_ptr(), out.as_mut_ptr().cast::<u8>());
    // SAFETY: both slices are longer than each of the margins.
    let (input_limit, wide_input_limit, mut output_limit, mut wide_output_limit) = unsafe {
        (
            source.add(input.len() - INPUT_MARGIN),
            source.add(input.len() - SURPLUS),
            target.add(out.len() - OUTPUT_MARGIN),
            target.add(out.len() - WIDE_OUTPUT_MARGIN),
        )
    };
    let target_address = target.addr();
    let progress = |read: *const u8, write: *mut u8| Progress {
        read: read.addr() - source.addr(),
        written: write.addr() - target_address,
    };
    // Both stay within their slices. All of the output before `write` is initialized.
    let (mut read, mut write) = (source, target);
    while read <= input_limit && write <= output_limit {
        // SAFETY: `read <= input_limit`: 24 bytes may be read.
        let token = usize::from(unsafe { *read });
        let mut literals = token >> 4;
        if literals < LONG {
            // SAFETY: 23 bytes may be read behind the token, and with `write <= output_limit` 40 written. Input and
            // output are different slices.
            unsafe {
                read = read.add(1);
                copy_16(read, write);
            }
        } else {
            let begin = progress(read, write);
            // SAFETY: 23 bytes may be read behind the token.
            let byte = unsafe { *read.add(1) };
            literals += usize::from(byte);
            let mut next = begin.read + 2;
            if byte == 255 {
                let (more, after) = long_length(input, next)?;
                (literals, next) = (literals.saturating_add(more), after);
            }
            // SAFETY: `long_length` read the byte before `next`, or it is the second of 24 that may be read.
            read = unsafe { source.add(next) };
            if literals > wide_input_limit.addr().saturating_sub(read.addr())
                || literals > wide_output_limit.addr().saturating_sub(write.addr())
            {
                return Ok(begin);
            }
            // SAFETY: the literals end `SURPLUS` bytes before the end of the input and of the output at the latest.
            // (There are 15 at least, so that none of the differences was negative.)
            unsafe { copy_wide(read, write, literals) };
        }
        // SAFETY: short literals end 9 bytes before the end of the input and 26 before that of the output at the
        // latest, longer ones `SURPLUS` bytes. The distance is read there.
        let distance = unsafe {
            read = read.add(literals);
            write = write.add(literals);
            let distance = ptr::read_unaligned(read.cast::<[u8; 2]>());
            read = read.add(2);
            usize::from(u16::from_le_bytes(distance))
        };
        let mut length = (token & 15) + MIN_MATCH;
        let from = write.wrapping_sub(distance);
        if length < LONG + MIN_MATCH {
            if distance >= 8 && from >= target {
                // SAFETY: 26 bytes may be written, and all from `from` on is initialized. The match is 18 long at most.
                unsafe {
                    copy_short_match(from, write);
                    write = write.add(length);
                }
                continue;
            }
        } else {
            // SAFETY: 7 bytes may be read.
            let byte = unsafe { *read };
            length += usize::from(byte);
            let mut next = progress(read, write).read + 1;
            if byte == 255 {
                let (more, after) = long_length(input, next)?;
                (length, next) = (length.saturating_add(more), after);
            }
            // SAFETY: the byte before `next` was read.
            read = unsafe { source.add(next) };
            if distance >= 16 && from >= target && length <= wide_output_limit.addr().saturating_sub(write.addr()) {
                // SAFETY: the match ends `SURPLUS` bytes before the end of the output at the latest. What is read lies
                // between `target` and `write`, where all is initialized, or was written 16 bytes or more before.
                unsafe {
                    copy_wide(from, write, length);
                    write = write.add(length);
                }
                continue;
            }
        }
        if from >= target && distance > 0 && length <= wide_output_limit.addr().saturating_sub(write.addr()) {
            // SAFETY: the match ends `SURPLUS` bytes before the end of the output at the latest; `distance` is among
            // the bytes before it, which are initialized.
            unsafe { copy_match(write, progress(read, write).written, distance, length) };
        } else {
            let written = progress(read, write).written;
            exact_match(dictionary, out, written, distance, length)?;
            // `out` was borrowed anew, which voids the pointers that were derived from it before.
            target = out.as_mut_ptr().cast::<u8>();
            // SAFETY: as above; `written` bytes of `out` are.
            (write, output_limit, wide_output_limit) = unsafe {
                (target.add(written), target.add(out.len() - OUTPUT_MARGIN), target.add(out.len() - WIDE_OUTPUT_MARGIN))
            };
        }
        // SAFETY: either way the match lies within the output.
        write = unsafe { write.add(length) };
    }
    Ok(progress(read, write))
}

fn careful(input: &[u8], dictionary: &[u8], out: &mut [MaybeUninit<u8>], progress: Progress) -> Result<(), Damage> {
    let Progress { mut read, mut written } = progress;
    loop {
        let token = *input.get(read).ok_or(CUT)?;
        read += 1;
        let mut literals = usize::from(token >> 4);
        if literals == LONG {
            let (more, next) = long_length(input, read)?;
            (literals, read) = (literals.saturating_add(more), next);
        }
        let source = input.get(read..).and_then(|rest| rest.get(..literals)).ok_or(CUT)?;
        let target = out.get_mut(written..).and_then(|rest| rest.get_mut(..literals)).ok_or(TOO_LONG)?;
        target.write_copy_of_slice(source);
        read += literals;
        written += literals;
        if read == input.len() {
            return if written == out.len() { Ok(()) } else { Err(TOO_SHORT) };
        }
        // The distance, the token of the last sequence, and its literals.
        if input.len() - read < 2 + 1 + LAST_LITERALS || out.len() - written < MATCH_START_MARGIN {
            return Err(BAD_END);
        }
        let distance = usize::from(u16::from_le_bytes([input[read], input[read + 1]]));
        read += 2;
        let mut length = usize::from(token & 15);
        if length == LONG {
            let (more, next) = long_length(input, read)?;
            (length, read) = (length.saturating_add(more), next);
        }
        length = length.saturating_add(MIN_MATCH);
        exact_match(dictionary, out, written, distance, length)?;
        written += length;
    }
}

/// Copies a match, and nothing beyond it. On success it ended before the last literals.
#[inline(never)]
fn exact_match(
    dictionary: &[u8],
    out: &mut [MaybeUninit<u8>],
    written: usize,
    distance: usize,
    length: usize,
) -> Result<(), Damage> {
    if length > out.len().saturating_sub(written + LAST_LITERALS) {
        return Err(BAD_END);
    }
    let target = &mut out[..written + length];
    if distance.wrapping_sub(1) < written {
        repeat(target, written, distance);
        return Ok(());
    }
    if distance == 0 {
        return Err(BEFORE_BEGINNING);
    }
    // The dictionary lies before the output, and the match may go on from the one into the other.
    let start = dictionary.len().checked_sub(distance - written).ok_or(BEFORE_BEGINNING)?;
    let from_dictionary = (dictionary.len() - start).min(length);
    target[written..written + from_dictionary].write_copy_of_slice(&dictionary[start..start + from_dictionary]);
    if from_dictionary < length {
        repeat(target, written + from_dictionary, distance);
    }
    Ok(())
}

/// Fills `out` from `written` on with what begins `distance` bytes before.
fn repeat(out: &mut [MaybeUninit<u8>], written: usize, distance: usize) {
    let start = written - distance;
    let length = out.len() - written;
    if length <= distance {
        out.copy_within(start..start + length, written);
        return;
    }
    for position in written..out.len() {
        out[position] = out[position - distance];
    }
}
