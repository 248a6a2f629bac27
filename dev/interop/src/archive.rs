//! The archive of golden databases: one Zstandard frame around a ustar archive.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// One database, in memory.
pub struct GoldenDatabase {
    pub name: String,
    pub expect: Value,
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Every database of an archive, by name.
pub fn read(path: &Path) -> Result<Vec<GoldenDatabase>, String> {
    let frame = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut archive = Vec::new();
    zstd_rs::Decompressor::new()
        .decompress_frame(&frame, None, 1 << 30, &mut archive)
        .map_err(|error| format!("{}: {error:?}", path.display()))?;
    let mut databases: BTreeMap<String, GoldenDatabase> = BTreeMap::new();
    for (path, content) in entries(&archive) {
        let (name, rest) = path.split_once('/').ok_or_else(|| format!("{path} does not belong in the archive"))?;
        let database = databases.entry(name.to_owned()).or_insert_with(|| GoldenDatabase {
            name: name.to_owned(),
            expect: Value::Null,
            files: BTreeMap::new(),
        });
        match rest.strip_prefix("db/") {
            Some(file) => drop(database.files.insert(file.to_owned(), content.to_owned())),
            None => database.expect = serde_json::from_slice(content).map_err(|error| format!("{path}: {error}"))?,
        }
    }
    Ok(databases.into_values().collect())
}

/// Paths and contents of the regular files of a ustar archive; what is cut off is left out.
fn entries(archive: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    const BLOCK: usize = 512;
    let mut rest = archive;
    std::iter::from_fn(move || {
        let header = rest.get(..BLOCK).filter(|header| header[0] != 0)?;
        let name = header[..100].split(|byte| *byte == 0).next()?;
        let digits = std::str::from_utf8(&header[124..135]).ok()?.trim_matches(['\0', ' ']);
        let size = usize::from_str_radix(digits, 8).ok()?;
        let content = rest.get(BLOCK..BLOCK + size)?;
        rest = rest.get(BLOCK + size.next_multiple_of(BLOCK)..).unwrap_or(&[]);
        Some((std::str::from_utf8(name).ok()?, content))
    })
}
