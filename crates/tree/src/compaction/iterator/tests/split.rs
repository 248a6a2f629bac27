//! Where outputs end.

use super::*;
use ferrock_base::sst_partitioner::{FixedPrefixPartitioner, PartitionerRequest, SstPartitioner};

fn key(user: &str, at: u64) -> Vec<u8> {
    make_internal_key(user.as_bytes(), SequenceNumber(at), ValueType::Value)
}

fn tombstone(start: &str, end: &str, at: u64) -> RangeTombstone {
    RangeTombstone { start: start.into(), end: end.into(), sequence: SequenceNumber(at) }
}

fn splitter(target: u64, max: u64, grandparents: &[(&str, &str, u64)]) -> OutputSplitter {
    let file = |&(smallest, largest, size_bytes): &(&str, &str, u64)| Grandparent {
        smallest: key(smallest, 100),
        largest: key(largest, 1),
        size_bytes,
    };
    OutputSplitter::new(InternalComparator::default(), target, max, grandparents.iter().map(file).collect())
}

/// Feeds keys of 10 bytes each and returns those that begin an output.
fn cuts(mut splitter: OutputSplitter, keys: &str) -> String {
    let mut size = 0;
    let mut cuts = Vec::new();
    for user in keys.split_whitespace() {
        if splitter.should_cut_before(&key(user, 9), size) {
            cuts.push(user);
            size = 0;
        }
        size += 10;
    }
    cuts.join(" ")
}

#[test]
fn outputs_end_at_the_target_size() {
    assert_eq!(cuts(splitter(30, 1000, &[]), "a b c d e f g h"), "d g");
    assert_eq!(cuts(OutputSplitter::never(InternalComparator::default()), "a b c d e f g h"), "");
}

/// Helpers may not have written all of an output: its exact size, for which they are waited for, is asked for where the
/// answer may depend on it, and decides.
#[test]
fn the_exact_size_decides_and_is_asked_for_seldom() {
    let mut splitter = splitter(30, 1000, &[]);
    let mut ask = |most: u64, exact: u64, with_entry: (u64, u64)| {
        let mut is_asked = false;
        let size = |precision| match precision {
            Precision::AtMost => OutputSize { bytes: most, with_entry_bytes: with_entry.0 },
            Precision::Exact => {
                is_asked = true;
                OutputSize { bytes: exact, with_entry_bytes: with_entry.1 }
            }
        };
        let cuts = splitter.should_cut_between(&key("b", 9), Some((&key("a", 9)[..], size)));
        (cuts, is_asked)
    };
    assert_eq!(ask(29, 0, (0, 0)), (false, false));
    assert_eq!(ask(30, 29, (0, 0)), (false, true));
    assert_eq!(ask(31, 30, (0, 0)), (true, true));
    assert_eq!(ask(10, 5, (30, 0)), (false, false));
    assert_eq!(ask(10, 5, (31, 30)), (false, true));
    assert_eq!(ask(10, 5, (40, 31)), (true, true));
}

/// A partitioner that ends outputs of 20 bytes.
struct BySize {
    uses_size: bool,
}

impl SstPartitioner for BySize {
    fn should_partition(&mut self, request: &PartitionerRequest<'_>) -> bool {
        request.current_output_file_size >= 20
    }
    fn can_do_trivial_move(&mut self, _smallest_user_key: &[u8], _largest_user_key: &[u8]) -> bool {
        true
    }
    fn uses_file_size(&self) -> bool {
        self.uses_size
    }
}

#[test]
fn a_partitioner_is_told_the_exact_size_if_it_uses_it() {
    for (uses_size, wanted) in [(true, (true, true)), (false, (false, false))] {
        let mut splitter = splitter(1000, 1000, &[]).with_partitioner(Some(Box::new(BySize { uses_size })));
        assert_eq!(splitter.asks_for_sizes(), uses_size);
        let mut is_asked = false;
        let size = |precision| {
            is_asked |= precision == Precision::Exact;
            OutputSize { bytes: if precision == Precision::Exact { 20 } else { 900 }, with_entry_bytes: 0 }
        };
        let cuts = splitter.should_cut_between(&key("b", 9), Some((&key("a", 9)[..], size)));
        assert_eq!((cuts, is_asked), wanted, "uses the size: {uses_size}");
    }
    assert!(!FixedPrefixPartitioner { length: 3 }.uses_file_size());
}

#[test]
fn outputs_end_where_they_would_overlap_too_much() {
    let files = [("a", "c", 500), ("d", "f", 500), ("g", "i", 500)];
    assert_eq!(cuts(splitter(1000, 800, &files), "a b d e g h"), "d g");
    assert_eq!(cuts(splitter(1000, 8000, &files), "a b d e g h"), "");
}

#[test]
fn a_grandparent_nothing_falls_into_is_spared() {
    let files = [("c", "e", 500)];
    assert_eq!(cuts(splitter(1000, 8000, &files), "a b x y"), "x");
    assert_eq!(cuts(splitter(1000, 8000, &[("c", "e", 100)]), "a b x y"), "");
}

#[test]
fn a_half_full_output_ends_at_an_edge() {
    let files = [("c", "e", 1), ("f", "z", 1)];
    assert_eq!(cuts(splitter(60, 8000, &files), "a a1 a2 a3 c d"), "c");
    assert_eq!(cuts(splitter(100, 8000, &files), "a a1 a2 a3 c d"), "");
}

fn with_edges(old: &[(&str, &str)], cursor: Option<&str>) -> OutputSplitter {
    let old = old.iter().map(|(smallest, largest)| (key(smallest, 100), key(largest, 1)));
    splitter(1000, 8000, &[]).with_edges(RequiredEdges::new(old.collect(), cursor.map(|cursor| key(cursor, 100))))
}

#[test]
fn an_old_input_becomes_outputs_of_its_own() {
    let old = [("c", "e"), ("m", "n")];
    assert_eq!(cuts(with_edges(&old, None), "a b c d e f g m n o"), "c f m o");
    // Between the inputs there is no key, and none behind the second.
    assert_eq!(cuts(with_edges(&[("c", "e"), ("f", "g")], None), "a c e f g"), "c f");
    // Nothing lies in it, or it begins or ends the outputs.
    assert_eq!(cuts(with_edges(&old, None), "a b f g o p"), "");
    assert_eq!(cuts(with_edges(&old, None), "c d e f"), "f");
    assert_eq!(cuts(with_edges(&old, None), "c1 m1"), "m1");
}

#[test]
fn an_output_ends_at_the_cursor() {
    assert_eq!(cuts(with_edges(&[], Some("c")), "a b c d e"), "c");
    assert_eq!(cuts(with_edges(&[], Some("c")), "a b d e"), "d");
    assert_eq!(cuts(with_edges(&[], Some("a")), "c d e"), "");
    assert_eq!(cuts(with_edges(&[], Some("x")), "c d e"), "");
}

#[test]
fn tombstones_are_stored_whole_and_cut_by_the_boundaries() {
    let order = InternalComparator::default();
    let surviving = [tombstone("key010", "key080", 102)];
    let first = (key("key000", 0), key("key017", 0));
    let boundary = boundary_between(&order, &first.1, &key("key018", 0));
    assert_eq!(boundary, output_split::sentinel(b"key018"));
    let contents = output_contents(&order, &surviving, Some((&first.0, &first.1)), None, Some(&boundary));
    assert_eq!(contents.tombstones, surviving);
    assert_eq!((contents.smallest.unwrap(), contents.largest.unwrap()), (first.0, boundary.clone()));
    // The next file begins behind the boundary and before everything that the tombstone can delete.
    let second = (key("key018", 0), key("key035", 0));
    let end = output_split::sentinel(b"key036");
    let contents = output_contents(&order, &surviving, Some((&second.0, &second.1)), Some(&boundary), Some(&end));
    assert_eq!(contents.tombstones, surviving);
    let smallest = contents.smallest.unwrap();
    assert_eq!(ParsedInternalKey::parse(&smallest).unwrap().user_key, b"key018");
    assert_eq!(sequence(&smallest), SequenceNumber(102));
    assert!(order.compare(&boundary, &smallest).is_lt());
    assert_eq!(contents.largest.unwrap(), end);
}

#[test]
fn outputs_that_share_a_user_key() {
    let order = InternalComparator::default();
    let boundary = boundary_between(&order, &key("k", 7), &key("k", 4));
    assert_eq!(boundary, key("k", 7));
    let surviving = [tombstone("a", "z", 9)];
    let (first, last) = (key("k", 4), key("m", 1));
    let contents = output_contents(&order, &surviving, Some((&first, &last)), Some(&boundary), None);
    let smallest = contents.smallest.unwrap();
    assert!(order.compare(&boundary, &smallest).is_lt() && order.compare(&smallest, &first).is_le());
    assert_eq!(contents.largest.unwrap(), output_split::sentinel(b"z"));
    // One that ends at the shared key has nothing to delete behind it.
    let contents = output_contents(&order, &[tombstone("a", "k", 9)], Some((&first, &last)), Some(&boundary), None);
    assert!(contents.tombstones.is_empty());
}

#[test]
fn a_file_of_tombstones_alone() {
    let order = InternalComparator::default();
    let contents = output_contents(&order, &[tombstone("b", "d", 4)], None, None, None);
    assert_eq!(contents.smallest.unwrap(), make_internal_key(b"b", SequenceNumber(4), ValueType::RangeDeletion));
    assert_eq!(contents.largest.unwrap(), output_split::sentinel(b"d"));
    let outside = output_split::sentinel(b"d");
    assert!(output_contents(&order, &[tombstone("b", "d", 4)], None, Some(&outside), None).is_empty());
}

#[test]
fn an_output_grows_until_it_comes_to_an_edge_and_no_further_than_it_may() {
    let files = [("a", "e", 1), ("f", "z", 1)];
    // At the target there is no edge; the next one is two keys away.
    assert_eq!(cuts(splitter(30, 8000, &files), "a b c d f g"), "d");
    assert_eq!(cuts(splitter(30, 8000, &files).growing_to(60), "a b c d f g"), "f");
    assert_eq!(cuts(splitter(30, 8000, &[("a", "z", 1)]).growing_to(60), "a b c d e f g h"), "g");
}

#[test]
fn sorted_runs_end_at_edges_only_where_they_overlap_too_much() {
    let files = [("a", "b", 50), ("c", "d", 50), ("e", "f", 50)];
    assert_eq!(cuts(splitter(40, 100, &files), "a b c d e f"), "c e");
    assert_eq!(cuts(splitter(100, 100, &files).only_at_limit(true), "a b c d e f"), "c e");
    assert_eq!(cuts(splitter(100, 1000, &files).only_at_limit(true), "a b c d e f"), "");
}
