//! Every version of every key: what tools that look below the surface (`ldb idump`) show.

use super::iter_source::children;
use crate::column_family::{ColumnFamily, SuperVersion};
use crate::options::ReadOptions;
use ferrock_base::internal_key::{ParsedInternalKey, make_internal_key};
use ferrock_base::iterator::InternalIterator;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_base::{Comparator, Result, SequenceNumber};
use ferrock_table::ScanBounds;
use ferrock_tree::iterator::MergingIterator;
use ferrock_tree::iterator::tables::Child;
use ferrock_vfs::IoActivity;
use std::sync::Arc;

/// One version of a key, as it is stored: an operand of a merge is an operand, a deletion is there, a value in a blob
/// file is a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyVersion<'a> {
    /// The key.
    pub user_key: &'a [u8],
    /// When it was written; 0 when no snapshot can tell any more.
    pub sequence: SequenceNumber,
    /// What it is.
    pub value_type: ValueType,
    /// The value as stored.
    pub value: &'a [u8],
}

/// Goes over all versions of keys, in the order of keys and within one from the newest to the oldest. Range tombstones
/// are not among them, and do not hide what they delete.
pub struct KeyVersions {
    inner: MergingIterator<Child>,
    order: Comparator,
    end: Option<Vec<u8>>,
    /// What the children read lives as long as this.
    _pinned: Arc<SuperVersion>,
}

impl std::fmt::Debug for KeyVersions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyVersions").field("end", &self.end).finish_non_exhaustive()
    }
}

/// See [`Db::key_versions`].
pub(crate) fn key_versions(family: &ColumnFamily, begin: Option<&[u8]>, end: Option<&[u8]>) -> Result<KeyVersions> {
    let pinned = family.data.super_version.load();
    let children = children(
        &family.data,
        &pinned,
        ReadOptions::default().for_table(IoActivity::Unknown),
        ScanBounds::default(),
        false,
    )?;
    let order = family.data.comparator.clone();
    let mut inner = MergingIterator::new(order.clone(), children);
    match begin {
        Some(begin) => inner.seek(&make_internal_key(begin, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK)),
        None => inner.seek_to_first(),
    }
    let end = end.map(<[u8]>::to_vec);
    Ok(KeyVersions { inner, order: order.user().clone(), end, _pinned: pinned })
}

impl KeyVersions {
    /// The version that the iterator stands on; `None` at the end.
    ///
    /// # Errors
    /// `Corruption` for an internal key that is none, and whatever ended the iteration before its end.
    pub fn current(&self) -> Result<Option<KeyVersion<'_>>> {
        if !self.inner.valid() {
            self.inner.status()?;
            return Ok(None);
        }
        let key = ParsedInternalKey::parse(self.inner.key())?;
        if self.end.as_ref().is_some_and(|end| self.order.compare(key.user_key, end).is_ge()) {
            return Ok(None);
        }
        let value = self.inner.value();
        Ok(Some(KeyVersion { user_key: key.user_key, sequence: key.sequence, value_type: key.value_type, value }))
    }

    /// Goes to the next version.
    pub fn advance(&mut self) {
        self.inner.next();
    }
}
