//! The merge operator of a family whose values have times, around that of the caller: it sees neither, and the result
//! has the time of the merge.

use crate::suffix::{split, suffix_of_now};
use ferrock_base::clock::Clock;
use ferrock_base::merge::MergeOperator;
use std::sync::Arc;

/// See the head of the module.
pub(crate) struct TtlMergeOperator {
    pub(crate) user: Arc<dyn MergeOperator>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The bytes of the caller in each operand; `None` when one has no time.
fn without_times<'a>(operands: &[&'a [u8]]) -> Option<Vec<&'a [u8]>> {
    operands.iter().map(|operand| split(operand).map(|(bytes, _)| bytes)).collect()
}

impl MergeOperator for TtlMergeOperator {
    fn name(&self) -> &str {
        "TtlMergeOperator"
    }

    fn options_id(&self) -> String {
        format!("{{id=TtlMergeOperator;user_operator={};}}", self.user.options_id())
    }

    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let existing = match existing.map(split) {
            None => None,
            Some(Some((value, _))) => Some(value),
            Some(None) => return false,
        };
        let Some(operands) = without_times(operands) else { return false };
        if !self.user.full_merge(key, existing, &operands, out) {
            return false;
        }
        out.extend_from_slice(&suffix_of_now(&*self.clock));
        true
    }

    fn partial_merge(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let Some(operands) = without_times(operands) else { return false };
        if !self.user.partial_merge(key, &operands, out) {
            return false;
        }
        out.extend_from_slice(&suffix_of_now(&*self.clock));
        true
    }

    fn allow_single_operand(&self) -> bool {
        self.user.allow_single_operand()
    }
}
