//! How the entries of an index block are encoded.

use ferrock_base::internal_key::user_key;

/// The encoding of index blocks, from the table's properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexFormat {
    /// Keys are user keys; otherwise internal keys.
    pub key_is_user_key: bool,
    /// Values are handles encoded as differences.
    pub value_is_delta_encoded: bool,
    /// Values end in the first internal key of their data block (index type 3).
    pub has_first_key: bool,
}

impl IndexFormat {
    /// The user key of a stored key.
    #[inline]
    pub(super) fn user_key<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        if self.key_is_user_key { key } else { user_key(key) }
    }
}
