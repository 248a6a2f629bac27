//! Profiles: options for a purpose, which say what they change and why.
//!
//!     cargo run --release -p ferrock --example profiles
//!
//! A load without compactions comes first. Then the database is opened for reads and writes of all kinds, and the
//! report of that profile is printed.

use ferrock::options::Profile;
use ferrock::{ColumnFamilyOptions, Db, DbOptions};

const KEYS: u64 = 50_000;

pub fn main() -> ferrock::Result<()> {
    let directory = std::env::temp_dir().join("ferrock-profiles");
    Db::destroy(&directory, &DbOptions::default())?;

    // Both halves: one of the database, one of its families.
    let mut options = DbOptions::for_bulk_load();
    options.create_if_missing = true;
    let families = vec![("default".to_owned(), ColumnFamilyOptions::for_bulk_load())];
    let (db, _) = Db::open_cf(&directory, options, families)?;
    for number in 0..KEYS {
        db.put(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes(), b"value")?;
    }
    db.flush()?;
    db.compact_range(None, None)?;
    db.close()?;

    // From now on: a profile for everyday work, and one option that this program knows better.
    let mut options = DbOptions::default();
    let mut families = vec![("default".to_owned(), ColumnFamilyOptions::default())];
    let report = Profile::Balanced.apply(&mut options, &mut families);
    println!("{report}");
    families[0].1.write_buffer_size = 16 << 20;
    let (db, _) = Db::open_cf(&directory, options, families)?;
    let mut found = 0;
    for number in 0..KEYS {
        found += u64::from(db.get(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())?.is_some());
    }
    println!("{found} of {KEYS} keys are there");
    assert_eq!(found, KEYS);
    assert!(!report.changes.is_empty());
    db.close()
}
