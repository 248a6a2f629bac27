//! A reusable key: short ones lie inside it, so that a lookup allocates nothing.

const INLINE: usize = 104;

/// Bytes of the current key of a cursor.
#[derive(Clone, Debug)]
pub(crate) struct KeyBuffer {
    /// Of the key, wherever it is.
    length: usize,
    inline: [u8; INLINE],
    /// In use when the key did not fit.
    heap: Vec<u8>,
    spilled: bool,
}

impl Default for KeyBuffer {
    #[inline]
    fn default() -> Self {
        Self { length: 0, inline: [0; INLINE], heap: Vec::new(), spilled: false }
    }
}

impl KeyBuffer {
    #[inline]
    pub(crate) fn as_slice(&self) -> &[u8] {
        if self.spilled { &self.heap } else { &self.inline[..self.length] }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        if self.spilled { &mut self.heap } else { &mut self.inline[..self.length] }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.length = 0;
        self.spilled = false;
    }

    #[inline]
    pub(crate) fn set(&mut self, key: &[u8]) {
        self.clear();
        self.replace_tail(0, key);
    }

    /// Keeps the first `shared` bytes and appends `suffix`. `shared` must not be more than the length.
    #[inline(always)]
    pub(crate) fn replace_tail(&mut self, shared: usize, suffix: &[u8]) {
        let length = shared + suffix.len();
        if !self.spilled && length <= INLINE {
            self.inline[shared..length].copy_from_slice(suffix);
            self.length = length;
            return;
        }
        self.replace_tail_on_heap(shared, suffix);
    }

    #[inline(never)]
    fn replace_tail_on_heap(&mut self, shared: usize, suffix: &[u8]) {
        if !self.spilled {
            self.heap.clear();
            self.heap.extend_from_slice(&self.inline[..shared]);
            self.spilled = true;
        }
        self.heap.truncate(shared);
        self.heap.extend_from_slice(suffix);
        self.length = self.heap.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_vector(steps in prop::collection::vec((0usize..300, 0usize..200, any::<u8>()), 1..20)) {
            let mut model: Vec<u8> = Vec::new();
            let mut buffer = KeyBuffer::default();
            for (shared, length, byte) in steps {
                let shared = shared.min(model.len());
                model.truncate(shared);
                model.resize(shared + length, byte);
                buffer.replace_tail(shared, &vec![byte; length]);
                prop_assert_eq!(buffer.as_slice(), &model[..]);
            }
            buffer.set(b"abc");
            prop_assert_eq!(buffer.as_slice(), b"abc");
        }
    }
}
