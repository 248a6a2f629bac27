//! Tables that are looked at outside of a database, and their entries as RocksDB's tools print them.
//!
//! ```text
//! 'key' seq:N, type:T => value
//! ```

use crate::failure::Result;
use crate::text::{blob_reference, digits};
use ferrock::{Error, ErrorKind, ValueType};
use ferrock_base::internal_key::ParsedInternalKey;
use ferrock_base::{Comparator, InternalComparator};
use ferrock_table::{BlockTable, Table, TableReaderParams};
use ferrock_vfs::{FileSystem, RandomAccessOptions, default_file_system};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Opens a table by what it says about itself.
///
/// # Errors
/// Those of opening it; `NotSupported` for an order of keys that is not built in.
pub fn open_table(path: &Path) -> std::result::Result<Table, Error> {
    let file_system: Arc<dyn FileSystem> = default_file_system();
    let file = file_system.open_random_access(path, &RandomAccessOptions::default())?;
    let mut params = TableReaderParams::new(file, file_system, InternalComparator::default());
    // Plain tables do not name their order.
    let name = match BlockTable::properties_of(&params) {
        Ok(properties) => properties.comparator_name,
        Err(error) if error.kind() == ErrorKind::NotSupported => String::new(),
        Err(error) => return Err(error),
    };
    if !name.is_empty() {
        let comparator = Comparator::built_in(&name).map_err(|error| error.in_file(path))?;
        params.comparator = InternalComparator::new(comparator);
    }
    Table::open(params)
}

/// How entries are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryText {
    /// Keys and values as two digits a byte.
    pub is_hex: bool,
    /// References to blob files as what they refer to.
    pub decodes_blob_index: bool,
}

/// Prints an entry as a line.
///
/// # Errors
/// `Corruption` for a reference that is none; `Output` when it cannot be printed.
pub fn print_entry(text: EntryText, key: ParsedInternalKey<'_>, value: &[u8], out: &mut dyn Write) -> Result<()> {
    let show = |bytes: &[u8]| if text.is_hex { digits(bytes).into_bytes() } else { bytes.to_vec() };
    out.write_all(b"'")?;
    out.write_all(&show(key.user_key))?;
    write!(out, "' seq:{}, type:{} => ", key.sequence.0, key.value_type as u8)?;
    if text.decodes_blob_index && key.value_type == ValueType::BlobIndex {
        writeln!(out, "{}", blob_reference(value)?)?;
    } else {
        out.write_all(&show(value))?;
        writeln!(out)?;
    }
    Ok(())
}
