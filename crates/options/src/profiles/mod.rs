//! Options for a purpose: RocksDB's helpers under their names, and profiles, which say why they set what.
//!
//! ```text
//! helpers.rs    one function for each of RocksDB's helpers, with its values
//! settings.rs   what each profile sets: option, text, reason
//! mod.rs        Profile --apply--> options, and a ProfileReport: the differences, with the reasons
//! report.rs     the report as a table
//! ```
//!
//! A profile sets the options of its list and leaves all others as they are; of what an OPTIONS file cannot hold it
//! sets the block cache alone, and only where the database has none. Applied twice it changes nothing.
//! `docs/profiles.md` is written from these lists.

mod helpers;
mod report;
mod settings;
#[cfg(test)]
mod tests;

pub use report::{ProfileChange, ProfileReport};

use crate::differences::{OptionDifference, OptionSection, differences_between};
use crate::{CacheOptions, ColumnFamilyOptions, DbOptions, TableBlockCache};
use ferrock_base::Error;
use std::fmt;
use std::str::FromStr;

/// Options for a purpose.
///
/// ```
/// # mod ferrock { pub use ferrock_options::*; pub mod options { pub use ferrock_options::*; } }
/// use ferrock::options::Profile;
/// let profile: Profile = "write-heavy".parse().unwrap();
/// let (mut db, mut families) = (ferrock::DbOptions::default(), vec![("default".to_owned(), Default::default())]);
/// let report = profile.apply(&mut db, &mut families);
/// for change in &report.changes {
///     println!("{} = {:?}: {}", change.difference.name, change.difference.after, change.reason);
/// }
/// assert_eq!(db.max_background_jobs, 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Reads and writes on an SSD.
    Balanced,
    /// Lookups of single keys.
    PointLookup,
    /// More writes than levels can take.
    WriteHeavy,
    /// Long ranges in order.
    Scan,
    /// Little memory.
    Tiny,
    /// Devices of flash memory that writes wear out.
    Flash,
    /// All data is written before any is read.
    BulkLoad,
}

/// A block cache that profiles bring where there is none.
struct Cache {
    bytes: usize,
    reason: &'static str,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 7] =
        [Self::Balanced, Self::PointLookup, Self::WriteHeavy, Self::Scan, Self::Tiny, Self::Flash, Self::BulkLoad];

    /// The name, as `ferrock explain-config --profile` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Balanced => "balanced",
            Self::PointLookup => "point-lookup",
            Self::WriteHeavy => "write-heavy",
            Self::Scan => "scan",
            Self::Tiny => "tiny",
            Self::Flash => "flash",
            Self::BulkLoad => "bulk-load",
        }
    }

    /// What it is for, and what it costs.
    #[must_use]
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::Balanced => {
                "For reads and writes of all kinds on an SSD, with memory bounded by the cache; costs 10 bits of \
                 filter for each key, and the processor's time for Zstd in the last level."
            }
            Self::PointLookup => {
                "For lookups of single keys in data whose indexes and filters fit into memory; costs that memory, \
                 which grows with the data, and blocks that compress less well."
            }
            Self::WriteHeavy => {
                "For more writes than levels can take; costs up to 768 MiB of memtables for each family, reads of a \
                 dozen sorted runs, and while runs are merged up to twice the space."
            }
            Self::Scan => {
                "For reads of long ranges; costs lookups of single keys, which read and decode 32 KiB for each and \
                 have no filters, and more compaction of level 0."
            }
            Self::Tiny => {
                "For little memory, about 20 MiB whatever the number of families; costs speed: small memtables are \
                 flushed and compacted often, and tables are opened again and again."
            }
            Self::Flash => {
                "For devices of flash memory, with few bytes written and many requests at once; costs up to 512 MiB of \
                 memtables for each family, and the processor's time for Zstd and Ribbon filters."
            }
            Self::BulkLoad => {
                "For writing all data before any is read: nothing is compacted until `compact_range`, and no writer \
                 waits for compactions; costs reads, which ask every flushed table, and up to 384 MiB of memtables for \
                 each family. Afterwards the database is opened with other options."
            }
        }
    }

    fn cache(self) -> Option<Cache> {
        let (mib, reason) = match self {
            Self::Balanced => (256, "indexes, filters and the blocks in use share it; 32 MiB are few for them"),
            Self::PointLookup => (512, "a lookup of a block in memory reads nothing"),
            Self::Flash => {
                (256, "indexes, filters and the blocks in use share it; reads of it cost the device nothing")
            }
            Self::Tiny => (8, "blocks, indexes and filters together"),
            Self::WriteHeavy | Self::Scan | Self::BulkLoad => return None,
        };
        Some(Cache { bytes: mib << 20, reason })
    }

    /// Sets the options of a database and of its families, and says what it changed. Other options stay.
    ///
    /// A database that has a block cache, or a memory budget, keeps it.
    pub fn apply(self, db: &mut DbOptions, families: &mut [(String, ColumnFamilyOptions)]) -> ProfileReport {
        let (db_before, families_before) = (db.clone(), families.to_vec());
        settings::set_db(self, db);
        for (_, family) in families.iter_mut() {
            settings::set_family(self, family);
        }
        let differences = differences_between((&db_before, &families_before), (db, families));
        let changes = differences.into_iter().map(|difference| {
            let reason = self.reason_of(&difference);
            ProfileChange { difference, reason }
        });
        let changes = changes.chain(self.bring_cache(db)).collect();
        ProfileReport { profile: self, changes }
    }

    /// Sets the options of a database alone: see [`apply`](Self::apply).
    pub fn apply_to_database(self, db: &mut DbOptions) -> ProfileReport {
        self.apply(db, &mut [])
    }

    /// Sets the options of one family, as of one that is created later: see [`apply`](Self::apply).
    pub fn apply_to_family(self, name: &str, family: &mut ColumnFamilyOptions) -> ProfileReport {
        // The database's half is set on defaults that nothing sees, and left out of the report.
        let mut one = [(name.to_owned(), family.clone())];
        let mut report = self.apply(&mut DbOptions::default(), &mut one);
        report
            .changes
            .retain(|change| !matches!(change.difference.section, OptionSection::Database | OptionSection::Component));
        let [(_, set)] = one;
        *family = set;
        report
    }

    fn reason_of(self, difference: &OptionDifference) -> &'static str {
        let settings = settings::of(self).iter();
        let mut of_name = settings.filter(|setting| setting.name == difference.name);
        let found = of_name.find(|setting| setting.half.has(&difference.section));
        // Tables of another factory bring all of their options.
        found.map_or("comes with block-based tables", |setting| setting.reason)
    }

    fn bring_cache(self, db: &mut DbOptions) -> Option<ProfileChange> {
        let Cache { bytes, reason } = self.cache()?;
        let components = &mut db.components;
        if components.block_cache.is_some() || components.memory_budget.is_some() {
            return None;
        }
        let options = CacheOptions { capacity_bytes: bytes, ..CacheOptions::default() };
        let before = CacheOptions::default().capacity_bytes;
        components.block_cache = Some(TableBlockCache::new(options));
        let difference = OptionDifference {
            section: OptionSection::Component,
            name: "block_cache".to_owned(),
            before: Some(before.to_string()),
            after: Some(bytes.to_string()),
        };
        Some(ProfileChange { difference, reason })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = Error;

    /// Reads a name; `_` and no sign at all do for `-`, and letters may be capitals.
    ///
    /// # Errors
    /// `InvalidArgument` with the names that there are.
    fn from_str(text: &str) -> Result<Self, Error> {
        let plain = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
        let found = Self::ALL.into_iter().find(|profile| plain(profile.name()) == plain(text.trim()));
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid_argument(format!("{text:?} is no profile: it is one of {names}"))
        })
    }
}

impl DbOptions {
    /// The database's half of [`Profile::Tiny`]. Memtables of all families together, open tables and the cache are
    /// bounded by it, whatever the families' options; [`ColumnFamilyOptions::for_little_memory`] is the other half.
    ///
    /// ```
    /// # extern crate ferrock_options as ferrock;
    /// let mut options = ferrock::DbOptions::for_little_memory();
    /// options.create_if_missing = true;
    /// let families = vec![("default".to_owned(), ferrock::ColumnFamilyOptions::for_little_memory())];
    /// // ... Db::open_cf(path, options, families)
    /// # let _ = families;
    /// ```
    #[must_use]
    pub fn for_little_memory() -> Self {
        Self::for_profile(Profile::Tiny)
    }

    /// The database's half of [`Profile::Flash`]; [`ColumnFamilyOptions::for_flash`] is the other one.
    #[must_use]
    pub fn for_flash() -> Self {
        Self::for_profile(Profile::Flash)
    }

    /// The database's half of [`Profile::BulkLoad`]. Without the other half,
    /// [`ColumnFamilyOptions::for_bulk_load`], families are compacted while they are loaded.
    #[must_use]
    pub fn for_bulk_load() -> Self {
        Self::for_profile(Profile::BulkLoad)
    }

    /// The defaults, and the database's half of a profile.
    #[must_use]
    pub fn for_profile(profile: Profile) -> Self {
        let mut options = Self::default();
        profile.apply_to_database(&mut options);
        options
    }
}

impl ColumnFamilyOptions {
    /// The families' half of [`Profile::Tiny`]: see [`DbOptions::for_little_memory`].
    #[must_use]
    pub fn for_little_memory() -> Self {
        Self::for_profile(Profile::Tiny)
    }

    /// The families' half of [`Profile::Flash`]: see [`DbOptions::for_flash`].
    #[must_use]
    pub fn for_flash() -> Self {
        Self::for_profile(Profile::Flash)
    }

    /// The families' half of [`Profile::BulkLoad`]: see [`DbOptions::for_bulk_load`].
    #[must_use]
    pub fn for_bulk_load() -> Self {
        Self::for_profile(Profile::BulkLoad)
    }

    /// The defaults, and the families' half of a profile.
    #[must_use]
    pub fn for_profile(profile: Profile) -> Self {
        let mut options = Self::default();
        profile.apply_to_family("default", &mut options);
        options
    }
}
