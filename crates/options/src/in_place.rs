//! What a put makes of the value that is there: RocksDB's `inplace_callback`.

use std::fmt;

/// Turns each put of a family with `inplace_update_support` into a change of the value that is there.
///
/// The log and the memtable get what the callback returns, so that a database is recovered without it. Batches of a
/// database with such a family are written one at a time. RocksDB logs the changes: flush its memtables before Ferrock
/// opens a directory that RocksDB wrote with a callback.
///
/// ```
/// use ferrock_options::{ColumnFamilyOptions, InPlaceCallback};
/// use std::sync::Arc;
///
/// /// Adds up what is put.
/// struct Sum;
///
/// impl InPlaceCallback for Sum {
///     fn update(&self, existing: Option<&[u8]>, delta: &[u8]) -> Option<Vec<u8>> {
///         let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
///         let sum = existing.and_then(number).unwrap_or(0).wrapping_add(number(delta)?);
///         Some(sum.to_le_bytes().to_vec())
///     }
/// }
///
/// let mut options = ColumnFamilyOptions::default();
/// options.inplace_update_support = true;
/// options.inplace_callback = Some(Arc::new(Sum));
/// ```
pub trait InPlaceCallback: Send + Sync {
    /// The new value of a key whose value is `existing`, if it has one, when `delta` is put; `None`: the put changes
    /// nothing. Called by the thread that writes, one call at a time.
    fn update(&self, existing: Option<&[u8]>, delta: &[u8]) -> Option<Vec<u8>>;
}

impl fmt::Debug for dyn InPlaceCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InPlaceCallback")
    }
}
