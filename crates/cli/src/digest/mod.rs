//! `ferrock digest`: hashes the content of a database.
//!
//! ```text
//! mod.rs      arguments, opening       scan.rs   the canonical dump of a column family, hashed
//! report.rs   JSON and table           keys.rs   lookups listed in a file
//! ```
//!
//! The database is opened read-only through the public API, with the options that its
//! own directory has. Two databases with equal digests hold the same entries, whatever
//! their files look like; equal digests before and after a migration, a compaction or a
//! repair prove that nothing was lost.

mod keys;
mod report;
mod scan;

use crate::failure::{Failure, Outcome, Result};
use crate::output;
use clap::{Args, ValueEnum};
use ferrock::{Db, DbOptions, ReadOptions, options};
use ferrock_vfs::FileSystem;
use keys::{KeyList, LookupResult};
use report::{DigestReport, FamilyReport};
use scan::{Direction, scan};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrock digest DIR                      one line per column family, for people
  ferrock digest DIR --json               the same as JSON, with the forward and the backward scan
  ferrock digest DIR --json --keys FILE   look up keys too; each line of FILE is FAMILY<tab>KEY-IN-HEX
  printf 'default\\t6b6579\\n' | ferrock digest DIR --keys -
                                          look up the key `key` of the family `default`
  ferrock digest DIR --wal-recovery-mode tolerate_corrupted_tail_records
                                          read the log under another rule than the database's own

The digest of a family is the SHA-256 of all its entries in key order, each as
  u32le(length of key) key u32le(length of value) value
with merges applied. The backward scan hashes the same entries from the last to the first.

Exit codes: 0 everything was read, 1 a scan or a lookup failed (damage), 2 the database does not open,
64 the command line or the file of keys is wrong.";

/// Arguments of `ferrock digest`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DigestArgs {
    /// Directory of the database (written by Ferrock or RocksDB). Nothing in it is changed.
    dir: PathBuf,
    /// Print JSON; also when the database does not open.
    #[arg(long)]
    json: bool,
    /// Look up the keys that this file names, one `FAMILY<tab>KEY-IN-HEX` a line; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// What damage in the write-ahead log is accepted; by default what the database's OPTIONS file says.
    #[arg(long, value_name = "MODE", value_enum)]
    wal_recovery_mode: Option<RecoveryMode>,
}

/// The recovery modes under the names that RocksDB's statistics use.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum RecoveryMode {
    /// Everything before the first damaged record.
    PointInTime,
    /// Any damage refuses the database.
    AbsoluteConsistency,
    /// An incomplete end is fine, damage in the middle refuses the database.
    TolerateCorruptedTailRecords,
    /// Damaged records are passed over.
    SkipAnyCorruptedRecords,
}

impl RecoveryMode {
    fn apply(self, options: &mut DbOptions) {
        use options::WalRecoveryMode as Mode;
        options.wal_recovery_mode = match self {
            Self::PointInTime => Mode::PointInTimeRecovery,
            Self::AbsoluteConsistency => Mode::AbsoluteConsistency,
            Self::TolerateCorruptedTailRecords => Mode::TolerateCorruptedTailRecords,
            Self::SkipAnyCorruptedRecords => Mode::SkipAnyCorruptedRecords,
        };
    }
}

/// Runs `ferrock digest`.
pub(crate) fn run(args: &DigestArgs) -> Result<Outcome> {
    let file_system = ferrock_vfs::default_file_system();
    let keys = match &args.keys {
        Some(path) => KeyList::read(&*file_system, path)?,
        None => KeyList::default(),
    };
    let report = match open(args, &*file_system) {
        Ok((db, families)) => {
            keys.check_families(families.iter().map(ferrock::ColumnFamily::name))?;
            DigestReport {
                open: Ok(()),
                latest_sequence_number: Some(db.latest_sequence_number().0),
                families: families.iter().map(|family| digest_family(&db, family, &keys)).collect(),
            }
        }
        Err(error) => DigestReport { open: Err(error), latest_sequence_number: None, families: Vec::new() },
    };
    if args.json {
        output::say_json(&report.to_json())?;
    } else {
        report.print()?;
    }
    Ok(report.outcome())
}

fn open(args: &DigestArgs, file_system: &dyn FileSystem) -> ferrock::Result<(Db, Vec<ferrock::ColumnFamily>)> {
    // Without families the engine takes the directory's own options, but for the recovery mode. If the OPTIONS file
    // cannot be read, the engine uses the defaults and logs that.
    let own = options::load_latest(file_system, &args.dir).ok().flatten();
    let mut db_options = DbOptions::default();
    match args.wal_recovery_mode {
        Some(mode) => mode.apply(&mut db_options),
        None => db_options.wal_recovery_mode = own.map_or(db_options.wal_recovery_mode, |own| own.db.wal_recovery_mode),
    }
    Db::open_read_only(&args.dir, db_options, None)
}

fn digest_family(db: &Db, family: &ferrock::ColumnFamily, keys: &KeyList) -> FamilyReport {
    // Prefix filters must not hide anything, and one pass over everything has no use for a cache.
    let options = ReadOptions { total_order_seek: true, fill_cache: false, ..ReadOptions::default() };
    FamilyReport {
        name: family.name().to_owned(),
        comparator: family.comparator().name().to_owned(),
        forward: scan(db, family, &options, Direction::Forward),
        backward: scan(db, family, &options, Direction::Backward),
        lookups: keys
            .of_family(family.name())
            .map(|key| LookupResult { key: key.to_vec(), value: lookup(db, family, key) })
            .collect(),
    }
}

fn lookup(db: &Db, family: &ferrock::ColumnFamily, key: &[u8]) -> ferrock::Result<Option<Vec<u8>>> {
    Ok(db.get_cf(family, &ReadOptions::default(), key)?.map(|value| value.to_vec()))
}

impl From<keys::KeyListError> for Failure {
    fn from(error: keys::KeyListError) -> Self {
        match error {
            keys::KeyListError::File(error) => Self::Engine(error),
            keys::KeyListError::Content(message) => Self::Usage(message),
            keys::KeyListError::StandardInput(error) => Self::Io("standard input", error),
        }
    }
}
