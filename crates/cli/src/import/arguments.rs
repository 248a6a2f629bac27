//! The command line of `ferrock import`.

use super::csv::CsvOptions;
use super::lines::JsonOptions;
use super::source::Texts;
use crate::failure::{Failure, Result};
use crate::output::parse_bytes;
use clap::{Args, ValueEnum};
use ferrock_vfs::FileSystem;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  ferrock import DB users.csv --key id --value name    columns by their names in the first line
  ferrock import DB a.csv b.csv --no-header --key 3 --value 1
                                                       columns by number; of equal keys the last one counts
  ferrock import DB events.jsonl --key id --value body --family events --create
                                                       a JSON object in each line; what is not there is created
  ldb --db=OLD --hex dump | ferrock import NEW --format dump --hex --create
                                                       every key of a database of RocksDB, from its own tool
  ferrock import DB big.csv --memory 2GiB --threads 8 --work-directory /mnt/fast/import
                                                       sorted in runs of 1 GiB, eight tables written at a time

CSV is that of RFC 4180: fields may be in quotes, and have quotes (doubled), delimiters and line ends in them then; all
rows have as many fields as the first line. JSON strings are taken as their text, other JSON values as they are written.
A dump has lines KEY ==> VALUE, as `ldb dump` prints them, and is checked against its last line, Keys in range.

The database must not be open in another process. Rows are sorted by its order outside of it, in a work directory beside
it (DB.import, which needs about twice the space of the rows), become tables, and come into it in one step, newer than
all that is there. An import that fails or is killed leaves the database as it was; a killed one leaves the work
directory, which the next import removes.

Exit codes: 0 all rows are in, 1 a line is damaged and nothing was imported, 2 the work could not be done, 64 the
command line is wrong.";

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Fields with a delimiter between them (RFC 4180).
    Csv,
    /// A JSON object in each line.
    Jsonl,
    /// `key ==> value`, as `ldb dump` prints it.
    Dump,
}

/// Arguments of `ferrock import`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ImportArgs {
    /// Directory of the database.
    pub(super) db: PathBuf,
    /// Files with rows; - or none: standard input.
    files: Vec<PathBuf>,
    /// How rows are written [default: by the ending of each file: .csv, .jsonl or .ndjson, .dump].
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The column of the key: its name, or its number from 1 on with --no-header [default: key, or the first].
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,
    /// The column of the value [default: value, or the second].
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// The first line of a CSV file is a row.
    #[arg(long)]
    no_header: bool,
    /// What is between the fields of a CSV file.
    #[arg(long, value_name = "CHARACTER", default_value = ",")]
    delimiter: String,
    /// Keys and values are hexadecimal, with or without 0x.
    #[arg(long)]
    hex: bool,
    /// Keys are hexadecimal.
    #[arg(long)]
    key_hex: bool,
    /// Values are hexadecimal.
    #[arg(long)]
    value_hex: bool,
    /// The column family that the rows go to.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) family: String,
    /// Create the database and the column family where they are missing.
    #[arg(long)]
    pub(super) create: bool,
    /// Bytes of memory for rows, in all stages together.
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = memory)]
    pub(super) memory: u64,
    /// Tables that are written at a time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) threads: u32,
    /// Directory of sorted rows and of tables; best on the device of the database [default: DB.import].
    #[arg(long, value_name = "DIR")]
    work_directory: Option<PathBuf>,
    /// Pass over damaged lines, and count them.
    #[arg(long)]
    pub(super) skip_bad_lines: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Less would be spent on buffers alone.
const LEAST_MEMORY_BYTES: u64 = 1 << 20;

fn memory(text: &str) -> std::result::Result<u64, String> {
    let bytes = parse_bytes(text)?;
    match bytes {
        LEAST_MEMORY_BYTES..=0xFFFF_FFFF_FFFF => Ok(bytes),
        _ => Err(format!("{text:?}: it is at least 1MiB and at most 256TiB")),
    }
}

impl ImportArgs {
    /// The files, in order.
    pub(super) fn inputs(&self) -> Vec<&Path> {
        match self.files.is_empty() {
            true => vec![Path::new("-")],
            false => self.files.iter().map(PathBuf::as_path).collect(),
        }
    }

    /// The bytes of all files; 0 for standard input.
    pub(super) fn input_bytes(&self, files: &Arc<dyn FileSystem>) -> Result<u64> {
        let mut bytes = 0;
        for path in self.files.iter().filter(|path| path.as_os_str() != "-") {
            bytes += files.file_size(path)?;
        }
        Ok(bytes)
    }

    /// The format of each file.
    pub(super) fn formats(&self) -> Result<Vec<Format>> {
        self.inputs().iter().map(|path| self.format_of(path)).collect()
    }

    fn format_of(&self, path: &Path) -> Result<Format> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Ok(Format::Csv),
            Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
            Some("dump") => Ok(Format::Dump),
            _ => Err(Failure::Usage(format!("{}: say with --format how its rows are written", path.display()))),
        }
    }

    pub(super) fn work_directory(&self) -> Result<PathBuf> {
        if let Some(directory) = &self.work_directory {
            return Ok(directory.clone());
        }
        let name = self.db.file_name().ok_or_else(|| {
            Failure::Usage(format!("{}: name a work directory with --work-directory", self.db.display()))
        })?;
        let mut beside = OsString::from(name);
        beside.push(".import");
        Ok(self.db.with_file_name(beside))
    }

    pub(super) fn texts(&self) -> Texts {
        Texts { is_key_hex: self.hex || self.key_hex, is_value_hex: self.hex || self.value_hex }
    }

    pub(super) fn csv_options(&self) -> Result<CsvOptions> {
        let delimiter = match self.delimiter.as_bytes() {
            [delimiter] if !matches!(delimiter, b'"' | b'\r' | b'\n') => *delimiter,
            b"\\t" => b'\t',
            _ => return Err(Failure::Usage("--delimiter is one byte, and no quote or line end".to_owned())),
        };
        let has_header = !self.no_header;
        if !has_header {
            for column in [&self.key, &self.value].into_iter().flatten() {
                if column.parse::<usize>().ok().is_none_or(|number| number == 0) {
                    return Err(Failure::Usage(format!(
                        "column {column:?}: with --no-header it is a number from 1 on"
                    )));
                }
            }
        }
        let (key, value) = (self.key.clone(), self.value.clone());
        Ok(CsvOptions { delimiter, has_header, key, value, texts: self.texts() })
    }

    pub(super) fn json_options(&self) -> JsonOptions {
        let name = |column: &Option<String>, default: &str| column.clone().unwrap_or_else(|| default.to_owned());
        JsonOptions { key: name(&self.key, "key"), value: name(&self.value, "value"), texts: self.texts() }
    }
}
