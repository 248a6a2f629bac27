//! Keys before which an output ends, whatever its size.
//!
//! ```text
//! old inputs of the output level    [c ..... f]           [m .. p]
//! cursor of the output level                        k
//! outputs                   [a  b)[c      f)[g   i)[k l)[m .. p)[q ...
//! ```
//!
//! * An input of the output level that has lived for half of the `ttl` becomes outputs of its own: what is old stays
//!   apart from what is young, or the young would be taken along when the old is due. Small files are left alone, so
//!   that there is no flood of them.
//! * With round robin the next compaction out of the output level begins at its cursor: a file that spans the cursor
//!   would have its turn too early or too late.
//!
//! An edge counts when a key lies behind it: between two keys that pass a whole input nothing is cut.

use ferrock_base::comparator::InternalComparator;

/// The edges that the keys of a compaction meet.
#[derive(Debug, Default)]
pub struct RequiredEdges {
    /// Smallest and largest internal key of each, in the order of keys.
    old_inputs: Vec<(Vec<u8>, Vec<u8>)>,
    /// The old input that the last key lies in, or else the next one.
    index: usize,
    is_inside: bool,
    cursor: Option<Vec<u8>>,
}

impl RequiredEdges {
    /// Edges of `old_inputs` (smallest and largest internal keys, in order, not overlapping) and `cursor`, an internal
    /// key.
    #[must_use]
    pub fn new(old_inputs: Vec<(Vec<u8>, Vec<u8>)>, cursor: Option<Vec<u8>>) -> Self {
        Self { old_inputs, index: 0, is_inside: false, cursor }
    }

    /// True when an edge lies between the key of the call before and `key`. To be called for each key, in order.
    #[inline]
    pub(super) fn is_passed(&mut self, order: &InternalComparator, key: &[u8]) -> bool {
        let is_empty = self.cursor.is_none() && self.old_inputs.is_empty();
        !is_empty && self.passes(order, key)
    }

    fn passes(&mut self, order: &InternalComparator, key: &[u8]) -> bool {
        let is_cursor_passed = self.cursor.as_ref().is_some_and(|cursor| order.compare(key, cursor).is_ge());
        if is_cursor_passed {
            self.cursor = None;
        }
        let was_inside = self.is_inside;
        let was_at = self.index;
        while let Some((_, largest)) = self.old_inputs.get(self.index)
            && order.compare(key, largest).is_gt()
        {
            self.index += 1;
        }
        self.is_inside =
            self.old_inputs.get(self.index).is_some_and(|(smallest, _)| order.compare(key, smallest).is_ge());
        let has_moved = self.index != was_at;
        is_cursor_passed || if was_inside { has_moved } else { self.is_inside }
    }
}
