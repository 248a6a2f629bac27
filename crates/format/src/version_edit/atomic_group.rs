//! Atomic groups: edits that count together or not at all.
//!
//! N consecutive edits carry N-1, N-2, ... 0 in tag 300. A group that the end of the MANIFEST cuts off was never
//! committed and is ignored.

use super::VersionEdit;
use ferrock_base::{Error, Result};

/// Holds the edits of an atomic group back until the group is complete.
#[derive(Clone, Debug, Default)]
pub struct AtomicGroupBuffer {
    pending: Vec<VersionEdit>,
    group_size: u64,
}

impl AtomicGroupBuffer {
    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next edit of a MANIFEST and returns the edits that are to be applied now: none while a group is
    /// incomplete, all of a group when it is complete, otherwise the edit itself.
    ///
    /// # Errors
    /// `Corruption` when a group's edits do not count down, or when an ordinary edit comes between them.
    pub fn push(&mut self, edit: VersionEdit) -> Result<Vec<VersionEdit>> {
        let Some(remaining) = edit.remaining_in_group else {
            if self.pending.is_empty() {
                return Ok(vec![edit]);
            }
            return Err(Error::corruption("corrupted atomic group: an ordinary edit between its edits"));
        };
        let size = self.pending.len() as u64 + 1 + u64::from(remaining);
        if self.pending.is_empty() {
            self.group_size = size;
        } else if size != self.group_size {
            return Err(Error::corruption(format!(
                "corrupted atomic group: edit {} of {} says that {remaining} follow",
                self.pending.len() + 1,
                self.group_size
            )));
        }
        self.pending.push(edit);
        Ok(if remaining == 0 { std::mem::take(&mut self.pending) } else { Vec::new() })
    }

    /// True when a group is incomplete: at the end of a MANIFEST its edits are to be ignored.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        !self.pending.is_empty()
    }
}
