//! Key orders, and the keys of each: a comparator gets no others to see.

use crate::keys;
use ferrock::Comparator;
use ferrock_base::comparator::CustomComparator;
use std::cmp::Ordering;
use std::sync::{Arc, Mutex, OnceLock};

/// Key orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As bytes.
    Bytewise,
    /// As bytes, downwards.
    Reverse,
    /// Short keys first: a comparator that the engine does not know.
    LengthFirst,
    /// As bytes without their lowest bits: keys of different bytes may be equal.
    Folding,
    /// Keys of eight bytes, as bytes. A comparator that could not stand any other key.
    EightBytes,
}

/// What a comparator for keys of eight bytes was asked about beside them.
static STRAY: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// A key that a comparator was asked about although it cannot be in its family.
pub fn take_stray() -> Option<Vec<u8>> {
    STRAY.lock().unwrap().take()
}

impl Order {
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytewise | Self::EightBytes => a.cmp(b),
            Self::Reverse => b.cmp(a),
            Self::LengthFirst => (a.len(), a).cmp(&(b.len(), b)),
            Self::Folding => a.iter().map(|byte| byte >> 1).cmp(b.iter().map(|byte| byte >> 1)),
        }
    }

    pub fn comparator(self) -> Comparator {
        match self {
            Self::Bytewise => Comparator::Bytewise,
            Self::Reverse => Comparator::ReverseBytewise,
            custom => Comparator::Custom(Arc::new(Custom(custom))),
        }
    }

    /// True for an order that a database does not open with by itself.
    pub fn is_custom(self) -> bool {
        !matches!(self, Self::Bytewise | Self::Reverse)
    }

    /// A key by its index, below [`keys::COUNT`].
    pub fn key(self, index: usize) -> &'static [u8] {
        static NUMBERS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
        if self == Self::EightBytes {
            let make = || (0..keys::COUNT).map(|number| format!("{number:08}").into_bytes()).collect();
            return &NUMBERS.get_or_init(make)[index % keys::COUNT];
        }
        keys::key(index)
    }

    /// Bytes near a key, that the family can be asked about.
    pub fn twisted(self, index: usize, twist: u8) -> Vec<u8> {
        let mut bytes = self.key(index).to_vec();
        match (self, twist) {
            (_, 0) => {}
            (Self::EightBytes, twist) => bytes[7] = bytes[7].wrapping_add(twist.wrapping_mul(3)),
            (_, 1) => bytes.push(0),
            (_, 2) => drop(bytes.pop()),
            _ => bytes.push(0xff),
        }
        bytes
    }
}

struct Custom(Order);

impl CustomComparator for Custom {
    fn name(&self) -> &str {
        match self.0 {
            Order::LengthFirst => "test.LengthFirst",
            Order::Folding => "test.Folding",
            _ => "test.EightBytes",
        }
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.0 == Order::EightBytes
            && let Some(stray) = [a, b].into_iter().find(|key| key.len() != 8)
        {
            STRAY.lock().unwrap().get_or_insert_with(|| stray.to_vec());
        }
        self.0.compare(a, b)
    }

    fn can_keys_with_different_bytes_be_equal(&self) -> bool {
        self.0 != Order::EightBytes
    }
}
