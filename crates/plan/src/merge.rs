//! What a compaction makes of virtual files: the union of their keys, cut into files as the job cuts it.
//!
//! ```text
//! inputs       [------- a -------)          boundaries of all files divide the range into segments
//!                    [------- b -------)    in each the coverages are added: a density, and so entries and bytes
//! segments     | a   |  a + b    |  b  |
//! outputs      [---)[-----)[-----)[----)    ended by the real `OutputSplitter`, asked where its answer can change:
//!                                           at edges of grandparents and where the file is as large as it should be
//! ```

use crate::coverage::{Coverage, Popularity};
use ferrock_base::{InternalComparator, MAX_SEQUENCE_NUMBER, ValueType, internal_key::make_internal_key};
use ferrock_tree::compaction::choice::CompactionChoice;
use ferrock_tree::compaction::iterator::{Grandparent, OutputSize, OutputSplitter};

/// What a virtual file holds: keys `begin` to `end`, without `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contents {
    /// First key of the range.
    pub begin: u64,
    /// Behind the last key of the range.
    pub end: u64,
    /// What was put into it.
    pub coverage: Coverage,
    /// Entries.
    pub entries: f64,
}

/// The internal key of a number, before all versions of the user key.
pub(crate) fn boundary_key(number: u64) -> Vec<u8> {
    make_internal_key(&number.to_be_bytes(), MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK)
}

/// The number of a boundary.
fn number_of(internal_key: &[u8]) -> u64 {
    internal_key.first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// A part of the key space in which the same inputs lie.
#[derive(Clone, Copy, Debug)]
struct Segment {
    begin: u64,
    end: u64,
    coverage: Coverage,
}

/// The parts of the key space that the inputs divide, in order; parts that no file covers are left out.
fn segments(inputs: &[Contents]) -> Vec<Segment> {
    let mut edges: Vec<(u64, f64, Coverage)> = Vec::with_capacity(inputs.len() * 2);
    for file in inputs {
        edges.push((file.begin, 1.0, file.coverage));
        edges.push((file.end, -1.0, file.coverage));
    }
    edges.sort_by_key(|edge| edge.0);
    let mut found: Vec<Segment> = Vec::with_capacity(edges.len());
    let (mut open, mut sum, mut last) = (0_i64, Coverage::default(), 0);
    for (at, sign, coverage) in edges {
        if open > 0 && at > last {
            let coverage = Coverage { loaded: sum.loaded.max(0.0), written: sum.written.max(0.0) };
            found.push(Segment { begin: last, end: at, coverage });
        }
        open += sign as i64;
        // Where nothing is open the errors of the sums go.
        sum = match open {
            0 => Coverage::default(),
            _ => {
                Coverage { loaded: sum.loaded + sign * coverage.loaded, written: sum.written + sign * coverage.written }
            }
        };
        last = at;
    }
    found
}

/// Sizes of tables by what they hold.
pub trait TableSize {
    /// Bytes that an entry adds to a table of this density.
    fn entry_bytes(&self, density: f64) -> f64;
    /// Bytes of a table beside its entries.
    fn fixed_bytes(&self) -> f64;
}

/// Where outputs end.
pub struct Cutter {
    splitter: OutputSplitter,
    /// Numbers at which the splitter may want an end before the file is full.
    edges: Vec<u64>,
    target_bytes: f64,
}

impl std::fmt::Debug for Cutter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cutter").field("edges", &self.edges.len()).finish_non_exhaustive()
    }
}

impl Cutter {
    /// As the job cuts the outputs of `choice`.
    #[must_use]
    pub fn of(choice: &CompactionChoice) -> Self {
        let order = InternalComparator::default();
        if choice.output_level == 0 {
            return Self { splitter: OutputSplitter::never(order), edges: Vec::new(), target_bytes: f64::INFINITY };
        }
        let grandparents: Vec<Grandparent> = choice
            .grandparents
            .iter()
            .map(|file| Grandparent {
                smallest: file.smallest.clone(),
                largest: file.largest.clone(),
                size_bytes: file.size_bytes,
            })
            .collect();
        let mut cutter = Self::new(choice.max_output_file_size_bytes, choice.max_compaction_bytes, grandparents);
        cutter.target_bytes = choice.most_output_bytes() as f64;
        cutter.splitter = cutter.splitter.growing_to(choice.most_output_bytes());
        cutter
    }

    fn new(target_bytes: u64, max_compaction_bytes: u64, grandparents: Vec<Grandparent>) -> Self {
        let edges = grandparents.iter().map(|file| number_of(&file.smallest)).collect();
        let order = InternalComparator::default();
        let splitter = OutputSplitter::new(order, target_bytes, max_compaction_bytes, grandparents);
        Self { splitter, edges, target_bytes: target_bytes as f64 }
    }

    fn should_end(&mut self, before: u64, size_bytes: f64) -> bool {
        let key = boundary_key(before);
        let size = |_| OutputSize { bytes: size_bytes as u64, with_entry_bytes: 0 };
        self.splitter.should_cut_between(&key, (size_bytes > 0.0).then_some((&key[..], size)))
    }
}

/// The output being written.
#[derive(Debug, Default)]
struct Open {
    begin: u64,
    entries: f64,
    bytes: f64,
    /// Coverage times keys.
    loaded: f64,
    written: f64,
}

impl Open {
    fn finish(&mut self, end: u64, out: &mut Vec<Contents>) {
        let keys = end.saturating_sub(self.begin).max(1) as f64;
        let coverage = Coverage { loaded: self.loaded / keys, written: self.written / keys };
        match out.last_mut() {
            // Less than an entry is no file, and not nothing either.
            Some(last) if self.entries < 0.5 => {
                let (before, all) = ((last.end - last.begin) as f64, end.saturating_sub(last.begin).max(1) as f64);
                last.coverage = Coverage {
                    loaded: (last.coverage.loaded * before + self.loaded) / all,
                    written: (last.coverage.written * before + self.written) / all,
                };
                last.entries += self.entries;
                last.end = end.max(last.end);
            }
            _ if self.entries > 0.0 => {
                out.push(Contents { begin: self.begin, end, coverage, entries: self.entries });
            }
            _ => {}
        }
        *self = Self { begin: end, ..Self::default() };
    }
}

/// Entries of each segment. Where the puts of a file fell is a matter of chance, how many there were is not: the
/// segments vary as if each key were there by chance, and their sum does not.
fn entries_of(segments: &[Segment], popularity: &Popularity, noise: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let (mut expected_sum, mut actual_sum) = (0.0, 0.0);
    let mut entries = Vec::with_capacity(segments.len());
    for segment in segments {
        let density = popularity.density(segment.coverage);
        let keys = (segment.end - segment.begin) as f64;
        let expected = density * keys;
        let deviation = (expected * (1.0 - density)).max(0.0).sqrt();
        let actual = (expected + deviation * noise()).max(0.0);
        expected_sum += expected;
        actual_sum += actual;
        entries.push(actual);
    }
    let correction = if actual_sum > 0.0 { expected_sum / actual_sum } else { 1.0 };
    entries.iter_mut().for_each(|entries| *entries *= correction);
    entries
}

/// The files that a compaction of `inputs` writes.
///
/// `noise` gives numbers of a standard normal distribution.
pub fn merge(
    inputs: &[Contents],
    popularity: &Popularity,
    sizes: &dyn TableSize,
    mut cutter: Cutter,
    noise: &mut dyn FnMut() -> f64,
) -> Vec<Contents> {
    let mut outputs = Vec::new();
    let mut open = Open::default();
    let mut next_edge = 0;
    let segments = segments(inputs);
    let entries = entries_of(&segments, popularity, noise);
    open.begin = segments.first().map_or(0, |segment| segment.begin);
    let mut end = open.begin;
    for (segment, actual) in segments.iter().zip(entries) {
        if segment.begin > end && open.entries > 0.0 && cutter.should_end(segment.begin, open.bytes) {
            open.finish(end, &mut outputs);
            open.begin = segment.begin;
        } else if open.entries == 0.0 {
            open.begin = segment.begin;
        }
        end = segment.end;
        let keys = (segment.end - segment.begin) as f64;
        let per_key = actual / keys;
        let per_entry = sizes.entry_bytes(per_key);
        let mut at = segment.begin;
        while at < segment.end {
            while cutter.edges.get(next_edge).is_some_and(|&edge| edge <= at) {
                next_edge += 1;
            }
            let until = cutter.edges.get(next_edge).map_or(segment.end, |&edge| edge.min(segment.end));
            // Where the file would be full.
            let room = (cutter.target_bytes - open.bytes - sizes.fixed_bytes()).max(0.0);
            let full_at = if per_key > 0.0 { at as f64 + room / (per_key * per_entry) } else { f64::INFINITY };
            let step_end = if full_at < until as f64 { (full_at.ceil() as u64).clamp(at + 1, until) } else { until };
            let keys = (step_end - at) as f64;
            open.entries += keys * per_key;
            open.bytes += keys * per_key * per_entry;
            open.loaded += keys * segment.coverage.loaded;
            open.written += keys * segment.coverage.written;
            at = step_end;
            let size = if open.entries >= 1.0 { open.bytes + sizes.fixed_bytes() } else { 0.0 };
            if cutter.should_end(at, size) {
                open.finish(at, &mut outputs);
            }
        }
    }
    open.finish(end, &mut outputs);
    outputs
}

#[cfg(test)]
mod tests {
    //! Merges as texts:
    //!
    //! ```text
    //! merge target=bytes [max=bytes]       entries of 10 bytes, tables of 0 beside them, no noise
    //! begin..end loaded=0.5 written=0.1    an input
    //! below begin..end bytes               a file of the level below the output
    //! ----
    //! begin..end entries density           the outputs
    //! ```

    use super::*;
    use std::fmt::Write;

    struct TenBytes;

    impl TableSize for TenBytes {
        fn entry_bytes(&self, _density: f64) -> f64 {
            10.0
        }

        fn fixed_bytes(&self) -> f64 {
            0.0
        }
    }

    fn range(word: &str) -> (u64, u64) {
        let (begin, end) = word.split_once("..").unwrap();
        (begin.parse().unwrap(), end.parse().unwrap())
    }

    fn run(input: &str) -> String {
        let (mut target, mut max) = (u64::MAX, u64::MAX);
        let (mut inputs, mut grandparents) = (Vec::new(), Vec::new());
        let popularity = Popularity::uniform();
        for line in input.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[0] {
                "merge" => {
                    for (name, value) in words[1..].iter().map(|word| word.split_once('=').unwrap()) {
                        *(if name == "target" { &mut target } else { &mut max }) = value.parse().unwrap();
                    }
                }
                "below" => {
                    let ((begin, end), size_bytes) = (range(words[1]), words[2].parse().unwrap());
                    let (smallest, largest) = (boundary_key(begin), boundary_key(end - 1));
                    grandparents.push(Grandparent { smallest, largest, size_bytes });
                }
                word => {
                    let (begin, end) = range(word);
                    let mut coverage = Coverage::default();
                    for (name, value) in words[1..].iter().map(|word| word.split_once('=').unwrap()) {
                        let value: f64 = value.parse().unwrap();
                        *(if name == "loaded" { &mut coverage.loaded } else { &mut coverage.written }) = value;
                    }
                    let entries = popularity.density(coverage) * (end - begin) as f64;
                    inputs.push(Contents { begin, end, coverage, entries });
                }
            }
        }
        let mut out = String::new();
        for file in merge(&inputs, &popularity, &TenBytes, Cutter::new(target, max, grandparents), &mut || 0.0) {
            let density = file.entries / (file.end - file.begin) as f64;
            writeln!(out, "{}..{} {:.0} {density:.3}", file.begin, file.end, file.entries).unwrap();
        }
        out
    }

    #[test]
    fn merges() {
        ferrock_script::check(env!("CARGO_MANIFEST_DIR"), "src/testdata/merge.txt", run);
    }

    #[test]
    fn noise_moves_entries_and_makes_none() {
        let file = |begin, end| Contents { begin, end, coverage: Coverage { loaded: 0.0, written: 0.1 }, entries: 0.0 };
        let inputs: Vec<Contents> = (0..10).map(|index| file(index * 1000, index * 1000 + 1000)).collect();
        let popularity = Popularity::uniform();
        let mut chance = crate::sizes::Chance::new(3);
        let cutter = || Cutter::new(5000, u64::MAX, Vec::new());
        let even = merge(&inputs, &popularity, &TenBytes, cutter(), &mut || 0.0);
        let uneven = merge(&inputs, &popularity, &TenBytes, cutter(), &mut || chance.normal());
        let sum = |files: &[Contents]| files.iter().map(|file| file.entries).sum::<f64>();
        assert!((sum(&even) - sum(&uneven)).abs() < 1e-6, "{} {}", sum(&even), sum(&uneven));
        assert_ne!(even, uneven);
    }
}
