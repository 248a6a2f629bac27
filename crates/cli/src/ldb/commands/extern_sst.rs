//! `write_extern_sst` and `ingest_extern_sst`: a table from outside, written from lines as `load` reads them, and taken
//! into a database.

use super::load;
use crate::arguments::Request;
use crate::database::{directory, open_for_writing};
use crate::{Failure, Result};
use ferrock::options::load_latest;
use ferrock::{IngestExternalFileOptions, SstFileWriter};
use std::io::{BufRead, Write};

/// Writes the lines of standard input, whose keys ascend, to a table for the family.
pub(super) fn write(request: &Request, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<()> {
    let path = &request.arguments[0];
    let opened = open_for_writing(request)?;
    // The open has written the file of the options that are in force.
    let loaded = load_latest(&*ferrock_vfs::default_file_system(), &directory(request)?)?.unwrap_or_default();
    let options = loaded.column_family(opened.family.name()).cloned().unwrap_or_default();
    let mut writer = SstFileWriter::new(&loaded.db, options).for_family(&opened.family);
    writer.open(path)?;
    load::each_entry(request.texts(), input, |key, value| Ok(writer.put(&key, &value)?))?;
    writer.finish()?;
    drop(opened.family);
    opened.db.close()?;
    writeln!(out, "external SST file written to {path}")?;
    Ok(())
}

/// Takes a table into the family. The flags are those of RocksDB's ldb, and so are their defaults, but that no sequence
/// number is written into files of which the database makes checksums.
pub(super) fn ingest(request: &Request, out: &mut dyn Write) -> Result<()> {
    let is_on = |name: &str, default: bool| request.get(name).map_or(default, |value| value == "true");
    // A number that is written into a file changes the checksum that the MANIFEST gets.
    let loaded = load_latest(&*ferrock_vfs::default_file_system(), &directory(request)?).ok().flatten();
    let has_checksums = loaded.is_some_and(|loaded| loaded.db.components.file_checksum_gen_factory.is_some());
    let options = IngestExternalFileOptions {
        move_files: is_on("move_files", false),
        snapshot_consistency: is_on("snapshot_consistency", true),
        allow_global_seqno: is_on("allow_global_seqno", true),
        allow_blocking_flush: is_on("allow_blocking_flush", true),
        ingest_behind: is_on("ingest_behind", false),
        write_global_seqno: is_on("write_global_seqno", !has_checksums),
        ..IngestExternalFileOptions::default()
    };
    if options.allow_global_seqno && !options.write_global_seqno {
        let _ = writeln!(
            std::io::stderr(),
            "Warning: not writing global_seqno to the ingested SST can\nprevent older versions of RocksDB from being able \
             to open it"
        );
    }
    if options.write_global_seqno && !options.allow_global_seqno {
        return Err(Failure::Usage(
            "ldb cannot write global_seqno to the ingested SST when global_seqno is not allowed".to_owned(),
        ));
    }
    let opened = open_for_writing(request)?;
    opened.db.ingest_external_file_cf(&opened.family, &[&request.arguments[0]], &options)?;
    drop(opened.family);
    opened.db.close()?;
    writeln!(out, "external SST files ingested")?;
    Ok(())
}
