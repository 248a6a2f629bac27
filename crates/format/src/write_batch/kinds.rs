//! Which kinds of record a batch holds: a second look at its records is for few of them.

use super::DEFAULT_COLUMN_FAMILY;
use ferrock_base::ValueType;

/// One bit for each tag (in its short form), and one for families besides the default one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordKinds(u32);

impl RecordKinds {
    /// True when some value of the batch may lie in a blob file.
    #[must_use]
    pub fn may_refer_to_blobs(self) -> bool {
        self.has(ValueType::BlobIndex) || self.has(ValueType::WideColumnEntity)
    }

    pub(super) fn add(&mut self, kind: ValueType) {
        self.0 |= 1 << kind as u8;
    }

    pub(super) fn add_family(&mut self, column_family: u32) {
        if column_family != DEFAULT_COLUMN_FAMILY {
            self.add(ValueType::ColumnFamilyValue);
        }
    }

    pub(super) fn add_all(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) fn has(self, kind: ValueType) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// True when there is no other kind.
    pub(super) fn are_all_of(self, kinds: &[ValueType]) -> bool {
        let mask = kinds.iter().fold(0u32, |mask, &kind| mask | 1 << kind as u8);
        self.0 & !mask == 0
    }
}
