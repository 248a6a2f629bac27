//! An open plain table and its lookups.

use super::bytes::{FileBytes, PlainValue};
use super::prefix_map::PrefixMap;
use super::starts::Starts;
use crate::value::ValueSource;
use ferrock_base::internal_key::{trailer, user_key};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::range_tombstone::FragmentedRangeTombstones;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{Error, FileNumber, InternalComparator, LookupKey, ParsedInternalKey, Result, ValueType};
use ferrock_format::plain_table::{
    Bucket, PlainBloom, PlainEncoding, PlainIndex, Record, RecordCursor, RecordForm, prefix_hash,
};
use ferrock_format::properties::TableProperties;
use ferrock_vfs::RandomAccessFile;
use std::cmp::Ordering;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// An open plain table.
#[derive(Debug)]
pub struct PlainTable {
    pub(super) comparator: InternalComparator,
    pub(super) bytes: Arc<FileBytes>,
    /// End of the records.
    pub(super) data_end: usize,
    pub(super) form: RecordForm,
    pub(super) lookup: Lookup,
    pub(super) index: Index,
    pub(super) filter: Option<Filter>,
    /// Offsets of all buckets together, once they were needed.
    pub(super) ordered: OnceLock<Box<[u32]>>,
    pub(super) properties: Arc<TableProperties>,
    pub(super) file_number: FileNumber,
    pub(super) file: Arc<dyn RandomAccessFile>,
}

/// How a key is looked up.
#[derive(Debug)]
pub(super) enum Lookup {
    /// By the order of all keys. The filter, if there is one, has user keys.
    Ordered,
    /// By the hash of its prefix. The filter, if there is one, has prefixes.
    Hashed(PrefixExtractor),
}

/// Which records reading can begin at.
#[derive(Debug)]
pub(super) enum Index {
    /// As the format has it, with a filter before it or none: stored in the file, or made for a table without prefixes.
    Block(PlainIndex, Place),
    /// Made for a table with prefixes. It filters, too.
    Map(PrefixMap),
}

/// Where the bytes of a block are.
#[derive(Debug)]
pub(super) enum Place {
    InFile(Range<usize>),
    Made(Vec<u8>),
}

#[derive(Debug)]
pub(super) struct Filter {
    pub(super) shape: PlainBloom,
    pub(super) place: Place,
}

impl Place {
    #[inline]
    fn bytes<'a>(&'a self, file: &'a [u8]) -> &'a [u8] {
        match self {
            Self::InFile(place) => file.get(place.clone()).unwrap_or(&[]),
            Self::Made(bytes) => bytes,
        }
    }

    fn memory_bytes(&self) -> usize {
        if let Self::Made(bytes) = self { bytes.len() } else { 0 }
    }
}

impl PlainTable {
    /// The bytes of the records.
    #[inline]
    pub(super) fn data(&self) -> &[u8] {
        self.bytes.get(..self.data_end).unwrap_or(&[])
    }

    /// Every place that the index names.
    pub(super) fn starts(&self) -> Result<Starts<'_>> {
        if let Index::Block(layout, place) = &self.index
            && layout.buckets() == 1
            && let Bucket::Many(offsets) = layout.bucket(place.bytes(&self.bytes), 0)?
        {
            return Ok(Starts::OfBucket(offsets));
        }
        if let Some(all) = self.ordered.get() {
            return Ok(Starts::OfTable(all));
        }
        let all = match &self.index {
            Index::Block(layout, place) => layout.all_offsets(place.bytes(&self.bytes))?,
            Index::Map(map) => map.all_offsets(),
        };
        Ok(Starts::OfTable(self.ordered.get_or_init(|| all.into_boxed_slice())))
    }

    /// The record at a place that reading can begin at.
    #[inline]
    fn record_at(&self, start: usize) -> Result<Record> {
        let record = self.form.decode(self.data(), start, &mut None)?;
        if !record.is_full {
            return Err(Error::corruption("the index names a record without its whole key").at_offset(start as u64));
        }
        Ok(record)
    }

    #[inline]
    fn key_of(&self, record: &Record) -> &[u8] {
        self.data().get(record.key.clone()).unwrap_or(&[])
    }

    /// How an entry stands to a target: newer entries of a key come first.
    #[inline]
    fn compare(&self, key: &[u8], entry_trailer: u64, target: &[u8]) -> Ordering {
        let order = self.comparator.user().compare(key, user_key(target));
        order.then_with(|| trailer(target).cmp(&entry_trailer))
    }

    /// The number of starts whose entries lie before the target.
    #[inline]
    fn count_before(&self, starts: Starts<'_>, target: &[u8]) -> Result<usize> {
        starts.partition_point(|start| {
            let record = self.record_at(start)?;
            Ok(self.compare(self.key_of(&record), record.trailer, target).is_lt())
        })
    }

    fn start_among_all(&self, target: &[u8]) -> Result<usize> {
        let starts = self.starts()?;
        let count = self.count_before(starts, target)?;
        Ok(count.checked_sub(1).and_then(|last| starts.get(last)).unwrap_or(0))
    }

    pub(crate) fn get(
        &self,
        key: &LookupKey,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], ValueSource<'_>) -> bool,
    ) -> Result<()> {
        self.get_in_file(key, visit).map_err(|error| error.in_file(self.file.path()))
    }

    #[inline]
    fn get_in_file(
        &self,
        key: &LookupKey,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], ValueSource<'_>) -> bool,
    ) -> Result<()> {
        match self.first_record(key)? {
            Some(record) if self.form.encoding == PlainEncoding::Plain => self.visit_plain(record, key, visit),
            Some(record) => self.visit_prefixed(record.start, key, visit),
            None => Ok(()),
        }
    }

    /// The record to begin to look for a key at; `None` if it is not there.
    #[inline]
    fn first_record(&self, key: &LookupKey) -> Result<Option<Record>> {
        if let Lookup::Hashed(extractor) = &self.lookup {
            if let Some(prefix) = extractor.prefix(key.user_key()) {
                return self.first_by_hash(extractor, prefix, key.internal_key());
            }
        } else if self.filter.is_some() && !self.may_match(prefix_hash(key.user_key())) {
            return Ok(None);
        }
        let start = self.start_among_all(key.internal_key())?;
        if start < self.data_end { self.record_at(start).map(Some) } else { Ok(None) }
    }

    /// Where to begin reading for the first entry at or after a target.
    pub(super) fn start_for(&self, target: &[u8]) -> Result<usize> {
        // The keys of a prefix are together: if there are any, none of another prefix lies between them and the target.
        if let Lookup::Hashed(extractor) = &self.lookup
            && let Some(prefix) = extractor.prefix(user_key(target))
            && let Some(first) = self.first_by_hash(extractor, prefix, target)?
        {
            return Ok(first.start);
        }
        self.start_among_all(target)
    }

    #[inline]
    fn may_match(&self, hash: u32) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.shape.may_match(filter.place.bytes(&self.bytes), hash))
    }

    /// The record to begin at for the first entry at or after a target that has the prefix; `None` without any of it.
    #[inline]
    fn first_by_hash(&self, extractor: &PrefixExtractor, prefix: &[u8], target: &[u8]) -> Result<Option<Record>> {
        let hash = prefix_hash(prefix);
        // A bucket has several prefixes, and some look alike in a map.
        let of_prefix = |start: usize| {
            let record = self.record_at(start)?;
            Ok((extractor.prefix(self.key_of(&record)) == Some(prefix)).then_some(record))
        };
        let first_of = |starts: Starts<'_>| {
            let count = if starts.len() > 1 { self.count_before(starts, target)? } else { 0 };
            if let Some(last) = count.checked_sub(1).and_then(|last| starts.get(last))
                && let Some(found) = of_prefix(last)?
            {
                return Ok(Some(found));
            }
            starts.get(count).map_or(Ok(None), of_prefix)
        };
        match &self.index {
            Index::Map(map) => map.find(hash).find_map(|starts| first_of(starts).transpose()).transpose(),
            Index::Block(..) if !self.may_match(hash) => Ok(None),
            Index::Block(layout, place) => match layout.lookup(place.bytes(&self.bytes), hash)? {
                Bucket::Empty => Ok(None),
                Bucket::One(start) => of_prefix(start as usize),
                Bucket::Many(offsets) => first_of(Starts::OfBucket(offsets)),
            },
        }
    }

    /// Keys of plain encoding are compared where they lie.
    #[inline]
    fn visit_plain(
        &self,
        mut record: Record,
        key: &LookupKey,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], ValueSource<'_>) -> bool,
    ) -> Result<()> {
        let (data, wanted) = (self.data(), trailer(key.internal_key()));
        loop {
            let (found, end) = (self.key_of(&record), record.value.end);
            let goes_on = match self.comparator.user().compare(found, key.user_key()) {
                Ordering::Less => true,
                Ordering::Equal if record.trailer > wanted => true,
                Ordering::Equal => self.show(found, record.trailer, record.value, visit)?,
                Ordering::Greater => false,
            };
            if !goes_on || end >= data.len() {
                return Ok(());
            }
            record = self.form.decode(data, end, &mut None)?;
        }
    }

    #[inline(never)]
    fn visit_prefixed(
        &self,
        start: usize,
        key: &LookupKey,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], ValueSource<'_>) -> bool,
    ) -> Result<()> {
        let mut cursor = RecordCursor::new(self.form);
        cursor.jump(start);
        while cursor.read(self.data())? {
            let found = cursor.key();
            if self.comparator.compare(found, key.internal_key()).is_lt() {
                continue;
            }
            if !self.comparator.user().equal(user_key(found), key.user_key())
                || !self.show(user_key(found), trailer(found), cursor.value(), visit)?
            {
                break;
            }
        }
        Ok(())
    }

    #[inline]
    fn show(
        &self,
        user_key: &[u8],
        trailer: u64,
        place: Range<usize>,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], ValueSource<'_>) -> bool,
    ) -> Result<bool> {
        let Some(value_type) = ValueType::from_u8(trailer as u8) else {
            return Err(Error::corruption(format!("an entry of type {:#04x}", trailer as u8)));
        };
        let key = ParsedInternalKey { user_key, sequence: SequenceNumber(trailer >> 8), value_type };
        let value = PlainValue { bytes: &self.bytes, start: place.start, end: place.end };
        Ok(visit(key, self.data().get(place).unwrap_or(&[]), ValueSource::Plain(value)))
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

    pub(crate) fn memory_bytes(&self) -> usize {
        let filter = self.filter.as_ref().map_or(0, |filter| filter.place.memory_bytes());
        let ordered = self.ordered.get().map_or(0, |offsets| 4 * offsets.len());
        let index = match &self.index {
            Index::Block(_, place) => place.memory_bytes(),
            Index::Map(map) => map.memory_bytes(),
        };
        self.bytes.memory_bytes() + index + filter + ordered
    }

    /// The format has no checksums: what can be checked is that there are as many records as the properties say, in
    /// the order of their keys.
    pub(crate) fn verify(&self) -> Result<()> {
        let verify = || {
            let mut cursor = RecordCursor::new(self.form);
            let (mut previous, mut count) = (Vec::new(), 0);
            while cursor.read(self.data())? {
                if count > 0 && self.comparator.compare(&previous, cursor.key()).is_ge() {
                    return Err(Error::corruption("a key that is out of order").at_offset(cursor.start() as u64));
                }
                previous.clear();
                previous.extend_from_slice(cursor.key());
                count += 1;
            }
            let recorded = self.properties.num_entries;
            if count == recorded {
                return Ok(());
            }
            Err(Error::corruption(format!("{count} entries where {recorded} are recorded")))
        };
        verify().map_err(|error| error.in_file(self.file.path()))
    }
}
