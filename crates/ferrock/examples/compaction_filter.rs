//! A compaction filter: entries that are too old go when their tables are compacted, and cost no delete.
//!
//!     cargo run -p ferrock --example compaction_filter

use ferrock::options::{CompactionFilter, FilterContext, FilterDecision};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions, ValueType};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Removes values whose first eight bytes are a moment before `now`.
#[derive(Default)]
struct Expiry {
    now: AtomicU64,
    removed: AtomicU64,
}

impl CompactionFilter for Expiry {
    fn name(&self) -> &str {
        "example.Expiry"
    }

    /// Called for the newest version of each key that a compaction writes; versions that a snapshot sees are left
    /// alone.
    fn filter(&self, _: &FilterContext, _key: &[u8], kind: ValueType, value: &[u8]) -> FilterDecision {
        let expires = value.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
        match expires {
            Some(expires) if kind == ValueType::Value && expires < self.now.load(Ordering::Relaxed) => {
                self.removed.fetch_add(1, Ordering::Relaxed);
                FilterDecision::Remove
            }
            _ => FilterDecision::Keep,
        }
    }
}

pub fn main() -> ferrock::Result<()> {
    let directory = std::env::temp_dir().join("ferrock-compaction-filter");
    Db::destroy(&directory, &DbOptions::default())?;
    let expiry = Arc::new(Expiry::default());
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let mut family = ColumnFamilyOptions::default();
    family.compaction_filter = Some(Arc::clone(&expiry) as Arc<dyn CompactionFilter>);
    let (db, _) = Db::open_cf(&directory, options, vec![("default".to_owned(), family)])?;

    for session in 0..1000u64 {
        let expires = 100 + session;
        db.put(format!("session/{session:04}").as_bytes(), &[&expires.to_be_bytes()[..], b"data"].concat())?;
    }
    db.flush()?;

    expiry.now.store(600, Ordering::Relaxed);
    db.compact_range(None, None)?;
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    println!("{} removed; the oldest left is {}", expiry.removed.load(Ordering::Relaxed), iter.key().escape_ascii());
    assert_eq!(iter.key(), b"session/0500");
    assert_eq!(expiry.removed.load(Ordering::Relaxed), 500);
    iter.status()?;
    drop(iter);
    db.close()
}
