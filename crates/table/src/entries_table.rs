//! A second kind of table, for tests: sorted entries, in memory as a whole once the file is open. It shows that nothing
//! above [`Table`](crate::Table) depends on blocks. No release build has it.
//!
//! ```text
//! (varint length, internal key, varint length, value) *    magic "entries!"
//! ```

use crate::reader::TableReaderParams;
use crate::value::ValueSource;
use ferrock_base::coding::{get_varint32, put_varint32};
use ferrock_base::internal_key::user_key;
use ferrock_base::iterator::VecIterator;
use ferrock_base::range_tombstone::FragmentedRangeTombstones;
use ferrock_base::{Error, FileNumber, InternalComparator, InternalIterator, LookupKey, ParsedInternalKey, Result};
use ferrock_format::properties::TableProperties;
use ferrock_vfs::{RandomAccessFile, ReadClass, ReadLabel, WritableFile};
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"entries!";

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// An open table of entries.
#[derive(Debug)]
pub struct EntriesTable {
    comparator: InternalComparator,
    entries: Arc<Entries>,
    properties: Arc<TableProperties>,
    file_number: FileNumber,
    file: Arc<dyn RandomAccessFile>,
}

impl EntriesTable {
    /// Writes entries, which are sorted, to an empty file; returns its size.
    ///
    /// # Errors
    /// The error of the file.
    pub fn write(mut file: Box<dyn WritableFile>, entries: &[(Vec<u8>, Vec<u8>)]) -> Result<u64> {
        let mut bytes = Vec::new();
        for part in entries.iter().flat_map(|(key, value)| [key, value]) {
            put_varint32(&mut bytes, u32::try_from(part.len()).unwrap_or(u32::MAX));
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(MAGIC);
        file.append(&bytes)?;
        file.sync()?;
        file.close()?;
        Ok(bytes.len() as u64)
    }

    /// The table, if the file is of this kind.
    pub(crate) fn open(params: &TableReaderParams) -> Result<Option<Arc<Self>>> {
        let size = usize::try_from(params.file.size()).unwrap_or(usize::MAX);
        let Some(start) = size.checked_sub(MAGIC.len()) else { return Ok(None) };
        let mut magic = [0; MAGIC.len()];
        let label = ReadLabel::whole(ReadClass::Other, magic.len());
        if params.file.read_at(start as u64, &mut magic, label)? < magic.len() || magic != *MAGIC {
            return Ok(None);
        }
        let mut bytes = vec![0; start];
        let label = ReadLabel::whole(ReadClass::Other, bytes.len());
        params.file.read_at(0, &mut bytes, label)?;
        let mut rest = &bytes[..];
        let mut entries = Entries::new();
        while !rest.is_empty() {
            entries.push((take(&mut rest)?, take(&mut rest)?));
        }
        let properties = TableProperties { num_entries: entries.len() as u64, ..TableProperties::default() };
        Ok(Some(Arc::new(Self {
            comparator: params.comparator.clone(),
            entries: Arc::new(entries),
            properties: Arc::new(properties),
            file_number: params.file_number,
            file: Arc::clone(&params.file),
        })))
    }

    pub(crate) fn get(
        &self,
        key: &LookupKey,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], ValueSource<'_>) -> bool,
    ) -> Result<()> {
        let first =
            self.entries.partition_point(|(entry, _)| self.comparator.compare(entry, key.internal_key()).is_lt());
        for (index, (entry, value)) in self.entries.iter().enumerate().skip(first) {
            if !self.comparator.user().equal(user_key(entry), key.user_key()) {
                break;
            }
            let pin = EntryPin { entries: Arc::clone(&self.entries), index };
            if !visit(ParsedInternalKey::parse(entry)?, value, ValueSource::Entries(&pin)) {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn iter(self: &Arc<Self>) -> EntriesIter {
        EntriesIter {
            iter: VecIterator::new(self.comparator.clone(), Arc::clone(&self.entries)),
            table: Arc::clone(self),
        }
    }

    pub(crate) fn range_tombstones(&self) -> Option<&Arc<FragmentedRangeTombstones>> {
        None
    }

    pub(crate) fn comparator(&self) -> &InternalComparator {
        &self.comparator
    }

    pub(crate) fn properties(&self) -> &Arc<TableProperties> {
        &self.properties
    }

    pub(crate) fn file_path(&self) -> &Path {
        self.file.path()
    }

    pub(crate) fn file_number(&self) -> FileNumber {
        self.file_number
    }

    /// As of a file in which all entries have one length.
    pub(crate) fn approximate_offset_of(&self, internal_key: &[u8]) -> Result<u64> {
        let before = self.entries.partition_point(|(entry, _)| self.comparator.compare(entry, internal_key).is_lt());
        Ok(self.file.size() * before as u64 / (self.entries.len() as u64).max(1))
    }

    pub(crate) fn approximate_size_between(&self, begin: &[u8], end: &[u8]) -> Result<u64> {
        Ok(self.approximate_offset_of(end)?.saturating_sub(self.approximate_offset_of(begin)?))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.entries.iter().map(|(key, value)| key.len() + value.len()).sum()
    }
}

fn take(rest: &mut &[u8]) -> Result<Vec<u8>> {
    let taken = get_varint32(rest).and_then(|(length, used)| {
        let part = rest.get(used..used + length as usize)?.to_vec();
        *rest = &rest[used + length as usize..];
        Some(part)
    });
    taken.ok_or_else(|| Error::corruption("an entry is cut off"))
}

/// A value of a table of entries.
#[derive(Clone, Debug)]
pub struct EntryPin {
    entries: Arc<Entries>,
    index: usize,
}

impl EntryPin {
    pub(crate) fn value(&self) -> &[u8] {
        self.entries.get(self.index).map_or(&[], |(_, value)| value)
    }
}

/// Moves over a table of entries.
#[derive(Debug)]
pub struct EntriesIter {
    iter: VecIterator,
    table: Arc<EntriesTable>,
}

impl EntriesIter {
    pub(crate) fn value_pin(&self) -> Option<EntryPin> {
        let entries = &self.table.entries;
        let index = entries.iter().position(|(key, _)| self.iter.valid() && *key == self.iter.key())?;
        Some(EntryPin { entries: Arc::clone(entries), index })
    }
}

impl InternalIterator for EntriesIter {
    fn valid(&self) -> bool {
        self.iter.valid()
    }
    fn key(&self) -> &[u8] {
        self.iter.key()
    }
    fn value(&self) -> &[u8] {
        self.iter.value()
    }
    fn seek_to_first(&mut self) {
        self.iter.seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.iter.seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        self.iter.seek(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.iter.seek_for_prev(target);
    }
    fn next(&mut self) {
        self.iter.next();
    }
    fn prev(&mut self) {
        self.iter.prev();
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
}
