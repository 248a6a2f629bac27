//! What every program with the Rust binding does first: open, put, get, iterate, batch, close.

use rocksdb::{DB, IteratorMode, Options, WriteBatch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("a path is missing")?;
    let mut options = Options::default();
    options.create_if_missing(true);
    let db = DB::open(&options, &path)?;
    db.put(b"a", b"one")?;
    let mut batch = WriteBatch::default();
    batch.put(b"b", b"two");
    batch.put(b"c", b"three");
    db.write(batch)?;
    assert_eq!(db.get(b"b")?.as_deref(), Some(&b"two"[..]));
    let keys: Result<Vec<_>, _> = db.iterator(IteratorMode::Start).map(|entry| entry.map(|(key, _)| key)).collect();
    assert_eq!(keys?.concat(), b"abc");
    drop(db);
    println!("rocksdb: open, put, get, iterate, batch, close");
    Ok(())
}
