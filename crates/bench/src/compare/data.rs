//! Keys, values, and what a read may see.
//!
//! ```text
//! key      16 bytes, as those of db_bench: u64 big-endian | '0' x 8    2 x number; the odd ones are never written
//! value    generation u32 | bytes chosen by key and generation; their second half repeats the first, so that they
//!          compress to about half
//! ```
//!
//! A key's values are its generations 1, 2, ... Only one thread writes a key. It notes a generation before it writes it
//! (*begun*) and after the write returned (*done*). While other threads write, a read must see a generation from the
//! one that was done when it began to the one that was begun when it ended: older is a write that was lost, newer one
//! that no thread made.

use std::sync::atomic::{AtomicU32, Ordering};

use ferrock_base::random::Random;

/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 16;
/// The shortest value: it tells its generation.
const LEAST_VALUE_BYTES: usize = 16;

/// A key.
pub(super) type Key = [u8; KEY_BYTES];

/// The key of a number.
#[inline]
pub(super) fn key(number: u64) -> Key {
    at_place(number * 2)
}

/// The key behind that of a number, which is never written.
#[inline]
pub(super) fn absent_key(number: u64) -> Key {
    at_place(number * 2 + 1)
}

fn at_place(place: u64) -> Key {
    let mut key = [b'0'; KEY_BYTES];
    key[..8].copy_from_slice(&place.to_be_bytes());
    key
}

/// The number of a key that is written.
fn number_of(key: &[u8]) -> Option<u64> {
    let place = u64::from_be_bytes(*key.strip_suffix(b"00000000")?.as_array()?);
    place.is_multiple_of(2).then_some(place / 2)
}

/// Makes the value of a key and a generation.
#[inline]
pub(super) fn make_value(number: u64, generation: u32, size: usize, value: &mut Vec<u8>) {
    value.clear();
    value.extend_from_slice(&generation.to_le_bytes());
    let half = (size - value.len()).div_ceil(2) + value.len();
    let mut state = Random::new(number ^ (u64::from(generation) << 40)).next_u64();
    while value.len() < half {
        let bytes = state.to_le_bytes();
        let wanted = (half - value.len()).min(bytes.len());
        value.extend_from_slice(&bytes[..wanted]);
        state = state.wrapping_mul(0xD129_0D5B_7B2D_9E1D).rotate_left(29) ^ number;
    }
    value.extend_from_within(4..4 + size - half);
}

/// What a read found that it may not find.
pub(super) type Wrong = String;

/// What keys may be seen to hold, and the values that this means.
pub(super) struct Model {
    begun: Vec<AtomicU32>,
    done: Vec<AtomicU32>,
    value_size: usize,
}

impl Model {
    /// `loaded` keys that hold what the loaded database has, and room for `more`.
    pub(super) fn new(loaded: u64, more: u64, value_size: usize) -> Self {
        let list = || {
            let loaded = (0..loaded).map(|number| AtomicU32::new(loaded_generation(number)));
            loaded.chain((0..more).map(|_| AtomicU32::new(0))).collect()
        };
        Self { begun: list(), done: list(), value_size }
    }

    /// Keys, with those that may be inserted.
    pub(super) fn len(&self) -> u64 {
        self.done.len() as u64
    }

    /// The generation that a read of a key must at least find; asked before it begins.
    #[inline]
    pub(super) fn least(&self, number: u64) -> u32 {
        self.done.get(number as usize).map_or(0, |done| done.load(Ordering::Acquire))
    }

    /// The value to write next; [`wrote`](Self::wrote) follows when it is written.
    #[inline]
    pub(super) fn next_value(&self, number: u64, value: &mut Vec<u8>) {
        let generation = self.begun[number as usize].fetch_add(1, Ordering::AcqRel) + 1;
        make_value(number, generation, self.value_size, value);
    }

    /// The value that was asked for last is written.
    #[inline]
    pub(super) fn wrote(&self, number: u64) {
        self.done[number as usize].fetch_add(1, Ordering::AcqRel);
    }

    /// Checks what a read of a key found. `scratch` is only room.
    #[inline]
    pub(super) fn check(
        &self,
        number: u64,
        least: u32,
        found: Option<&[u8]>,
        scratch: &mut Vec<u8>,
    ) -> Result<(), Wrong> {
        let Some(found) = found else {
            return if least == 0 { Ok(()) } else { Err(format!("key {number} is not there, and was written")) };
        };
        let most = self.begun[number as usize].load(Ordering::Acquire);
        let generation = found.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        make_value(number, generation, self.value_size, scratch);
        if found != scratch.as_slice() {
            return Err(format!("key {number} has a value of {} bytes that was never written", found.len()));
        }
        if generation < least.max(1) || generation > most {
            return Err(format!("key {number} has value {generation}, and must have one of {least} to {most}"));
        }
        Ok(())
    }
}

/// What the loaded database has: a twentieth of the keys was written again after the compaction.
pub(super) fn loaded_generation(number: u64) -> u32 {
    if number % 20 == 7 { 2 } else { 1 }
}

/// Checks rows that a scan gave, one after the other: all that must be there, in order, and nothing else.
pub(super) struct RowCheck<'a> {
    model: &'a Model,
    /// What each of the keys from `first` on must at least hold, taken before the iterator was made.
    least: &'a [u32],
    first: u64,
    /// The next key that must come, if it is there.
    next: u64,
    is_backward: bool,
}

impl<'a> RowCheck<'a> {
    /// Rows from key `first` on, or from the last one backward. Without `least`, no thread writes.
    pub(super) fn new(model: &'a Model, first: u64, least: &'a [u32], is_backward: bool) -> Self {
        let next = if is_backward { model.len() } else { first };
        Self { model, least, first, next, is_backward }
    }

    fn least(&self, number: u64) -> u32 {
        if self.least.is_empty() {
            return self.model.least(number);
        }
        self.least.get((number - self.first) as usize).copied().unwrap_or(0)
    }

    /// Keys passed over must not have to be there.
    fn pass(&self, from: u64, to: u64) -> Result<(), Wrong> {
        match (from..to).find(|number| self.least(*number) > 0) {
            Some(missing) => Err(format!("a scan lacks key {missing}, which was written")),
            None => Ok(()),
        }
    }

    /// The next row.
    pub(super) fn row(&mut self, key: &[u8], value: &[u8], scratch: &mut Vec<u8>) -> Result<(), Wrong> {
        let found = number_of(key).filter(|number| *number < self.model.len());
        let number =
            found.ok_or_else(|| format!("a scan gave the key {}, which was never written", key.escape_ascii()))?;
        let is_in_order = if self.is_backward { number < self.next } else { number >= self.next };
        if !is_in_order {
            return Err(format!("a scan gave key {number} out of order, where {} was next", self.next));
        }
        if self.is_backward {
            self.pass(number + 1, self.next)?;
            self.next = number;
        } else {
            self.pass(self.next, number)?;
            self.next = number + 1;
        }
        self.model.check(number, self.least(number), Some(value), scratch)
    }

    /// The scan has come to its end.
    pub(super) fn end(&self) -> Result<(), Wrong> {
        if self.is_backward { self.pass(0, self.next) } else { self.pass(self.next, self.model.len()) }
    }
}

/// Whether values can be as short as this.
pub(super) fn check_value_size(bytes: usize) -> Result<usize, String> {
    let most = 1 << 20;
    if (LEAST_VALUE_BYTES..=most).contains(&bytes) {
        return Ok(bytes);
    }
    Err(format!("a value has {LEAST_VALUE_BYTES} to {most} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(number: u64, generation: u32) -> Vec<u8> {
        let mut value = Vec::new();
        make_value(number, generation, 100, &mut value);
        value
    }

    #[test]
    fn values_have_their_length_and_differ() {
        for size in [16, 17, 99, 100, 4096] {
            let mut value = Vec::new();
            make_value(7, 3, size, &mut value);
            assert_eq!((value.len(), &value[..4]), (size, &[3, 0, 0, 0][..]));
        }
        assert_ne!(value(1, 1)[4..], value(2, 1)[4..]);
        assert_ne!(value(1, 1)[4..], value(1, 2)[4..]);
        assert_eq!((number_of(&key(9)), number_of(&absent_key(9)), number_of(b"short")), (Some(9), None, None));
        assert!(key(255) < absent_key(255) && absent_key(255) < key(256));
    }

    #[test]
    fn a_read_sees_what_was_written_and_nothing_else() {
        let (model, mut scratch) = (Model::new(10, 2, 100), Vec::new());
        let mut check = |number, least, found: Option<&[u8]>| model.check(number, least, found, &mut scratch);
        assert!(check(3, model.least(3), Some(&value(3, 1))).is_ok());
        for (wrong, why) in
            [(value(3, 2), "must have"), (value(4, 1), "never written"), (value(3, 1)[1..].to_vec(), "never")]
        {
            assert!(check(3, 1, Some(&wrong)).unwrap_err().contains(why));
        }
        assert!(check(3, 1, None).is_err() && check(11, model.least(11), None).is_ok());
        // While a write is under way both values may be seen, afterwards the new one alone.
        let mut next = Vec::new();
        model.next_value(3, &mut next);
        assert_eq!(next, value(3, 2));
        let least = model.least(3);
        assert!(check(3, least, Some(&next)).is_ok() && check(3, least, Some(&value(3, 1))).is_ok());
        model.wrote(3);
        assert!(check(3, model.least(3), Some(&value(3, 1))).is_err());
    }

    #[test]
    fn every_bit_of_a_value_counts() {
        let (model, mut scratch) = (Model::new(1, 0, 100), Vec::new());
        for bit in 0..800 {
            let mut damaged = value(0, 1);
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(model.check(0, 1, Some(&damaged), &mut scratch).is_err(), "bit {bit}");
        }
    }

    /// A scan of these numbers.
    fn scan(model: &Model, first: u64, numbers: &[u64], is_backward: bool) -> Result<(), Wrong> {
        let (mut check, mut scratch) = (RowCheck::new(model, first, &[], is_backward), Vec::new());
        for number in numbers {
            check.row(&key(*number), &value(*number, model.least(*number)), &mut scratch)?;
        }
        check.end()
    }

    #[test]
    fn a_scan_lacks_nothing_and_is_in_order() {
        let model = Model::new(5, 3, 100);
        assert!(scan(&model, 0, &[0, 1, 2, 3, 4], false).is_ok() && scan(&model, 0, &[4, 3, 2, 1, 0], true).is_ok());
        assert!(scan(&model, 2, &[2, 3, 4], false).is_ok());
        for (numbers, is_backward) in [
            (&[0, 1, 3, 4][..], false),
            (&[0, 1, 2, 3], false),
            (&[0, 2, 1, 3, 4], false),
            (&[0, 0, 1, 2, 3, 4], false),
            (&[4, 3, 1, 0], true),
            (&[3, 2, 1, 0], true),
            (&[4, 3, 2, 1], true),
            (&[], false),
        ] {
            assert!(scan(&model, 0, numbers, is_backward).is_err(), "{numbers:?}");
        }
        let (mut check, mut scratch) = (RowCheck::new(&model, 0, &[], false), Vec::new());
        assert!(check.row(&absent_key(0), &value(0, 1), &mut scratch).is_err());
        assert!(check.row(&key(1000), &value(0, 1), &mut scratch).is_err());
    }

    #[test]
    fn a_scan_beside_writers_is_held_against_what_was_done_when_it_began() {
        let (model, mut next) = (Model::new(5, 3, 100), Vec::new());
        let least: Vec<u32> = (3..8).map(|number| model.least(number)).collect();
        // Inserted behind the moment of the iterator: it may lack the key.
        model.next_value(5, &mut next);
        model.wrote(5);
        let rows = |numbers: &[u64]| {
            let (mut check, mut scratch) = (RowCheck::new(&model, 3, &least, false), Vec::new());
            numbers.iter().try_for_each(|number| check.row(&key(*number), &value(*number, 1), &mut scratch))?;
            check.end()
        };
        assert_eq!((rows(&[3, 4]), rows(&[3, 4, 5])), (Ok(()), Ok(())));
        assert!(rows(&[3, 5]).is_err());
    }
}
