//! Puts that are changes (`inplace_callback`): the thread that leads the write queue asks the family's callback what
//! each of them makes of the value that is there, and the log and the memtable get the answer.
//!
//! ```text
//! batch of the caller   put k +1 | delete m | put k +1        what is there: k = 5
//! batch that is written put k 6  | delete m | put k 7         the caller gets its own batch back
//! ```
//!
//! RocksDB logs the change, and its recovery fails on one whose key is not in the memtable that it recovers. A log of
//! values needs no callback.
//!
//! A put sees what the records before it in its batch did, and the batches before it: no batch joins the group of
//! another one in a database that has such a family.

use super::{DbCore, search};
use crate::column_family::{ColumnFamilyData, FamilyMap};
use crate::options::ReadOptions;
use crate::write::insert::copy_record;
use crate::write::request::WriteRequest;
use ferrock_base::{Error, Result};
use ferrock_format::write_batch::{Record, WriteBatch};
use ferrock_options::InPlaceCallback;
use ferrock_tree::read::PinnedValue;
use ferrock_tree::read::merge::{MergeBase, full_merge};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Replaces the batch of a request by the one to be written, and returns the caller's own; `None` where they are the
/// same. The caller leads the write queue and has logged nothing yet.
///
/// # Errors
/// Those of reading what is there; `NotSupported` for a change of what an entity or a blob of the same batch wrote.
pub(super) fn resolve(core: &DbCore, families: &FamilyMap, request: &mut WriteRequest) -> Result<Option<WriteBatch>> {
    let WriteRequest::Batch { batch, .. } = request else { return Ok(None) };
    let mut resolver = Resolver {
        core,
        families,
        known: BTreeMap::new(),
        deleted: Vec::new(),
        out: WriteBatch::with_capacity(batch.byte_size()),
    };
    for record in batch.iter() {
        resolver.add(&record?)?;
    }
    Ok(Some(std::mem::replace(batch, resolver.out)))
}

/// What a record of the batch left of a key.
enum Known {
    Value(Vec<u8>),
    Absent,
    /// An entity or a reference to a blob.
    Other,
}

struct Resolver<'a> {
    core: &'a DbCore,
    families: &'a FamilyMap,
    known: BTreeMap<(u32, Vec<u8>), Known>,
    /// Ranges that the batch deletes; keys that it wrote behind them are known.
    deleted: Vec<(u32, Vec<u8>, Vec<u8>)>,
    out: WriteBatch,
}

/// The callback of a family whose puts are changes.
fn callback_of(data: &ColumnFamilyData) -> Option<Arc<dyn InPlaceCallback>> {
    let options = data.options.load();
    options.inplace_callback.clone().filter(|_| options.inplace_update_support)
}

impl Resolver<'_> {
    fn add(&mut self, record: &Record<'_>) -> Result<()> {
        let id = record.column_family();
        let data = id.and_then(|id| self.families.get(id)).cloned();
        let Some((data, callback)) = data.and_then(|data| Some((Arc::clone(&data), callback_of(&data)?))) else {
            return copy_record(&mut self.out, record);
        };
        match *record {
            Record::Put { column_family, key, value } => {
                let existing = self.value_of(&data, key)?;
                if let Some(value) = callback.update(existing.as_deref(), value) {
                    self.out.put_cf(column_family, key, &value)?;
                    self.learn(&data, key, Known::Value(value));
                }
                return Ok(());
            }
            Record::Delete { key, .. } | Record::SingleDelete { key, .. } => self.learn(&data, key, Known::Absent),
            Record::Merge { key, operand, .. } => {
                let existing = self.value_of(&data, key)?;
                let base = existing.as_deref().map_or(MergeBase::None, MergeBase::Value);
                let mut merged = Vec::new();
                full_merge(data.options.load().merge_operator.as_deref(), key, base, &[operand], &mut merged)?;
                self.learn(&data, key, Known::Value(merged));
            }
            Record::DeleteRange { begin, end, .. } => {
                let order = data.comparator.user();
                for ((id, key), known) in &mut self.known {
                    if *id == data.id && order.compare(key, begin).is_ge() && order.compare(key, end).is_lt() {
                        *known = Known::Absent;
                    }
                }
                self.deleted.push((data.id, begin.to_vec(), end.to_vec()));
            }
            Record::BlobIndex { key, .. } | Record::PutEntity { key, .. } | Record::TimedPut { key, .. } => {
                self.learn(&data, key, Known::Other);
            }
            _ => {}
        }
        copy_record(&mut self.out, record)
    }

    fn learn(&mut self, data: &ColumnFamilyData, key: &[u8], known: Known) {
        let key = self.spelling(data, key).unwrap_or_else(|| key.to_vec());
        self.known.insert((data.id, key), known);
    }

    /// As which bytes the batch has written a key.
    fn spelling(&self, data: &ColumnFamilyData, key: &[u8]) -> Option<Vec<u8>> {
        let order = data.comparator.user();
        if order.can_keys_with_different_bytes_be_equal() {
            let mut own = self.known.keys().filter(|(id, _)| *id == data.id);
            return own.find(|(_, other)| order.equal(other, key)).map(|(_, other)| other.clone());
        }
        Some(key.to_vec())
    }

    /// What is there when a record comes to be applied.
    fn value_of(&self, data: &ColumnFamilyData, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let known = self.spelling(data, key).and_then(|key| self.known.get(&(data.id, key)));
        match known {
            Some(Known::Value(value)) => return Ok(Some(value.clone())),
            Some(Known::Absent) => return Ok(None),
            Some(Known::Other) => {
                return Err(Error::not_supported(format!(
                    "column family {}: inplace_callback cannot change what an entity or a blob of the same batch wrote; \
                     write two batches",
                    data.name
                )));
            }
            None => {}
        }
        let order = data.comparator.user();
        let is_deleted = self.deleted.iter().any(|(id, begin, end)| {
            *id == data.id && order.compare(key, begin).is_ge() && order.compare(key, end).is_lt()
        });
        if is_deleted {
            return Ok(None);
        }
        let options = ReadOptions { fill_cache: false, ..ReadOptions::default() };
        Ok(search::get(self.core, data, &options, key)?.map(PinnedValue::into_vec))
    }
}
