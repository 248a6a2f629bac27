//! A merge operator: counters and sets that are updated without being read.
//!
//!     cargo run -p ferrock --example merge_operator

use ferrock::options::MergeOperator;
use ferrock::{Db, DbOptions, ReadOptions};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Keeps a sorted set of words, separated by commas. An operand adds a word, or removes it when it begins with `-`.
struct WordSet;

impl WordSet {
    fn apply(words: &mut BTreeSet<Vec<u8>>, operand: &[u8]) {
        match operand.strip_prefix(b"-") {
            Some(word) => words.remove(word),
            None => words.insert(operand.to_vec()),
        };
    }
}

impl MergeOperator for WordSet {
    /// Written into every table: a database opened with an operator of another name is refused.
    fn name(&self) -> &str {
        "example.WordSet"
    }

    /// From the value that was there and the operands, oldest first, to the value. `false` is a failure: the read says
    /// so.
    fn full_merge(&self, _key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let existing = existing.unwrap_or_default();
        let mut words: BTreeSet<Vec<u8>> =
            existing.split(|byte| *byte == b',').filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect();
        operands.iter().for_each(|operand| Self::apply(&mut words, operand));
        out.extend_from_slice(&words.into_iter().collect::<Vec<_>>().join(&b','));
        true
    }
}

pub fn main() -> ferrock::Result<()> {
    let directory = std::env::temp_dir().join("ferrock-merge-operator");
    Db::destroy(&directory, &DbOptions::default())?;
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    let mut family = ferrock::ColumnFamilyOptions::default();
    family.merge_operator = Some(Arc::new(WordSet));
    let (db, _) = Db::open_cf(&directory, options, vec![("default".to_owned(), family)])?;

    // Each merge is one small write. Nothing is read, so nothing has to be locked.
    for word in [&b"rust"[..], b"lsm", b"rust", b"cache", b"-lsm"] {
        db.merge(b"tags", word)?;
    }
    let tags = db.get(b"tags")?.map(|value| value.to_vec()).unwrap_or_default();
    println!("tags: {}", tags.escape_ascii());
    assert_eq!(tags, b"cache,rust");

    // A compaction folds the operands into one value.
    db.flush()?;
    db.compact_range(None, None)?;
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    assert_eq!((iter.key(), iter.value()), (&b"tags"[..], &b"cache,rust"[..]));
    iter.status()?;
    drop(iter);
    db.close()
}
