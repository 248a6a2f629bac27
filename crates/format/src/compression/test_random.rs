//! Random numbers for tests of codecs, as indices, and how many cases a test tries.

use ferrock_base::random::Random;

/// [`Random`] for indices.
pub(super) struct TestRandom(Random);

impl TestRandom {
    pub(super) fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    pub(super) fn next(&mut self) -> usize {
        self.0.next_u64() as usize
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0.below(end as u64) as usize
    }

    /// Below a random power of two.
    pub(super) fn small(&mut self, bits: usize) -> usize {
        let bits = self.below(bits);
        self.below(1 << bits)
    }
}

/// The first under Miri, which is some hundred times slower and looks for what one case of a kind shows; otherwise the
/// second.
pub(super) fn under_miri<T>(small: T, usual: T) -> T {
    if cfg!(miri) { small } else { usual }
}

/// How many cases a test tries: so many in a debug build and in a release build, and few under Miri.
pub(super) fn cases(debug: usize, release: usize) -> usize {
    if cfg!(miri) {
        debug.div_ceil(200)
    } else if cfg!(debug_assertions) {
        debug
    } else {
        release
    }
}
