//! `raw`: everything a table consists of, as text beside it.
//!
//! ```text
//! footer, metaindex, properties, index, compression dictionary, range deletions, data blocks, summary
//! ```
//!
//! Keys and values are shown twice: as hexadecimal digits, and as characters with a space behind each.

use ferrock::{Error, Result};
use ferrock_base::internal_key::{pack_trailer, trailer, user_key};
use ferrock_base::{InternalIterator, ValueType};
use ferrock_console::text::digits;
use ferrock_format::block::DataBlockIter;
use ferrock_format::footer::TableKind;
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex::MetaBlock;
use ferrock_table::BlockTable;
use ferrock_vfs::{WritableFile, WritableOptions, default_file_system};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Bytes of text that are gathered before a write.
const CHUNK_BYTES: usize = 1 << 20;
const LINE: &str = "--------------------------------------\n";

/// Where the dump of a table goes.
pub(crate) fn output_path(table: &Path) -> PathBuf {
    let name = table.file_name().unwrap_or_default().to_string_lossy();
    table.with_file_name(format!("{}_dump.txt", name.strip_suffix(".sst").unwrap_or(&name)))
}

/// The file that is written, and the text that waits for it. The text is bytes: keys and values are not UTF-8.
struct Dump {
    file: Box<dyn WritableFile>,
    text: Vec<u8>,
    shows_trailers: bool,
}

impl Dump {
    fn put(&mut self, text: &str) -> Result<()> {
        self.text.extend_from_slice(text.as_bytes());
        if self.text.len() < CHUNK_BYTES {
            return Ok(());
        }
        self.file.append(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// A pair, in digits and in characters, and the key's trailer if that is wanted.
    fn pair(&mut self, key: &[u8], value: &[u8], trailer: Option<u64>) -> Result<()> {
        let hex = format!("  HEX    {}: {}\n  ASCII  ", digits(key), digits(value));
        self.text.extend_from_slice(hex.as_bytes());
        self.characters(key);
        self.text.extend_from_slice(b": ");
        self.characters(value);
        if let Some(trailer) = trailer {
            let (sequence, value_type) = (trailer >> 8, trailer & 0xff);
            self.text.extend_from_slice(format!("\n  seq:{sequence}, type:{value_type}").as_bytes());
        }
        self.put("\n  ------\n")
    }

    fn characters(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                0 => self.text.extend_from_slice(b"\\0"),
                byte => self.text.push(*byte),
            }
            self.text.push(b' ');
        }
    }
}

/// Writes the dump. Damaged data blocks are named in it; the first of them is the result.
pub(crate) fn write(reader: &BlockTable, path: &Path, shows_trailers: bool) -> Result<Option<Error>> {
    let file = default_file_system().create_writable(path, &WritableOptions::default())?;
    let mut dump = Dump { file, text: Vec::new(), shows_trailers };
    head(reader, &mut dump)?;
    index(reader, &mut dump)?;
    row_bounds(reader, &mut dump)?;
    meta_contents(reader, &mut dump)?;
    let damage = data_blocks(reader, &mut dump)?;
    dump.file.append(&dump.text)?;
    dump.file.close()?;
    Ok(damage)
}

fn encoded(handle: BlockHandle) -> String {
    let mut bytes = Vec::new();
    handle.encode_to(&mut bytes);
    digits(&bytes)
}

fn head(reader: &BlockTable, dump: &mut Dump) -> Result<()> {
    let footer = reader.contents().footer();
    let mut text = format!("Footer Details:\n{LINE}  metaindex handle: {}\n", encoded(footer.metaindex));
    // Writing to a String cannot fail.
    if footer.has_index {
        let _ = writeln!(text, "  index handle: {}", encoded(footer.index));
    }
    // Of version 0, too, RocksDB shows the magic number of the later ones.
    let magic = TableKind::BlockBased.magic(footer.format_version.max(1));
    let _ = write!(text, "  table_magic_number: {magic}\n  format version: {}\n  \n", footer.format_version);
    let _ = write!(text, "Metaindex Details:\n{LINE}");
    for (name, handle) in reader.contents().meta_blocks()? {
        let what = match MetaBlock::from_name(&name) {
            MetaBlock::Properties => "Properties",
            MetaBlock::CompressionDictionary => "Compression dictionary",
            MetaBlock::FullFilter(_) | MetaBlock::PartitionedFilter(_) => "Filter",
            MetaBlock::RangeDeletion => "Range deletion",
            MetaBlock::Index => "Index",
            MetaBlock::RowBounds => "Row bounds",
            MetaBlock::HashIndexPrefixes | MetaBlock::HashIndexMetadata | MetaBlock::Other => continue,
        };
        let _ = writeln!(text, "  {what} block handle: {}", encoded(handle));
    }
    let _ = write!(text, "\nTable Properties:\n{LINE}  {}\n", reader.properties().to_text("\n  ", ": "));
    dump.put(&text)
}

fn index(reader: &BlockTable, dump: &mut Dump) -> Result<()> {
    dump.put(&format!("Index Details:\n{LINE}  Block key hex dump: Data block handle\n  Block key ascii\n\n"))?;
    let mut failed = None;
    reader.contents().visit_index(&mut |key, entry| {
        let mut value = Vec::new();
        entry.handle.encode_to(&mut value);
        if let Some(first) = entry.first_key {
            ferrock_base::coding::put_varint32(&mut value, u32::try_from(first.len()).unwrap_or(u32::MAX));
            value.extend_from_slice(first);
        }
        let text = format!("  HEX    {}: {}\n  ASCII  ", digits(key), digits(&value));
        dump.text.extend_from_slice(text.as_bytes());
        // Unlike in data blocks, a NUL byte stands for itself.
        dump.text.extend(key.iter().flat_map(|byte| [*byte, b' ']));
        failed = dump.put("\n  ------\n").err();
        failed.is_none()
    })?;
    failed.map_or_else(|| dump.put("\n"), Err)
}

/// What Ferrock's own blocks say about the rows of data blocks.
fn row_bounds(reader: &BlockTable, dump: &mut Dump) -> Result<()> {
    let mut failed = None;
    let mut is_first = true;
    reader.contents().visit_rows(&mut |rows| {
        let Some((bound, is_exact)) = rows.bound else { return true };
        let mut text = String::new();
        if std::mem::take(&mut is_first) {
            let _ = write!(text, "Row Bounds Details:\n{LINE}  Data block handle: no row is before, last row\n\n");
        }
        let last = if is_exact { digits(rows.separator) } else { format!("at or before {}", digits(rows.separator)) };
        let _ = writeln!(text, "  HEX    {}: {}, {last}", encoded(rows.handle), digits(bound));
        failed = dump.put(&text).err();
        failed.is_none()
    })?;
    failed.map_or_else(|| dump.put(if is_first { "" } else { "\n" }), Err)
}

fn meta_contents(reader: &BlockTable, dump: &mut Dump) -> Result<()> {
    if let Some(dictionary) = reader.contents().compression_dictionary()?.filter(|dictionary| !dictionary.is_empty()) {
        let (size, hex) = (dictionary.len(), digits(&dictionary));
        dump.put(&format!("Compression Dictionary:\n{LINE}  size (bytes): {size}\n\n  HEX    {hex}\n\n"))?;
    }
    if let Some(tombstones) = reader.range_tombstones() {
        dump.put(&format!("Range deletions:\n{LINE}"))?;
        for fragment in tombstones.iter() {
            for sequence in fragment.sequences {
                let trailer = dump.shows_trailers.then(|| pack_trailer(*sequence, ValueType::RangeDeletion));
                dump.pair(fragment.start, fragment.end, trailer)?;
            }
        }
        dump.put("\n")?;
    }
    Ok(())
}

fn data_blocks(reader: &BlockTable, dump: &mut Dump) -> Result<Option<Error>> {
    let mut handles = Vec::new();
    reader.contents().visit_index(&mut |_, entry| {
        handles.push(entry.handle);
        true
    })?;
    let mut damage = None;
    for (index, handle) in handles.iter().enumerate() {
        dump.put(&format!("Data Block # {} @ {}\n{LINE}", index + 1, encoded(*handle)))?;
        if let Err(error) = data_block(reader, *handle, dump)? {
            dump.put("Error reading the block - Skipped \n")?;
            damage.get_or_insert(error);
        }
        dump.put("\n")?;
    }
    let sizes = || handles.iter().map(|handle| handle.size);
    if let (Some(least), Some(most)) = (sizes().min(), sizes().max()) {
        let average = sizes().sum::<u64>() as f64 / handles.len() as f64;
        dump.put(&format!(
            "Data Block Summary:\n{LINE}  # data blocks: {}\n  min data block size: {least}\n  \
             max data block size: {most}\n  avg data block size: {average:.6}\n",
            handles.len()
        ))?;
    }
    Ok(damage)
}

/// The outer error is the dump's, the inner one the table's.
fn data_block(reader: &BlockTable, handle: BlockHandle, dump: &mut Dump) -> Result<Result<()>> {
    let block = match reader.contents().read_data_block(handle) {
        Ok(block) => block,
        Err(error) => return Ok(Err(error)),
    };
    let mut iter = DataBlockIter::new(&block, reader.comparator().clone(), None);
    iter.seek_to_first();
    while iter.valid() {
        let trailer = dump.shows_trailers.then(|| trailer(iter.key()));
        dump.pair(user_key(iter.key()), iter.value(), trailer)?;
        iter.next();
    }
    Ok(iter.status().map_err(|error| error.offset_by(handle.offset).in_file(reader.file_path())))
}
