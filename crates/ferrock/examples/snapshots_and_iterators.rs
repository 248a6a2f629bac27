//! Snapshots and iterators: reading as of a moment, forward, backward and within bounds.
//!
//!     cargo run -p ferrock --example snapshots_and_iterators

use ferrock::{Db, DbOptions, ReadOptions};

pub fn main() -> ferrock::Result<()> {
    let directory = std::env::temp_dir().join("ferrock-snapshots-and-iterators");
    Db::destroy(&directory, &DbOptions::default())?;
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let db = Db::open(&directory, options)?;
    for month in 1..=12 {
        db.put(format!("2026-{month:02}").as_bytes(), format!("{}", month * 10).as_bytes())?;
    }

    // What is written later is invisible to the snapshot, and to iterators that exist already.
    let before = db.snapshot();
    db.delete_range(b"2026-01", b"2026-07")?;
    db.put(b"2026-12", b"999")?;
    let as_of = ReadOptions { snapshot: Some(before), ..ReadOptions::default() };
    assert_eq!(db.get_with(&as_of, b"2026-12")?.as_deref(), Some(&b"120"[..]));
    assert_eq!(db.get(b"2026-01")?.as_deref(), None);

    // Bounds are better than a comparison in the loop: an iterator reads nothing behind them.
    let quarter =
        ReadOptions { lower_bound: Some(b"2026-04".to_vec()), upper_bound: Some(b"2026-07".to_vec()), ..as_of.clone() };
    let mut iter = db.iter(&quarter);
    let mut sum = 0u64;
    iter.seek_to_first();
    while iter.valid() {
        sum += std::str::from_utf8(iter.value()).ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        iter.next();
    }
    // `valid` is false at the end and after an error: only `status` tells them apart.
    iter.status()?;
    println!("second quarter, as of the snapshot: {sum}");
    assert_eq!(sum, 40 + 50 + 60);

    // Backward, with the number of rows that are wanted: the first request brings no more than these need.
    let newest = ReadOptions { limit_hint: 3, ..ReadOptions::default() };
    let mut iter = db.iter(&newest);
    let mut months = Vec::new();
    iter.seek_to_last();
    while iter.valid() && months.len() < 3 {
        months.push(String::from_utf8_lossy(iter.key()).into_owned());
        iter.prev();
    }
    iter.status()?;
    println!("the newest three: {months:?}");
    assert_eq!(months, ["2026-12", "2026-11", "2026-10"]);

    // A snapshot holds old versions of everything: the handles should go when they are of no more use.
    drop((iter, as_of, quarter));
    db.close()
}
