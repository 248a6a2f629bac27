//! Many strings in one allocation.

/// Byte strings behind one another.
#[derive(Debug, Default)]
pub(super) struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    pub(super) fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    /// Number of strings.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all strings.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }
}
