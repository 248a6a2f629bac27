//! The data sets: which keys and values they have. A row is known by its ordinal.
//!
//! ```text
//!                     key                                        partitions   rows of each
//! large-part-ds1      u32be(pk ^ sign) u32be(ck ^ sign)          1            all; present ck = 2i+1, missing ck = 2i
//! sb-large-part-ds1   u64be(pk ^ sign) u64be(ck ^ sign)          1            all; ck = i
//! small-part          u64be(hash64(pk)) u32be(pk ^ sign)         all          1; visited in the order of the hashes
//! sb-small-part       u64be(pk ^ sign) u64be(ck = 0 ^ sign)      all          1
//! value               random bytes, made once and repeated in every row; with --unique-values each its own
//! ```

use ferrock_base::coding::put_fixed64;
use ferrock_base::hash::hash64;
use ferrock_base::random::Random;
use std::ops::Deref;

/// Bytes of the longest key with the zero byte that makes its successor.
const MAX_KEY_BYTES: usize = 17;

/// A key, or a bound made of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, PartialOrd, Ord)]
pub struct Key {
    bytes: [u8; MAX_KEY_BYTES],
    length: u8,
}

impl Key {
    fn of(parts: &[&[u8]]) -> Self {
        let mut key = Self::default();
        for part in parts {
            let at = usize::from(key.length);
            key.bytes[at..at + part.len()].copy_from_slice(part);
            key.length += part.len() as u8;
        }
        key
    }

    /// A key of a table; `None` when it is longer than those of the data sets.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= MAX_KEY_BYTES).then(|| Self::of(&[bytes]))
    }

    /// The first key behind this one.
    #[must_use]
    pub fn successor(mut self) -> Self {
        // Keys of the data sets leave room for the zero byte, which is there already.
        self.length = (self.length + 1).min(MAX_KEY_BYTES as u8);
        self
    }
}

impl Deref for Key {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Which data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "the names that users give them")]
pub(crate) enum Kind {
    LargePart,
    SmallPart,
    SbLargePart,
    SbSmallPart,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::LargePart, Self::SmallPart, Self::SbLargePart, Self::SbSmallPart];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LargePart => "large-part-ds1",
            Self::SmallPart => "small-part",
            Self::SbLargePart => "sb-large-part-ds1",
            Self::SbSmallPart => "sb-small-part",
        }
    }

    /// Those that run when none is named.
    pub(crate) fn is_default(self) -> bool {
        matches!(self, Self::LargePart | Self::SmallPart)
    }

    /// One partition with all rows.
    pub(crate) fn is_large(self) -> bool {
        matches!(self, Self::LargePart | Self::SbLargePart)
    }

    /// Between every two rows there is room for another one.
    pub(crate) fn has_missing_rows(self) -> bool {
        self == Self::LargePart
    }

    /// Bytes of a key that name its partition.
    pub(crate) fn prefix_bytes(self) -> usize {
        match self {
            Self::LargePart => 4,
            Self::SmallPart => 12,
            Self::SbLargePart | Self::SbSmallPart => 8,
        }
    }

    fn key_of(self, pk: i64, ck: i64) -> Key {
        let int = |value: i64| ((value as i32 as u32) ^ (1 << 31)).to_be_bytes();
        let bigint = |value: i64| ((value as u64) ^ (1 << 63)).to_be_bytes();
        match self {
            Self::LargePart => Key::of(&[&int(pk), &int(ck)]),
            Self::SmallPart => Key::of(&[&hash64(&int(pk)).to_be_bytes(), &int(pk)]),
            Self::SbLargePart | Self::SbSmallPart => Key::of(&[&bigint(pk), &bigint(ck)]),
        }
    }
}

/// A data set of a size.
#[derive(Clone, Debug)]
pub(crate) struct DataSet {
    pub(crate) kind: Kind,
    pub(crate) rows: i64,
    /// `small-part`: the partitions in the order of their keys.
    order: Vec<u32>,
    value: Vec<u8>,
    unique: Option<u64>,
}

impl DataSet {
    pub(crate) fn new(kind: Kind, rows: u32, value_size: usize, unique_values: bool, seed: u64) -> Self {
        let mut order = Vec::new();
        if kind == Kind::SmallPart {
            order = (0..rows).collect();
            order.sort_by_cached_key(|pk| kind.key_of(i64::from(*pk), 0));
        }
        let mut value = Vec::new();
        fill(&mut value, value_size, seed);
        Self { kind, rows: i64::from(rows), order, value, unique: unique_values.then_some(seed) }
    }

    /// The key of a row; there is one for every ordinal, also outside the data set.
    pub(crate) fn key(&self, ordinal: i64) -> Key {
        match self.kind {
            Kind::LargePart => self.kind.key_of(0, 2 * ordinal + 1),
            Kind::SbLargePart => self.kind.key_of(0, ordinal),
            Kind::SbSmallPart => self.kind.key_of(ordinal, 0),
            Kind::SmallPart => match usize::try_from(ordinal).ok().and_then(|index| self.order.get(index)) {
                Some(pk) => self.kind.key_of(i64::from(*pk), 0),
                None if ordinal < 0 => Key::default(),
                None => Key::of(&[&[0xff; 13]]),
            },
        }
    }

    /// The key before the row that no row has. Only where [`Kind::has_missing_rows`].
    pub(crate) fn missing(&self, ordinal: i64) -> Key {
        self.kind.key_of(0, 2 * ordinal)
    }

    /// From the first possible key of the large partition to the first one behind it.
    pub(crate) fn partition(&self) -> (Key, Key) {
        let prefix = |pk: i64| Key::of(&[&self.kind.key_of(pk, 0)[..self.kind.prefix_bytes()]]);
        (prefix(0), prefix(1))
    }

    /// The value of a row; `scratch` is where it is made when it is its own.
    pub(crate) fn value<'a>(&'a self, ordinal: i64, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        match self.unique {
            None => &self.value,
            Some(seed) => {
                fill(scratch, self.value.len(), seed ^ (ordinal as u64).rotate_left(32));
                scratch
            }
        }
    }
}

fn fill(value: &mut Vec<u8>, size: usize, seed: u64) {
    let mut random = Random::new(seed);
    value.clear();
    while value.len() < size {
        put_fixed64(value, random.next_u64());
    }
    value.truncate(size);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_and_lie_in_their_partition() {
        for kind in Kind::ALL {
            let data = DataSet::new(kind, 1000, 10, false, 1);
            let keys: Vec<Key> = (-1..=1000).map(|ordinal| data.key(ordinal)).collect();
            assert!(keys.windows(2).all(|pair| pair[0][..] < pair[1][..]), "{kind:?}");
            assert!(keys.iter().all(|key| key.successor()[..] > key[..] && key.successor().len() == key.len() + 1));
            if kind.is_large() {
                let (from, to) = data.partition();
                assert!(keys.iter().all(|key| key[..] > from[..] && key[..] < to[..]), "{kind:?}");
                assert_eq!(from.len(), kind.prefix_bytes());
            }
        }
        let data = DataSet::new(Kind::LargePart, 10, 10, false, 1);
        assert_eq!(data.key(0)[..], [0x80, 0, 0, 0, 0x80, 0, 0, 1]);
        assert!(data.missing(5)[..] < data.key(5)[..] && data.missing(5)[..] > data.key(4)[..]);
    }

    #[test]
    fn values_repeat_unless_they_are_to_be_unique() {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let same = DataSet::new(Kind::LargePart, 10, 100, false, 7);
        assert_eq!(same.value(1, &mut first), same.value(2, &mut second));
        assert_eq!(same.value(1, &mut first).len(), 100);
        let unique = DataSet::new(Kind::LargePart, 10, 100, true, 7);
        assert_ne!(unique.value(1, &mut first), unique.value(2, &mut second));
        assert_eq!(unique.value(3, &mut first), unique.value(3, &mut second));
    }
}
