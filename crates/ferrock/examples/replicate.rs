//! One database as a copy of another: the updates of the logs, taken in steps, and again after each of them was closed.
//!
//!     cargo run -p ferrock --example replicate
//!
//! The copy keeps how far it is in a family of its own, in the same batch as what it takes: after a crash it goes on
//! behind the last batch that it has. Families are known by their ids, so both databases create them in one order.

use ferrock::{
    ColumnFamily, ColumnFamilyOptions, Db, DbOptions, ReadOptions, SequenceNumber, WalReadOptions, WriteOptions,
};
use std::path::Path;

const FAMILIES: [&str; 3] = ["default", "users", "progress"];

fn open(directory: &Path) -> ferrock::Result<(Db, Vec<ColumnFamily>)> {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    // For as long as the copy may be away: what goes earlier is missing, which `next_batch` reports.
    options.wal_ttl_seconds = 24 * 3600;
    Db::open_cf(directory, options, FAMILIES.map(|name| (name.to_owned(), ColumnFamilyOptions::default())).to_vec())
}

/// Takes everything that the source has more; how many batches that were.
fn catch_up(source: &Db, copy: &Db, progress: &ColumnFamily) -> ferrock::Result<usize> {
    let kept = copy.get_cf(progress, &ReadOptions::default(), b"taken")?;
    let taken = kept.and_then(|bytes| Some(u64::from_le_bytes(bytes[..].try_into().ok()?)));
    let next = SequenceNumber(taken.unwrap_or(0) + 1);
    let mut updates = source.updates_since(next, WalReadOptions::default())?;
    let mut batches = 0;
    while let Some(update) = updates.next_batch()? {
        let taken = update.last_sequence().0;
        let mut batch = update.batch;
        batch.put_cf(progress.id(), b"taken", &taken.to_le_bytes())?;
        copy.write(batch, &WriteOptions::default())?;
        batches += 1;
    }
    Ok(batches)
}

pub fn main() -> ferrock::Result<()> {
    let places = ["source", "copy"].map(|name| std::env::temp_dir().join(format!("ferrock-replicate-{name}")));
    for place in &places {
        Db::destroy(place, &DbOptions::default())?;
    }
    for round in 0..3u64 {
        let (source, families) = open(&places[0])?;
        let (copy, copied) = open(&places[1])?;
        for number in 0..100u64 {
            source.put(&(round * 100 + number).to_be_bytes(), b"value")?;
        }
        source.put_cf(&families[1], b"ada", &round.to_be_bytes(), &WriteOptions::default())?;
        // Its log goes to the archive, where the copy finds it.
        source.flush()?;
        source.delete(&(round * 100).to_be_bytes())?;
        let batches = catch_up(&source, &copy, &copied[2])?;
        println!("round {round}: {batches} batches");
        assert_eq!(batches, 102);
        assert_eq!(catch_up(&source, &copy, &copied[2])?, 0);
        assert_eq!(
            copy.get_cf(&copied[1], &ReadOptions::default(), b"ada")?.as_deref(),
            Some(&round.to_be_bytes()[..])
        );
        assert!(copy.get(&(round * 100).to_be_bytes())?.is_none());
        assert!(copy.get(&(round * 100 + 1).to_be_bytes())?.is_some());
    }
    Ok(())
}
