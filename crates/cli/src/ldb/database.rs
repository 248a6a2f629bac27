//! Opening the database that the command line names.

use crate::arguments::Request;
use crate::{Failure, Result};
use ferrock::options::{CompressionType, DbSettings, FilterPolicy, load_latest};
use ferrock::ttl::{TtlDb, TtlFamily, TtlIter};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, Db, DbOptions, Iter, PinnedSlice, ReadOptions, WriteBatch, WriteOptions,
};
use ferrock_base::merge;
use ferrock_base::prefix::PrefixExtractor;
use std::path::{Path, PathBuf};

/// An open database, and the column family to work on.
pub(crate) struct Opened {
    pub(crate) db: Db,
    pub(crate) family: ColumnFamily,
    /// With `--ttl`.
    ttl: Option<TtlDb>,
}

impl Opened {
    /// The value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> ferrock::Result<Option<PinnedSlice>> {
        let options = ReadOptions::default();
        match &self.ttl {
            None => self.db.get_cf(&self.family, &options, key),
            Some(ttl) => ttl.get_cf(&self.family, &options, key),
        }
    }

    /// Writes a batch.
    pub(crate) fn write(&self, mut batch: WriteBatch, options: &WriteOptions) -> ferrock::Result<()> {
        match &self.ttl {
            None => self.db.write(batch, options),
            Some(ttl) => ttl.write(&mut batch, options),
        }
    }

    /// The rows of the family.
    pub(crate) fn rows(&self, options: &ReadOptions) -> Rows {
        match &self.ttl {
            None => Rows::Plain(self.db.iter_cf(&self.family, options)),
            Some(ttl) => Rows::Timed(ttl.iter_cf(&self.family, options)),
        }
    }
}

/// An iterator over rows, with `--ttl` without the times of their values.
pub(crate) enum Rows {
    Plain(Iter),
    Timed(TtlIter),
}

/// The same call on either.
macro_rules! on_each {
    ($rows:expr, $iter:ident => $call:expr) => {
        match $rows {
            Rows::Plain($iter) => $call,
            Rows::Timed($iter) => $call,
        }
    };
}

impl Rows {
    pub(crate) fn seek_to_first(&mut self) {
        on_each!(self, iter => iter.seek_to_first());
    }
    pub(crate) fn seek(&mut self, key: &[u8]) {
        on_each!(self, iter => iter.seek(key));
    }
    pub(crate) fn next(&mut self) {
        on_each!(self, iter => iter.next());
    }
    pub(crate) fn valid(&self) -> bool {
        on_each!(self, iter => iter.valid())
    }
    pub(crate) fn key(&self) -> &[u8] {
        on_each!(self, iter => iter.key())
    }
    pub(crate) fn value(&self) -> &[u8] {
        on_each!(self, iter => iter.value())
    }
    pub(crate) fn status(&self) -> ferrock::Result<()> {
        on_each!(self, iter => iter.status())
    }
}

/// Commands that know `--ttl`; to the others a value is what is stored.
const WITH_TTL: &[&str] = &[
    "get",
    "multi_get",
    "put",
    "batchput",
    "delete",
    "singledelete",
    "deleterange",
    "merge",
    "query",
    "scan",
    "dump",
    "load",
    "compact",
];

/// Whether `--ttl` is given, to a command that knows it.
fn has_ttl(request: &Request) -> Result<bool> {
    if !request.is_set("ttl") {
        return Ok(false);
    }
    if WITH_TTL.contains(&request.command) {
        return Ok(true);
    }
    let known = WITH_TTL.join(", ");
    Err(Failure::Usage(format!("--ttl is for {known}; {} works on what is stored", request.command)))
}

/// The families, whose values do not expire here: `ldb` drops nothing by age. Of a merge operator around another the
/// other one is taken, as opening with times puts the first around it.
fn with_times(families: Vec<(String, ColumnFamilyOptions)>) -> Result<Vec<TtlFamily>> {
    let mut with_times = Vec::with_capacity(families.len());
    for (name, mut options) in families {
        let stored = options.passthrough.iter().find(|(option, _)| *option == "merge_operator");
        let inner = stored.and_then(|(_, text)| text.split_once("user_operator=")).map(|(_, rest)| rest.trim_end());
        if let Some(inner) = inner {
            let inner = inner.strip_suffix('}').unwrap_or(inner);
            options.merge_operator = merge::built_in(inner.strip_suffix(';').unwrap_or(inner))?;
        }
        with_times.push((name, options, None));
    }
    Ok(with_times)
}

/// Flags that change how a database is opened.
const SHAPING: &[&str] = &[
    "disable_consistency_checks",
    "bloom_bits",
    "fix_prefix_len",
    "blob_compression_type",
    "blob_file_size",
    "compression_type",
    "compression_max_dict_bytes",
    "block_size",
    "auto_compaction",
    "db_write_buffer_size",
    "enable_blob_files",
    "enable_blob_garbage_collection",
    "min_blob_size",
    "write_buffer_size",
    "file_size",
];

/// Flags that open a database which follows another one.
const FOLLOWING: [&str; 2] = ["secondary_path", "leader_path"];

/// The directory of `--db`.
pub(crate) fn directory(request: &Request) -> Result<PathBuf> {
    request.get("db").map(PathBuf::from).ok_or_else(|| Failure::Usage("--db=<directory> must be given".to_owned()))
}

/// Opens for reading: nothing is written, not even a lock.
pub(crate) fn open_for_reading(request: &Request) -> Result<Opened> {
    let own = directory(request)?;
    // What a follower reads is its leader's.
    let leader = request.get("leader_path").map(PathBuf::from);
    let directory = leader.clone().unwrap_or_else(|| own.clone());
    if leader.is_some() && request.get("secondary_path").is_some() {
        return Err(Failure::Usage("--leader_path and --secondary_path: give one of them".to_owned()));
    }
    if has_ttl(request)? {
        if let Some(flag) = FOLLOWING.into_iter().find(|flag| request.get(flag).is_some()) {
            let what = format!("--{flag}: a database that follows another takes no times off values; leave out --ttl");
            return Err(Failure::Usage(what));
        }
        let (options, families) = options(request, &directory)?;
        let opened = TtlDb::open_read_only(&directory, options, with_times(families)?);
        let (ttl, families) = opened.map_err(|error| no_database(&directory, error))?;
        return opened_of(request, ttl.db().clone(), Some(ttl), families);
    }
    let (options, families) = if has_own_options(request) {
        let (options, families) = options(request, &directory)?;
        (options, Some(families))
    } else {
        (recovery_of(&directory), None)
    };
    let (db, families) = match request.get("secondary_path") {
        _ if leader.is_some() => Db::open_as_follower(&own, &directory, options, families),
        Some(own) => Db::open_as_secondary(&directory, own, options, families),
        None => Db::open_read_only(&directory, options, families),
    }
    .map_err(|error| no_database(&directory, error))?;
    opened_of(request, db, None, families)
}

/// Opens for writing.
pub(crate) fn open_for_writing(request: &Request) -> Result<Opened> {
    if let Some(flag) = FOLLOWING.into_iter().find(|flag| request.get(flag).is_some()) {
        let what = format!("--{flag}: a database that follows another is only read; leave it out to write");
        return Err(Failure::Usage(what));
    }
    let directory = directory(request)?;
    let creates = request.is_set("create_if_missing") && !exists(&directory)?;
    let new = || -> Result<(DbOptions, Vec<(String, ColumnFamilyOptions)>)> {
        let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        options.create_if_missing = true;
        shape(request, &mut options, &mut family)?;
        Ok((options, vec![("default".to_owned(), family)]))
    };
    if has_ttl(request)? {
        let (options, families) = if creates { new()? } else { options(request, &directory)? };
        let opened = TtlDb::open_cf(&directory, options, with_times(families)?);
        let (ttl, families) = opened.map_err(|error| no_database(&directory, error))?;
        return opened_of(request, ttl.db().clone(), Some(ttl), families);
    }
    let (db, families) = if creates {
        let (options, families) = new()?;
        Db::open_cf(&directory, options, families)
    } else if has_own_options(request) {
        let (options, families) = options(request, &directory)?;
        Db::open_cf(&directory, options, families)
    } else {
        Db::open_with_latest_options(&directory, recovery_of(&directory))
    }
    .map_err(|error| no_database(&directory, error))?;
    opened_of(request, db, None, families)
}

/// Options of a database and of its families.
pub(crate) type Shaped = (DbOptions, Vec<(String, ColumnFamilyOptions)>);

/// The options of the directory and of the command line, for [`open_shaped`].
pub(crate) fn shaped_options(request: &Request) -> Result<Shaped> {
    if let Some(flag) = ["secondary_path", "leader_path"].into_iter().find(|flag| request.get(flag).is_some()) {
        return Err(Failure::Usage(format!(
            "--{flag}: what follows another database only reads; leave it out to write"
        )));
    }
    has_ttl(request)?;
    options(request, &directory(request)?)
}

/// Opens for writing, with options of which `change` changes those of the family.
pub(crate) fn open_shaped(
    request: &Request,
    shaped: &Shaped,
    change: impl FnOnce(&mut ColumnFamilyOptions),
) -> Result<Opened> {
    let directory = directory(request)?;
    let (options, mut families) = shaped.clone();
    let chosen = request.get("column_family").unwrap_or("default");
    if let Some((_, family)) = families.iter_mut().find(|(name, _)| name == chosen) {
        change(family);
    }
    let opened = Db::open_cf(&directory, options, families);
    let (db, families) = opened.map_err(|error| no_database(&directory, error))?;
    opened_of(request, db, None, families)
}

/// Options whose recovery mode is the directory's own: the engine takes that from its caller.
fn recovery_of(directory: &Path) -> DbOptions {
    let mut options = DbOptions::default();
    let file_system = ferrock_vfs::default_file_system();
    // A file that cannot be read is reported by the open.
    if let Ok(Some(loaded)) = load_latest(&*file_system, directory) {
        options.wal_recovery_mode = loaded.db.wal_recovery_mode;
    }
    options
}

fn no_database(directory: &Path, error: ferrock::Error) -> Failure {
    if error.is_not_found() || error.kind() == ferrock::ErrorKind::NotFound {
        return Failure::NotDone(format!(
            "{error}: there is no database in {}; is --db right? --create_if_missing creates one for put, batchput and load",
            directory.display()
        ));
    }
    Failure::Engine(error)
}

fn exists(directory: &Path) -> Result<bool> {
    let file_system = ferrock_vfs::default_file_system();
    Ok(file_system.exists(&directory.join(ferrock_format::file_name::CURRENT))?)
}

fn opened_of(request: &Request, db: Db, ttl: Option<TtlDb>, families: Vec<ColumnFamily>) -> Result<Opened> {
    let name = request.get("column_family").unwrap_or("default");
    let known: Vec<String> = families.iter().map(|family| family.name().to_owned()).collect();
    let family = families.into_iter().find(|family| family.name() == name);
    let family = family.ok_or_else(|| {
        Failure::NotDone(format!("Non-existing column family {name}; there are {}", known.join(", ")))
    })?;
    Ok(Opened { db, family, ttl })
}

fn has_own_options(request: &Request) -> bool {
    request.get("try_load_options") == Some("false") || SHAPING.iter().any(|name| request.get(name).is_some())
}

/// The directory's options, or the defaults, overridden by the command line.
fn options(request: &Request, directory: &Path) -> Result<(DbOptions, Vec<(String, ColumnFamilyOptions)>)> {
    let file_system = ferrock_vfs::default_file_system();
    let names =
        Db::list_column_families(directory, &DbOptions::default()).map_err(|error| no_database(directory, error))?;
    let loads = request.get("try_load_options") != Some("false");
    let loaded = if loads { load_latest(&*file_system, directory)? } else { None }.unwrap_or_default();
    let mut options = loaded.db.clone();
    options.create_if_missing = false;
    options.error_if_exists = false;
    // RocksDB writes it into the OPTIONS file; here it would leave out the logs.
    options.best_efforts_recovery = false;
    let chosen = request.get("column_family").unwrap_or("default");
    let mut families = Vec::new();
    for name in names {
        let mut family = loaded.column_family(&name).cloned().unwrap_or_default();
        if name == chosen {
            shape(request, &mut options, &mut family)?;
        }
        families.push((name, family));
    }
    Ok((options, families))
}

/// Applies the flags of the command line.
fn shape(request: &Request, options: &mut DbOptions, family: &mut ColumnFamilyOptions) -> Result<()> {
    let is_size = |name: &str| -> Result<Option<u64>> {
        let Some(number) = request.number(name)? else { return Ok(None) };
        u64::try_from(number).map(Some).map_err(|_| Failure::Usage(format!("--{name}={number} is negative")))
    };
    if request.is_set("disable_consistency_checks") {
        family.settings.force_consistency_checks = false;
    }
    if let Some(bits) = is_size("bloom_bits")? {
        family.filter_policy = FilterPolicy::bloom(bits as f64);
    }
    if let Some(length) = is_size("fix_prefix_len")? {
        family.prefix_extractor = Some(PrefixExtractor::Fixed(usize::try_from(length).unwrap_or(usize::MAX)));
    }
    if let Some(kind) = request.get("compression_type") {
        family.settings.compression = compression("compression_type", kind)?;
    }
    if let Some(kind) = request.get("blob_compression_type") {
        family.settings.blob_compression_type = compression("blob_compression_type", kind)?;
    }
    // What an OPTIONS file has on stays on.
    family.settings.enable_blob_files |= request.is_set("enable_blob_files");
    family.settings.enable_blob_garbage_collection |= request.is_set("enable_blob_garbage_collection");
    if let Some(bytes) = is_size("compression_max_dict_bytes")? {
        family.settings.compression_opts.0.max_dict_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    }
    if let Some(on) = request.get("auto_compaction") {
        family.settings.disable_auto_compactions = on == "false";
    }
    let set = |name: &str, result: ferrock::Result<bool>| match result {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::Usage(format!("--{name}: {}", error.message()))),
    };
    if let Some(text) = request.get("block_size") {
        set("block_size", family.table.set("block_size", text))?;
    }
    if let Some(text) = request.get("db_write_buffer_size") {
        set("db_write_buffer_size", DbSettings::set(&mut options.settings, "db_write_buffer_size", text))?;
    }
    if let Some(text) = request.get("write_buffer_size") {
        set("write_buffer_size", family.settings.set("write_buffer_size", text))?;
    }
    for name in ["min_blob_size", "blob_file_size"] {
        if let Some(text) = request.get(name) {
            set(name, family.settings.set(name, text))?;
        }
    }
    if let Some(text) = request.get("file_size") {
        set("file_size", family.settings.set("target_file_size_base", text))?;
    }
    Ok(())
}

fn compression(option: &str, text: &str) -> Result<CompressionType> {
    Ok(match text {
        "no" => CompressionType::NoCompression,
        "snappy" => CompressionType::Snappy,
        "zlib" => CompressionType::Zlib,
        "bzip2" => CompressionType::BZip2,
        "lz4" => CompressionType::Lz4,
        "lz4hc" => CompressionType::Lz4Hc,
        "zstd" => CompressionType::Zstd,
        _ => {
            return Err(Failure::Usage(format!(
                "--{option}={text}: no, snappy, zlib, bzip2, lz4, lz4hc or zstd is expected"
            )));
        }
    })
}
