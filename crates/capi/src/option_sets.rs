//! Options that are sets of small numbers, hints to the file system without effect here.

use crate::options::rocksdb_options_t;
use std::ffi::{c_int, c_uchar};

/// Functions of a set: clear, add, remove, contains, count.
macro_rules! option_sets {
    ($($set:ident: $clear:ident, $add:ident, $remove:ident, $contains:ident, $count:ident;)*) => {
        c_functions! {$(
            #[doc = "Empties a set of hints."]
            fn $clear(options: *mut rocksdb_options_t) {
                // SAFETY: the contract.
                if let Some(options) = unsafe { options.as_mut() } {
                    options.sets.$set.clear();
                }
            }

            #[doc = "Adds to a set of hints."]
            fn $add(options: *mut rocksdb_options_t, member: c_int) {
                // SAFETY: the contract.
                if let Some(options) = unsafe { options.as_mut() } {
                    options.sets.$set.insert(member);
                }
            }

            #[doc = "Takes from a set of hints."]
            fn $remove(options: *mut rocksdb_options_t, member: c_int) {
                // SAFETY: the contract.
                if let Some(options) = unsafe { options.as_mut() } {
                    options.sets.$set.remove(&member);
                }
            }

            #[doc = "Whether a set of hints has a member."]
            fn $contains(options: *mut rocksdb_options_t, member: c_int) -> c_uchar {
                // SAFETY: the contract.
                unsafe { options.as_ref() }.is_some_and(|options| options.sets.$set.contains(&member)).into()
            }

            #[doc = "How many members a set of hints has."]
            fn $count(options: *mut rocksdb_options_t) -> usize {
                // SAFETY: the contract.
                unsafe { options.as_ref() }.map_or(0, |options| options.sets.$set.len())
            }
        )*}
    };
}

option_sets! {
    checksum_handoff:
        rocksdb_options_checksum_handoff_file_types_clear,
        rocksdb_options_checksum_handoff_file_types_add,
        rocksdb_options_checksum_handoff_file_types_remove,
        rocksdb_options_checksum_handoff_file_types_contains,
        rocksdb_options_checksum_handoff_file_types_count;
    write_lifetime:
        rocksdb_options_calculate_sst_write_lifetime_hint_set_clear,
        rocksdb_options_calculate_sst_write_lifetime_hint_set_add,
        rocksdb_options_calculate_sst_write_lifetime_hint_set_remove,
        rocksdb_options_calculate_sst_write_lifetime_hint_set_contains,
        rocksdb_options_calculate_sst_write_lifetime_hint_set_count;
}
