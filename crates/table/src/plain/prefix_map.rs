//! Filter and hash index in one: made when a table with prefixes is opened that has no index in its file.
//!
//! ```text
//! line     | tag u16 * 10 | place u32 * 10 | count u8 | is_passed u8 |      64 bytes: one line of the cache
//!
//! tag      16 bits of the hash of a prefix
//! place    high bit clear      offset of the only record of the prefix that the index names
//!          high bit set        the low 31 bits are the place of a list
//! list     | count u32 | offset u32 * count |                               ascending, and so are the keys there
//! ```
//!
//! A prefix is in its home line or, where that was full, in the first line behind it that had room; each line that it
//! went by is passed. So a lookup of a key reads one line and one record, and one of an absent key reads one line.
//!
//! What the format stores ([`ferrock_format::plain_table::PlainIndex`], with a filter before it) takes as much memory
//! and more lines of the cache: one of the filter, one of the bucket, and where two prefixes share a bucket, which half
//! of them do, one of the sub-index and a record of the other prefix. With 3,000,000 keys a lookup took 1.2 to 1.4
//! times as long with it (`dev/interop/flash_and_ram.c`, three pairs, beside other work).

use super::starts::Starts;

const SLOTS: usize = 10;
/// Prefixes for each line, on average. One line in six is then passed.
const PREFIXES_PER_LINE: usize = 8;
const IN_LIST: u32 = 1 << 31;
/// 2^64 over the golden ratio: the upper half of a product depends on every bit of the hash.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Line {
    tags: [u16; SLOTS],
    places: [u32; SLOTS],
    count: u8,
    is_passed: bool,
}

const _: () = assert!(size_of::<Line>() == 64);

impl Line {
    /// One bit for each slot with the tag.
    #[inline]
    fn matches(&self, tag: u16) -> u32 {
        let equal = self.tags.iter().enumerate().fold(0, |bits, (slot, &own)| bits | u32::from(own == tag) << slot);
        equal & ((1 << self.count) - 1)
    }
}

/// Where the records of a prefix are.
#[derive(Debug)]
pub(super) struct PrefixMap {
    lines: Vec<Line>,
    lists: Vec<u32>,
}

/// Line and tag of a hash.
#[inline]
fn spread(hash: u32, lines: usize) -> (usize, u16) {
    let spread = u64::from(hash).wrapping_mul(SPREAD);
    ((((spread >> 32) * lines as u64) >> 32) as usize, (spread >> 16) as u16)
}

impl PrefixMap {
    /// The map of hashes of prefixes and offsets of records, in the order of the file.
    pub(super) fn new(records: &[(u32, u32)]) -> Self {
        let prefixes = || records.chunk_by(|one, next| one.0 == next.0);
        let lines = prefixes().count().div_ceil(PREFIXES_PER_LINE).max(1);
        let mut map = Self { lines: vec![Line::default(); lines], lists: Vec::new() };
        for prefix in prefixes() {
            match prefix {
                [] => {}
                &[(hash, offset)] => map.insert(hash, offset),
                &[(hash, _), ..] => {
                    let place = IN_LIST | map.lists.len() as u32;
                    map.lists.push(prefix.len() as u32);
                    map.lists.extend(prefix.iter().map(|(_, offset)| offset));
                    map.insert(hash, place);
                }
            }
        }
        map.lists.shrink_to_fit();
        map
    }

    fn insert(&mut self, hash: u32, place: u32) {
        let (home, tag) = spread(hash, self.lines.len());
        let (before, from_home) = self.lines.split_at_mut(home);
        for line in from_home.iter_mut().chain(before) {
            let slot = usize::from(line.count);
            if slot < SLOTS {
                (line.tags[slot], line.places[slot]) = (tag, place);
                line.count += 1;
                return;
            }
            line.is_passed = true;
        }
    }

    /// Where records may begin whose prefix has this hash: one item for each prefix that looks like it.
    #[inline]
    pub(super) fn find(&self, hash: u32) -> Candidates<'_> {
        let (home, tag) = spread(hash, self.lines.len());
        let line = &self.lines[home];
        Candidates { map: self, at: home, line, matches: line.matches(tag), tag }
    }

    #[inline]
    fn starts<'a>(&'a self, place: &'a u32) -> Starts<'a> {
        if place & IN_LIST == 0 {
            return Starts::OfTable(std::slice::from_ref(place));
        }
        let list = self.lists.get((place ^ IN_LIST) as usize..).and_then(|list| list.split_first());
        Starts::OfTable(list.and_then(|(&count, offsets)| offsets.get(..count as usize)).unwrap_or(&[]))
    }

    /// Every offset, ascending.
    pub(super) fn all_offsets(&self) -> Vec<u32> {
        let mut all = Vec::new();
        for line in &self.lines {
            for place in line.places.iter().take(line.count.into()) {
                let starts = self.starts(place);
                all.extend((0..starts.len()).filter_map(|position| starts.get(position)).map(|start| start as u32));
            }
        }
        all.sort_unstable();
        all
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.lines[..]) + size_of_val(&self.lists[..])
    }
}

/// Places of prefixes that look like the one that is looked for.
#[derive(Debug)]
pub(super) struct Candidates<'a> {
    map: &'a PrefixMap,
    at: usize,
    line: &'a Line,
    /// Slots of the line that are not yet returned.
    matches: u32,
    tag: u16,
}

impl<'a> Iterator for Candidates<'a> {
    type Item = Starts<'a>;

    /// Ends: there are more slots than prefixes, so some line was never full, and that one is not passed.
    #[inline]
    fn next(&mut self) -> Option<Starts<'a>> {
        while self.matches == 0 {
            if !self.line.is_passed {
                return None;
            }
            self.at = (self.at + 1) % self.map.lines.len();
            self.line = &self.map.lines[self.at];
            self.matches = self.line.matches(self.tag);
        }
        let slot = self.matches.trailing_zeros() as usize;
        self.matches &= self.matches - 1;
        self.line.places.get(slot).map(|place| self.map.starts(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(map: &PrefixMap, hash: u32) -> Vec<Vec<usize>> {
        let offsets = |starts: Starts<'_>| (0..starts.len()).filter_map(|at| starts.get(at)).collect();
        map.find(hash).map(offsets).collect()
    }

    #[test]
    fn every_prefix_is_found_however_full_the_lines_are() {
        // Hashes of one home line each, of few, and of all.
        for (count, factor) in [(0, 1), (1, 1), (8, 0), (9, 0), (500, 0), (1000, 1), (20_000, 0x9e37_79b1_u32)] {
            let mut records = Vec::new();
            for prefix in 0..count {
                let hash = factor.wrapping_mul(prefix).wrapping_add(prefix & 1);
                let offsets = if prefix % 7 == 0 { 3 } else { 1 };
                records.extend((0..offsets).map(|at| (hash, prefix * 10 + at)));
            }
            let map = PrefixMap::new(&records);
            let mut wanted: Vec<u32> = records.iter().map(|(_, offset)| *offset).collect();
            wanted.sort_unstable();
            assert_eq!(map.all_offsets(), wanted);
            for group in records.chunk_by(|one, next| one.0 == next.0) {
                let offsets: Vec<_> = group.iter().map(|(_, offset)| *offset as usize).collect();
                let found = found(&map, group[0].0);
                assert!(found.contains(&offsets), "{offsets:?} in {found:?}");
            }
        }
    }

    #[test]
    fn an_absent_prefix_seldom_looks_like_another() {
        let hash = |number: u32| ferrock_format::plain_table::prefix_hash(&number.to_be_bytes());
        let records: Vec<_> = (0..100_000).map(|number| (hash(number), number)).collect();
        let map = PrefixMap::new(&records);
        assert!(map.memory_bytes() <= 8 * records.len() + 64);
        let passed = map.lines.iter().filter(|line| line.is_passed).count();
        assert!(passed * 4 < map.lines.len(), "{passed} of {}", map.lines.len());
        let alike: usize = (0..100_000).map(|number| found(&map, hash(1 << 30 | number)).len()).sum();
        assert!(alike < 100, "{alike}");
    }
}
