//! Getters of what is told of memtables and of stalls.

use super::Text;
use ferrock::{MemTableInfo, WriteStallInfo};
use std::ffi::{c_char, c_int};

/// A memtable that takes no more writes.
pub struct rocksdb_memtableinfo_t {
    info: MemTableInfo,
    name: Text,
    newest_udt: Text,
}

impl rocksdb_memtableinfo_t {
    pub(super) fn new(info: &MemTableInfo) -> Self {
        let (name, newest_udt) = (Text::of_name(&info.column_family), Text::new(&info.newest_udt));
        Self { info: info.clone(), name, newest_udt }
    }
}

info_texts! {
    for rocksdb_memtableinfo_t:
    /// The column family.
    fn rocksdb_memtableinfo_cf_name = |info| &info.name;
    /// The newest timestamp: none, empty.
    fn rocksdb_memtableinfo_newest_udt = |info| &info.newest_udt;
}

info_numbers! {
    for rocksdb_memtableinfo_t:
    /// Sequence number of the first entry.
    fn rocksdb_memtableinfo_first_seqno -> u64 = |info| info.info.first_seqno.0;
    /// No entry has a smaller sequence number.
    fn rocksdb_memtableinfo_earliest_seqno -> u64 = |info| info.info.earliest_seqno.0;
    /// Entries.
    fn rocksdb_memtableinfo_num_entries -> u64 = |info| info.info.num_entries;
    /// Of them, deletions.
    fn rocksdb_memtableinfo_num_deletes -> u64 = |info| info.info.num_deletes;
}

/// How writers are treated: RocksDB's number, 0 slowed down, 1 stopped, 2 at full speed.
#[repr(C)]
pub struct rocksdb_writestallcondition_t(c_int);

/// Writers of a column family that are treated in another way.
pub struct rocksdb_writestallinfo_t {
    name: Text,
    current: rocksdb_writestallcondition_t,
    previous: rocksdb_writestallcondition_t,
}

impl rocksdb_writestallinfo_t {
    pub(super) fn new(info: &WriteStallInfo) -> Self {
        let [current, previous] = [info.current, info.previous].map(|condition| condition.number() as c_int);
        Self {
            name: Text::of_name(&info.column_family),
            current: rocksdb_writestallcondition_t(current),
            previous: rocksdb_writestallcondition_t(previous),
        }
    }
}

info_texts! {
    for rocksdb_writestallinfo_t:
    /// The column family.
    fn rocksdb_writestallinfo_cf_name = |info| &info.name;
}

info_parts! {
    for rocksdb_writestallinfo_t:
    /// The condition from now on.
    fn rocksdb_writestallinfo_cur -> rocksdb_writestallcondition_t = |info| &info.current;
    /// The condition until now.
    fn rocksdb_writestallinfo_prev -> rocksdb_writestallcondition_t = |info| &info.previous;
}
