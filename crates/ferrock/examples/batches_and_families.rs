//! Batches and column families: several things change together, in several families.
//!
//!     cargo run -p ferrock --example batches_and_families

use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions, WriteBatch, WriteOptions};

pub fn main() -> ferrock::Result<()> {
    let directory = std::env::temp_dir().join("ferrock-batches-and-families");
    Db::destroy(&directory, &DbOptions::default())?;
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let db = Db::open(&directory, options)?;

    // A family has options, memtables and tables of its own; the log and the sequence numbers are shared.
    let accounts = db.create_column_family("accounts", ColumnFamilyOptions::default())?;
    let journal = db.create_column_family("journal", ColumnFamilyOptions::default())?;
    db.put_cf(&accounts, b"ada", b"100", &WriteOptions::default())?;
    db.put_cf(&accounts, b"bob", b"0", &WriteOptions::default())?;

    // All of a batch becomes visible at once, and after a crash all of it is there or nothing.
    let mut transfer = WriteBatch::new();
    transfer.put_cf(accounts.id(), b"ada", b"60")?;
    transfer.put_cf(accounts.id(), b"bob", b"40")?;
    transfer.put_cf(journal.id(), b"0001", b"ada -> bob: 40")?;
    db.write(transfer, &WriteOptions::synced())?;

    let keys = [(&accounts, &b"ada"[..]), (&accounts, b"bob"), (&journal, b"0001")];
    for (value, (family, key)) in db.multi_get_families(&ReadOptions::default(), &keys).into_iter().zip(keys) {
        println!("{}/{}: {}", family.name(), key.escape_ascii(), value?.as_deref().unwrap_or_default().escape_ascii());
    }
    assert_eq!(db.get_cf(&accounts, &ReadOptions::default(), b"bob")?.as_deref(), Some(&b"40"[..]));

    // A reopening names the families, or takes those that there are with the options they had.
    drop((accounts, journal));
    db.close()?;
    let (db, families) = Db::open_with_latest_options(&directory, DbOptions::default())?;
    println!("families: {:?}", families.iter().map(ferrock::ColumnFamily::name).collect::<Vec<_>>());
    assert_eq!(families.len(), 3, "default, accounts, journal");

    // A dropped family goes as a whole, however large it is.
    if let Some(journal) = db.column_family("journal") {
        db.drop_column_family(&journal)?;
    }
    assert!(db.column_family("journal").is_none());
    db.close()
}
