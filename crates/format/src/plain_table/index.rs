//! The hash index: from the prefix of a key to places in the file.
//!
//! ```text
//! | buckets varint32 | prefixes varint32 | bucket u32 * buckets | sub-indexes |
//!
//! bucket      7fffffff            empty
//!             high bit clear      offset of the only record of the bucket
//!             high bit set        the low 31 bits are the place of a sub-index behind the buckets
//! sub-index   | count varint32 | file offset u32 * count |        ascending, and so are the keys there
//! ```
//!
//! The bucket of a prefix is `hash32(prefix, 397) mod buckets`. A table without a prefix extractor has one bucket, and
//! its prefixes are empty. The index names the first record of every prefix and then every n-th record of it; with
//! prefix encoding these are the records whose keys are stored in full.

use ferrock_base::coding::{get_fixed32, get_varint32, put_varint32};
use ferrock_base::hash::hash32;
use ferrock_base::{Error, Result};

const SEED: u32 = 397;
const IN_SUB_INDEX: u32 = 1 << 31;
const EMPTY: u32 = IN_SUB_INDEX - 1;
/// As many buckets as an index of less than 2 GiB can have.
const MAX_BUCKETS: u32 = 1 << 29;

/// The hash of a prefix, for buckets and filter.
#[inline]
#[must_use]
pub fn prefix_hash(prefix: &[u8]) -> u32 {
    hash32(prefix, SEED)
}

/// Where the parts of an index block lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainIndex {
    buckets: u32,
    prefixes: u32,
    buckets_at: usize,
    sub_indexes_at: usize,
}

/// What a bucket says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket<'a> {
    /// No record has a prefix of this bucket.
    Empty,
    /// The offset of the only record of the bucket that the index names.
    One(u32),
    /// Several.
    Many(Offsets<'a>),
}

/// Offsets in a file, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets<'a> {
    bytes: &'a [[u8; 4]],
}

impl Offsets<'_> {
    /// How many.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True for none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// One of them.
    #[inline]
    #[must_use]
    pub fn get(&self, position: usize) -> Option<u32> {
        self.bytes.get(position).map(|bytes| u32::from_le_bytes(*bytes))
    }
}

impl PlainIndex {
    /// Finds the parts of an index block.
    ///
    /// # Errors
    /// `Corruption` for a block without buckets, or one that is too short for its buckets.
    pub fn parse(block: &[u8]) -> Result<Self> {
        let head = || {
            let (buckets, first) = get_varint32(block)?;
            let (prefixes, second) = get_varint32(&block[first..])?;
            let buckets_at = first + second;
            let sub_indexes_at = usize::try_from(buckets).ok()?.checked_mul(4)?.checked_add(buckets_at)?;
            let fits = buckets > 0 && sub_indexes_at <= block.len();
            fits.then_some(Self { buckets, prefixes, buckets_at, sub_indexes_at })
        };
        head().ok_or_else(|| bad("has no room for its buckets", 0))
    }

    /// Buckets.
    #[must_use]
    pub fn buckets(&self) -> u32 {
        self.buckets
    }

    /// Different prefixes, as the writer counted them.
    #[must_use]
    pub fn prefixes(&self) -> u32 {
        self.prefixes
    }

    /// The bucket of a hash.
    ///
    /// # Errors
    /// Those of [`bucket`](Self::bucket).
    #[inline]
    pub fn lookup<'a>(&self, block: &'a [u8], hash: u32) -> Result<Bucket<'a>> {
        self.bucket(block, hash % self.buckets)
    }

    /// A bucket of the block that the index was parsed from.
    ///
    /// # Errors
    /// `Corruption` for a bucket whose sub-index does not lie in the block.
    #[inline]
    pub fn bucket<'a>(&self, block: &'a [u8], bucket: u32) -> Result<Bucket<'a>> {
        let at = self.buckets_at + 4 * bucket as usize;
        let value = get_fixed32(block, at).ok_or_else(|| bad("has no such bucket", at))?;
        if value & IN_SUB_INDEX == 0 {
            return Ok(if value == EMPTY { Bucket::Empty } else { Bucket::One(value) });
        }
        let offsets = || {
            let rest = block.get(self.sub_indexes_at..)?.get((value ^ IN_SUB_INDEX) as usize..)?;
            let (count, length) = get_varint32(rest)?;
            rest[length..].as_chunks::<4>().0.get(..count as usize)
        };
        let bytes = offsets().ok_or_else(|| bad("names a sub-index that does not lie in it", at))?;
        Ok(if bytes.is_empty() { Bucket::Empty } else { Bucket::Many(Offsets { bytes }) })
    }

    /// Every offset of the index, ascending: the places of a file to begin reading at.
    ///
    /// # Errors
    /// Those of [`bucket`](Self::bucket); `Corruption` when there are more offsets than the block has room for.
    pub fn all_offsets(&self, block: &[u8]) -> Result<Vec<u32>> {
        let mut all = Vec::new();
        for number in 0..self.buckets {
            match self.bucket(block, number)? {
                Bucket::Empty => {}
                Bucket::One(offset) => all.push(offset),
                Bucket::Many(offsets) => all.extend(offsets.bytes.iter().map(|bytes| u32::from_le_bytes(*bytes))),
            }
            if all.len() > block.len() / 4 {
                return Err(bad("has buckets that share a sub-index", self.buckets_at));
            }
        }
        all.sort_unstable();
        Ok(all)
    }
}

#[cold]
fn bad(what: &str, at: usize) -> Error {
    Error::corruption(format!("plain table index: {what}")).at_offset(at as u64)
}

/// Makes an index of the records in the order of the file.
#[derive(Debug)]
pub struct IndexMaker {
    /// Buckets for each prefix; `None` for one bucket in all.
    buckets_per_prefix: Option<f64>,
    sparseness: usize,
    /// Hash of the prefix and offset.
    records: Vec<(u32, u32)>,
    prefix: Vec<u8>,
    prefix_hash: u32,
    prefixes: u32,
    keys_of_prefix: usize,
    is_due: bool,
}

impl IndexMaker {
    /// An index that names every `sparseness`-th record of a prefix, 0 as 1. `hash_table_ratio` is the number of
    /// prefixes for each bucket; 0 makes one bucket.
    #[must_use]
    pub fn new(hash_table_ratio: f64, sparseness: usize) -> Self {
        let buckets_per_prefix = (hash_table_ratio > 0.0).then(|| 1.0 / hash_table_ratio);
        Self {
            buckets_per_prefix,
            sparseness: sparseness.max(1),
            records: Vec::new(),
            prefix: Vec::new(),
            prefix_hash: 0,
            prefixes: 0,
            keys_of_prefix: 0,
            is_due: true,
        }
    }

    /// Adds the record at `offset`. One that reading cannot begin at is not named: the next one is, instead. Returns
    /// true when the record is the first one of its prefix.
    #[inline]
    pub fn add(&mut self, prefix: &[u8], offset: u32, can_begin: bool) -> bool {
        let is_first = self.prefixes == 0 || self.prefix != prefix;
        if is_first {
            self.prefixes = self.prefixes.saturating_add(1);
            self.keys_of_prefix = 0;
            self.prefix.clear();
            self.prefix.extend_from_slice(prefix);
            self.prefix_hash = prefix_hash(prefix);
            self.is_due = true;
        }
        if self.is_due && can_begin {
            self.records.push((self.prefix_hash, offset));
            self.is_due = false;
        }
        self.keys_of_prefix += 1;
        self.is_due |= self.keys_of_prefix.is_multiple_of(self.sparseness);
        is_first
    }

    /// Different prefixes so far.
    #[must_use]
    pub fn prefixes(&self) -> u32 {
        self.prefixes
    }

    /// Hash of the prefix and offset of each record that the index names, in the order of the file.
    #[must_use]
    pub fn records(&self) -> &[(u32, u32)] {
        &self.records
    }

    /// The bytes of the index block.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let buckets = match self.buckets_per_prefix {
            Some(factor) => ((f64::from(self.prefixes) * factor) as u32).min(MAX_BUCKETS - 1) + 1,
            None => 1,
        };
        let bucket_of = |hash: u32| (hash % buckets) as usize;
        let mut counts = vec![0_u32; buckets as usize];
        for (hash, _) in &self.records {
            counts[bucket_of(*hash)] += 1;
        }
        let mut block = Vec::new();
        put_varint32(&mut block, buckets);
        put_varint32(&mut block, self.prefixes);
        let buckets_at = block.len();
        let sub_indexes_at = buckets_at + 4 * buckets as usize;
        block.resize(sub_indexes_at, 0);
        // Where the next offset of a bucket goes.
        let mut places = vec![0; buckets as usize];
        for (bucket, &count) in counts.iter().enumerate() {
            let at = buckets_at + 4 * bucket;
            let mut value = EMPTY;
            places[bucket] = at;
            if count > 1 {
                value = (block.len() - sub_indexes_at) as u32 | IN_SUB_INDEX;
                put_varint32(&mut block, count);
                places[bucket] = block.len();
                block.resize(block.len() + 4 * count as usize, 0);
            }
            block[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        for (hash, offset) in self.records {
            let place = &mut places[bucket_of(hash)];
            block[*place..*place + 4].copy_from_slice(&offset.to_le_bytes());
            *place += 4;
        }
        block
    }
}
