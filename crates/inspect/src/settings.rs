//! Options that differ from their defaults, and the end of the LOG.
//!
//! Families of an open database tell their options themselves; those of the database come from its newest OPTIONS
//! file. What a directory says is read from that file alone, so it is shown also where the database does not open.

use crate::numbers;
use crate::source::{Source, View};
use ferrock::options::{self, OptionDifference};
use ferrock::{ColumnFamilyOptions, DbOptions, Result};
use ferrock_format::file_name::{self, INFO_LOG};
use ferrock_vfs::SequentialOptions;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
    let shown = |text: &str| text.chars().take(SHOWN_VALUE_CHARS).collect::<String>();
    let sections = options::differences_from_defaults((db_options, families)).into_iter();
    let row = |of: &OptionDifference| {
        let (value, default) = (of.after.as_deref().map(shown), of.before.as_deref().map(shown));
        json!({ "name": of.name, "value": value, "default": default })
    };
    sections
        .map(|section| {
            let rows: Vec<Value> = section.options.iter().map(row).collect();
            json!({ "title": section.section.to_string(), "options": rows })
        })
        .collect()
}

/// The end of the LOG, from the beginning of a line on.
pub(crate) fn log(source: &Source) -> Value {
    let path = path_of_log(source);
    let shown = path.display().to_string();
    match end_of_log(source, &path) {
        Ok((size_bytes, text)) => json!({ "path": shown, "size_bytes": size_bytes, "text": text, "error": null }),
        Err(error) => json!({ "path": shown, "size_bytes": 0, "text": "", "error": numbers::error(&error) }),
    }
}

/// The LOG that was written last: that of the directory, or one in `db_log_dir` with RocksDB's name for it.
fn path_of_log(source: &Source) -> PathBuf {
    let here = source.path.join(INFO_LOG);
    let loaded = options::load_latest(&*source.file_system, &source.path).ok().flatten();
    let elsewhere =
        loaded.and_then(|loaded| loaded.db.passthrough.get(options::DB_OPTIONS_WITHOUT_EFFECT, "db_log_dir"));
    let Some(elsewhere) = elsewhere.filter(|directory| !directory.is_empty()) else { return here };
    let absolute = std::path::absolute(&source.path).unwrap_or_else(|_| source.path.clone());
    let name = file_name::info_log_prefix(&absolute.to_string_lossy()) + INFO_LOG;
    let there = Path::new(&elsewhere).join(name);
    let written = |path: &Path| source.file_system.modified_unix_seconds(path).ok();
    // Ferrock writes beside the tables: where both are of one second, that one is newer.
    if written(&there) > written(&here) { there } else { here }
}

fn end_of_log(source: &Source, path: &Path) -> Result<(u64, String)> {
    let size_bytes = source.file_system.file_size(path)?;
    let before = size_bytes.saturating_sub(LOG_BYTES);
    let mut file = source.file_system.open_sequential(path, &SequentialOptions::default())?;
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
