//! Options that differ from their defaults, and the end of the LOG.
//!
//! Families of an open database tell their options themselves; those of the database come from its newest OPTIONS
//! file. What a directory says is read from that file alone, so it is shown also where the database does not open.

use crate::numbers;
use crate::source::{Source, View};
use ferrock::{ColumnFamilyOptions, DbOptions, Result, options};
use ferrock_format::file_name::INFO_LOG;
use ferrock_format::options_file::Section;
use ferrock_vfs::SequentialOptions;
use serde_json::{Value, json};

/// Bytes of the LOG that are shown.
pub(crate) const LOG_BYTES: u64 = 64 << 10;
/// Characters of a value that are shown.
const SHOWN_VALUE_CHARS: usize = 1000;

/// Options that differ, by section of the OPTIONS file.
pub(crate) fn changed(source: &Source, view: &View) -> Value {
    let loaded = options::load_latest(&*source.file_system, &source.path);
    let failure = match &loaded {
        Ok(Some(_)) => Value::Null,
        Ok(None) => json!({ "message": format!("{}: has no OPTIONS file", source.path.display()) }),
        Err(error) => numbers::error(error),
    };
    let loaded = loaded.ok().flatten();
    let (db_options, from_file) = match loaded {
        Some(loaded) => (loaded.db, loaded.column_families),
        None => (DbOptions::default(), Vec::new()),
    };
    let families = match &view.db {
        Ok(db) => {
            let families = db.column_families().into_iter();
            families.map(|family| (family.name().to_owned(), (*family.options()).clone())).collect()
        }
        Err(_) => from_file,
    };
    json!({ "error": failure, "sections": sections(&db_options, &families) })
}

fn sections(db_options: &DbOptions, families: &[(String, ColumnFamilyOptions)]) -> Vec<Value> {
    let defaults: Vec<_> = families.iter().map(|(name, options)| (name.clone(), usual(options))).collect();
    let (now, usual) = (options::to_file(db_options, families), options::to_file(&DbOptions::default(), &defaults));
    let mut sections = vec![section("database", &now.db, Some(&usual.db))];
    for (family, usual) in now.column_families.iter().zip(&usual.column_families) {
        sections.push(section(&format!("family {}", family.name), &family.options, Some(&usual.options)));
        if let Some(table) = &family.table {
            // Of another factory than the default one everything is shown.
            let usual = usual.table.as_ref().filter(|usual| usual.factory == table.factory);
            let title = format!("family {}: {}", family.name, table.factory);
            sections.push(section(&title, &table.options, usual.map(|usual| &usual.options)));
        }
    }
    sections
}

/// The defaults of a family. Where a 0 stands for what follows from other options, an open family has that in its
/// place, and it is no difference.
fn usual(options: &ColumnFamilyOptions) -> ColumnFamilyOptions {
    let mut follows = options.clone();
    follows.arena_block_size = 0;
    follows.max_compaction_bytes = 0;
    follows.settle();
    let mut usual = ColumnFamilyOptions::default();
    if options.arena_block_size != 0 {
        usual.arena_block_size = follows.arena_block_size;
    }
    if options.max_compaction_bytes != 0 {
        usual.max_compaction_bytes = follows.max_compaction_bytes;
    }
    usual
}

fn section(title: &str, now: &Section, usual: Option<&Section>) -> Value {
    let shown = |text: &str| text.chars().take(SHOWN_VALUE_CHARS).collect::<String>();
    let row = |name: &str, value: &str, default: Option<&str>| {
        (default != Some(value)).then(|| json!({ "name": name, "value": shown(value), "default": default.map(shown) }))
    };
    let known = now.statements.iter();
    let known = known.filter_map(|of| row(&of.name, &of.value, usual.and_then(|usual| usual.get(&of.name))));
    let own = now.extensions.iter();
    let own = own.filter_map(|of| row(&of.name, &of.value, usual.and_then(|usual| usual.get_extension(&of.name))));
    json!({ "title": title, "options": known.chain(own).collect::<Vec<_>>() })
}

/// The end of the LOG, from the beginning of a line on.
pub(crate) fn log(source: &Source) -> Value {
    let path = source.path.join(INFO_LOG);
    let shown = path.display().to_string();
    match end_of_log(source) {
        Ok((size_bytes, text)) => json!({ "path": shown, "size_bytes": size_bytes, "text": text, "error": null }),
        Err(error) => json!({ "path": shown, "size_bytes": 0, "text": "", "error": numbers::error(&error) }),
    }
}

fn end_of_log(source: &Source) -> Result<(u64, String)> {
    let path = source.path.join(INFO_LOG);
    let size_bytes = source.file_system.file_size(&path)?;
    let before = size_bytes.saturating_sub(LOG_BYTES);
    let mut file = source.file_system.open_sequential(&path, &SequentialOptions::default())?;
    file.skip(before)?;
    let mut bytes = vec![0; LOG_BYTES as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        let read = file.read(&mut bytes[filled..])?;
        if read == 0 {
            break;
        }
        filled += read;
    }
    let bytes = &bytes[..filled];
    let line = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let start = if before == 0 { 0 } else { line };
    Ok((size_bytes, String::from_utf8_lossy(&bytes[start..]).into_owned()))
}
