//! Loads many keys past log and memtables: tables are written beside the database, and become part of it in one step.
//!
//! ```sh
//! cargo run --example bulk_load
//! ```

use ferrock::{
    ColumnFamilyOptions, Db, DbOptions, IngestExternalFileArg, IngestExternalFileOptions, Result, SstFileReader,
    SstFileWriter,
};
use std::path::PathBuf;

/// Keys of one table.
const PER_TABLE: u32 = 20_000;

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// Runs the example.
pub fn main() -> Result<()> {
    let directory = tempfile::tempdir().map_err(|error| ferrock::Error::invalid_argument(error.to_string()))?;
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let db = Db::open(directory.path().join("db"), options.clone())?;
    let names = db.create_column_family("names", ColumnFamilyOptions::default())?;

    // Each table could be written by a thread, or a machine, of its own.
    let mut tables: Vec<PathBuf> = Vec::new();
    let mut writer = SstFileWriter::new(&options, ColumnFamilyOptions::default());
    for table in 0..3 {
        let path = directory.path().join(format!("{table}.sst"));
        writer.open(&path)?;
        for number in table * PER_TABLE..(table + 1) * PER_TABLE {
            writer.put(&key(number), format!("value {number}").as_bytes())?;
        }
        let info = writer.finish()?;
        println!("{}: {} entries, {} bytes", info.file_path.display(), info.num_entries, info.file_size);
        tables.push(path);
    }
    writer.open(directory.path().join("names.sst"))?;
    writer.put(b"tables", b"3")?;
    let of_names = writer.finish()?.file_path;

    // A table can be looked at before.
    let reader = SstFileReader::open(&tables[0], &options, ColumnFamilyOptions::default())?;
    reader.verify_checksum()?;
    assert_eq!(reader.properties().num_entries, u64::from(PER_TABLE));

    // Both families, or none; the files are moved, not copied.
    let how = IngestExternalFileOptions { move_files: true, ..IngestExternalFileOptions::default() };
    db.ingest_external_files(&[
        IngestExternalFileArg {
            family: db.default_column_family()?,
            files: tables,
            options: how.clone(),
            file_checksums: Vec::new(),
        },
        IngestExternalFileArg {
            family: names.clone(),
            files: vec![of_names],
            options: how,
            file_checksums: Vec::new(),
        },
    ])?;
    let last = db.get(&key(3 * PER_TABLE - 1))?;
    println!("the last value is {:?}", last.map(|value| String::from_utf8_lossy(&value).into_owned()));
    for file in db.live_files() {
        println!("level {}: {} bytes", file.level, file.size_bytes);
    }
    db.close()
}
