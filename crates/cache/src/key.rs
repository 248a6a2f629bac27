//! Cache keys and their hash.

/// Names a cached block: 16 bytes that no two blocks of one cache share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheKey([u8; 16]);

impl CacheKey {
    /// The key of the block at `offset` of the file with the unique id `base`.
    ///
    /// The offset is combined with the second half by exclusive or: two blocks of one file never meet, and two files
    /// meet only when their ids differ by less than a file's length in that half and by nothing in the first.
    #[inline]
    #[must_use]
    pub fn new(base: (u64, u64), offset: u64) -> Self {
        Self::from_words(base.0, base.1 ^ offset)
    }

    /// The key with these 16 bytes.
    #[inline]
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes.
    #[inline]
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    #[inline]
    fn from_words(first: u64, second: u64) -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&first.to_le_bytes());
        bytes[8..].copy_from_slice(&second.to_le_bytes());
        Self(bytes)
    }

    /// A hash for shards and tables. Keys are structured (equal halves, offsets in steps), so every bit is mixed; the
    /// value is never stored.
    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        let word = |bytes: &[u8]| bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            (product as u64) ^ (product >> 64) as u64
        };
        let first = fold(word(&self.0[..8]) ^ 0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB);
        fold(first ^ word(&self.0[8..]) ^ 0x8EBC_6AF0_9C88_C6E3, 0x5895_60C9_2D5B_9A61)
    }
}
