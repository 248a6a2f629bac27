//! Opening a plain table: properties, then the index and the filter, read from the file or made from its records.

use super::bytes::FileBytes;
use super::prefix_map::PrefixMap;
use super::table::{Filter, Index, Lookup, Place, PlainTable};
use crate::options::PlainTableOptions;
use crate::reader::{TableReaderParams, open, properties_block};
use ferrock_base::internal_key::user_key;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{Comparator, Error, Result};
use ferrock_format::block::MetaBlock;
use ferrock_format::footer::Footer;
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex;
use ferrock_format::plain_table::{
    BLOOM_BLOCK, BloomBits, INDEX_BLOCK, IndexMaker, PlainBloom, PlainIndex, PlainProperties, RecordCursor, prefix_hash,
};
use ferrock_format::properties::TableProperties;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// How index and filter are made.
struct Making {
    options: Arc<PlainTableOptions>,
    bits_per_key: u32,
    has_lines: bool,
}

impl PlainTable {
    /// Opens the table whose footer was read.
    ///
    /// # Errors
    /// Those of [`Table::open`](crate::Table::open).
    pub(crate) fn open(params: TableReaderParams, footer: &Footer) -> Result<Arc<Self>> {
        let file = params.file.clone();
        Self::open_file(params, footer).map_err(|error| error.in_file(file.path()))
    }

    /// The properties of a table whose footer was read.
    pub(crate) fn properties_of(params: &TableReaderParams, footer: &Footer) -> Result<TableProperties> {
        let read = || {
            let bytes = FileBytes::read(&*params.file)?;
            let limit = bytes.len() - footer.encoded_len();
            Blocks::read(&bytes[..limit], footer.metaindex)?.properties(&bytes)
        };
        read().map_err(|error| error.in_file(params.file.path()))
    }

    fn open_file(params: TableReaderParams, footer: &Footer) -> Result<Arc<Self>> {
        let bytes = Arc::new(FileBytes::read(&*params.file)?);
        let limit = bytes.len() - footer.encoded_len();
        let blocks = Blocks::read(&bytes[..limit], footer.metaindex)?;
        let properties = blocks.properties(&bytes)?;
        open::check_identity(&params, &properties)?;
        open::check_readable(&params, &properties)?;
        if open::global_sequence(&properties, params.largest_sequence)?.is_some() {
            return Err(Error::not_supported("a plain table with a global sequence number"));
        }
        let plain = PlainProperties::from_table(&properties)?;
        let data_end = usize::try_from(properties.data_size).ok().filter(|&end| end <= limit);
        let data_end = data_end.ok_or_else(|| {
            Error::corruption(format!("records up to {} in a file of {} bytes", properties.data_size, bytes.len()))
        })?;
        let extractor = usable_extractor(&params, plain.prefix_extractor.as_deref());
        let making = Making {
            bits_per_key: if params.skip_filters { 0 } else { params.plain_options.bloom_bits() },
            options: Arc::clone(&params.plain_options),
            has_lines: params.bloom_locality > 0,
        };
        let mut table = Self {
            comparator: params.comparator,
            data_end,
            form: plain.form,
            lookup: Lookup::Ordered,
            index: Index::Map(PrefixMap::new(&[])),
            filter: None,
            ordered: OnceLock::new(),
            properties: Arc::new(properties),
            file_number: params.file_number,
            file: params.file,
            bytes,
        };
        match blocks.index {
            Some(place) => table.take_stored(place, blocks.bloom, &plain, extractor, params.skip_filters)?,
            None => table.make_index(extractor, &making)?,
        }
        Ok(Arc::new(table))
    }

    /// Takes index and filter of the file.
    fn take_stored(
        &mut self,
        index: Range<usize>,
        bloom: Option<Range<usize>>,
        plain: &PlainProperties,
        extractor: Option<PrefixExtractor>,
        skip_filters: bool,
    ) -> Result<()> {
        let layout = PlainIndex::parse(&self.bytes[index.clone()]);
        let layout = layout.map_err(|error| error.offset_by(index.start as u64))?;
        self.index = Index::Block(layout, Place::InFile(index));
        let is_keyed = plain.prefix_extractor.is_none() && self.can_hash_keys();
        let can_filter = !skip_filters && (extractor.is_some() || is_keyed);
        self.filter = bloom.filter(|_| can_filter).and_then(|place| {
            let shape = PlainBloom::parse(&self.bytes[place.clone()], plain.bloom_lines)?;
            Some(Filter { shape, place: Place::InFile(place) })
        });
        if let Some(extractor) = extractor {
            self.lookup = Lookup::Hashed(extractor);
        }
        Ok(())
    }

    /// Makes index and filter of the records.
    fn make_index(&mut self, extractor: Option<PrefixExtractor>, making: &Making) -> Result<()> {
        let bits = making.bits_per_key;
        if let Some(extractor) = extractor
            && let Some(maker) = self.index_of_prefixes(&extractor, &making.options)?
        {
            self.lookup = Lookup::Hashed(extractor);
            if making.options.hash_table_ratio > 0.0 {
                self.index = Index::Map(PrefixMap::new(maker.records()));
                return Ok(());
            }
            if let Some(mut bloom) = BloomBits::new(maker.prefixes().into(), bits, making.has_lines) {
                maker.records().iter().for_each(|&(hash, _)| bloom.add(hash));
                self.set_filter(bloom);
            }
            return self.set_index(maker.finish());
        }
        let mut bloom = if self.can_hash_keys() {
            // A record takes two bytes at least, whatever the properties say.
            BloomBits::new(self.properties.num_entries.min(self.data_end as u64 / 2), bits, making.has_lines)
        } else {
            None
        };
        let mut maker = IndexMaker::new(0.0, making.options.index_sparseness);
        let mut cursor = RecordCursor::new(self.form);
        let data = &self.bytes[..self.data_end];
        while cursor.read(data)? {
            maker.add(&[], cursor.start() as u32, cursor.is_full());
            if let Some(bloom) = &mut bloom {
                bloom.add(prefix_hash(user_key(cursor.key())));
            }
        }
        if let Some(bloom) = bloom {
            self.set_filter(bloom);
        }
        self.set_index(maker.finish())
    }

    /// The records of prefixes for an index; `None` if a key has no prefix, or reading cannot begin at the first one
    /// of a prefix.
    fn index_of_prefixes(
        &self,
        extractor: &PrefixExtractor,
        options: &PlainTableOptions,
    ) -> Result<Option<IndexMaker>> {
        let mut maker = IndexMaker::new(options.hash_table_ratio, options.index_sparseness);
        let mut cursor = RecordCursor::new(self.form);
        let data = &self.bytes[..self.data_end];
        while cursor.read(data)? {
            let Some(prefix) = extractor.prefix(user_key(cursor.key())) else { return Ok(None) };
            if maker.add(prefix, cursor.start() as u32, cursor.is_full()) && !cursor.is_full() {
                return Ok(None);
            }
        }
        Ok(Some(maker))
    }

    fn set_index(&mut self, block: Vec<u8>) -> Result<()> {
        self.index = Index::Block(PlainIndex::parse(&block)?, Place::Made(block));
        Ok(())
    }

    fn set_filter(&mut self, bits: BloomBits) {
        let (shape, bytes) = bits.finish();
        self.filter = Some(Filter { shape, place: Place::Made(bytes) });
    }

    /// False where keys are equal whose hashes are not.
    fn can_hash_keys(&self) -> bool {
        !self.comparator.user().can_keys_with_different_bytes_be_equal()
    }
}

/// The extractor that the file was written with, if it puts neighbours together.
fn usable_extractor(params: &TableReaderParams, name: Option<&str>) -> Option<PrefixExtractor> {
    let name = name?;
    let given = params.prefix_extractor.clone().filter(|extractor| extractor.name() == name);
    let extractor = given.or_else(|| PrefixExtractor::built_in(name).ok().flatten())?;
    let is_by_bytes = !matches!(params.comparator.user(), Comparator::Custom(_));
    let keeps_order = extractor.is_piece() || matches!(extractor, PrefixExtractor::Noop);
    (is_by_bytes && keeps_order).then_some(extractor)
}

/// Where the blocks of a file lie.
struct Blocks {
    properties: Option<Range<usize>>,
    index: Option<Range<usize>>,
    bloom: Option<Range<usize>>,
}

impl Blocks {
    /// Reads the metaindex. `file` ends where the footer begins.
    fn read(file: &[u8], metaindex: BlockHandle) -> Result<Self> {
        let in_metaindex = |error: Error| error.context("metaindex").offset_by(metaindex.offset);
        let place = place_of(metaindex, file.len()).map_err(in_metaindex)?;
        let block = MetaBlock::new(&file[place]).map_err(in_metaindex)?;
        let mut blocks = Self { properties: None, index: None, bloom: None };
        for (name, value) in block.entries().map_err(in_metaindex)? {
            let slot = match &name[..] {
                name if name == metaindex::PROPERTIES.as_bytes() => &mut blocks.properties,
                name if name == INDEX_BLOCK.as_bytes() => &mut blocks.index,
                name if name == BLOOM_BLOCK.as_bytes() => &mut blocks.bloom,
                _ => continue,
            };
            let place = BlockHandle::decode(value).and_then(|(handle, _)| place_of(handle, file.len()));
            *slot = Some(place.map_err(in_metaindex)?);
        }
        Ok(blocks)
    }

    fn properties(&self, bytes: &[u8]) -> Result<TableProperties> {
        let place = self.properties.clone().ok_or_else(|| Error::corruption("the metaindex names no properties"))?;
        let start = place.start as u64;
        properties_block::decode_properties(&bytes[place]).map_err(|error| error.context("properties").offset_by(start))
    }
}

fn place_of(handle: BlockHandle, limit: usize) -> Result<Range<usize>> {
    let end = handle.end().and_then(|end| usize::try_from(end).ok()).filter(|&end| end <= limit);
    end.map(|end| handle.offset as usize..end).ok_or_else(|| {
        Error::corruption(format!("a block ({}, {}) that does not lie in the file", handle.offset, handle.size))
    })
}
