//! Makes keys from numbers, byte for byte as RocksDB's db_bench does, so that each program can read a database filled
//! by the other.
//!
//! ```text
//! key    := [prefix] number zeros
//! prefix := the low min(prefix_size, 8) bytes of (number mod prefixes), big-endian, then '0' up to prefix_size
//! number := its low min(what is left, 8) bytes, big-endian
//! zeros  := '0' up to key_size
//! ```

use crate::settings::Settings;

/// Makes keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    size: usize,
    prefix_size: usize,
    /// 0: there is no prefix part.
    prefixes: u64,
}

fn append_low_bytes(key: &mut Vec<u8>, number: u64, count: usize) {
    let count = count.min(8);
    key.extend_from_slice(&number.to_be_bytes()[8 - count..]);
}

impl Keys {
    /// Keys as the flags describe them.
    pub(crate) fn new(settings: &Settings) -> Self {
        let prefixes = settings.num.checked_div(settings.keys_per_prefix).map_or(0, |prefixes| prefixes.max(1));
        Self { size: settings.key_size, prefix_size: settings.prefix_size, prefixes }
    }

    /// Keys that no benchmark writes: a byte longer.
    pub(crate) fn longer(self) -> Self {
        Self { size: self.size + 1, ..self }
    }

    /// Puts the key of a number into `key`.
    #[inline]
    pub(crate) fn make(&self, number: u64, key: &mut Vec<u8>) {
        key.clear();
        if self.prefixes > 0 {
            append_low_bytes(key, number % self.prefixes, self.prefix_size);
            key.resize(self.prefix_size, b'0');
        }
        append_low_bytes(key, number, self.size - key.len());
        key.resize(self.size, b'0');
    }

    /// How many keys differ: short keys repeat.
    pub(crate) fn is_ambiguous(&self, num: u64) -> bool {
        let prefix = if self.prefixes > 0 { self.prefix_size } else { 0 };
        let bytes = (self.size - prefix).min(8);
        bytes < 8 && num > 1 << (8 * bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(size: usize, prefix_size: usize, prefixes: u64, number: u64) -> Vec<u8> {
        let mut key = Vec::new();
        Keys { size, prefix_size, prefixes }.make(number, &mut key);
        key
    }

    #[test]
    fn the_bytes_of_rocksdb() {
        assert_eq!(key(16, 0, 0, 0x0102), b"\0\0\0\0\0\0\x01\x0200000000");
        assert_eq!(key(8, 0, 0, 7), [0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(key(4, 0, 0, 0x0102_0304_0506), [3, 4, 5, 6]);
        assert_eq!(key(20, 2, 10, 23), b"\0\x03\0\0\0\0\0\0\0\x170000000000");
        assert_eq!(key(20, 10, 10, 23), b"\0\0\0\0\0\0\0\x0300\0\0\0\0\0\0\0\x1700");
        assert_eq!(key(3, 3, 10, 23), [0, 0, 3]);
        let keys = Keys { size: 4, prefix_size: 0, prefixes: 0 };
        assert_eq!(key(5, 0, 0, 9).len(), keys.longer().size);
    }

    #[test]
    fn short_keys_repeat() {
        assert!(!Keys { size: 16, prefix_size: 4, prefixes: 3 }.is_ambiguous(u64::MAX));
        assert!(Keys { size: 2, prefix_size: 0, prefixes: 0 }.is_ambiguous(65_537));
        assert!(!Keys { size: 2, prefix_size: 0, prefixes: 0 }.is_ambiguous(65_536));
        assert!(Keys { size: 4, prefix_size: 4, prefixes: 2 }.is_ambiguous(2));
    }
}
