use super::*;
use ferrock_base::ErrorKind;
use proptest::prelude::*;
use serde_json::Value;

fn vectors(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap();
    document["vectors"].as_array().unwrap().clone()
}

fn hex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Keys listed one by one, or a printf pattern with one `%06d` over a half-open range.
fn keys(vector: &Value, list: &str, pattern: &str, range: &str) -> Vec<Vec<u8>> {
    if let Some(list) = vector[list].as_array() {
        return list.iter().map(hex).collect();
    }
    let pattern = vector[pattern].as_str().unwrap();
    let bound = |at: usize| vector[range][at].as_u64().unwrap();
    let (head, tail) = pattern.split_once("%06d").unwrap();
    (bound(0)..bound(1)).map(|number| format!("{head}{number:06}{tail}").into_bytes()).collect()
}

fn added(vector: &Value) -> Vec<Vec<u8>> {
    keys(vector, "keys_hex", "key_pattern", "key_range")
}

/// Every answer of a real reader, in all ways of asking.
fn check_reader(vector: &Value) -> FilterKind {
    let payload = hex(&vector["filter_hex"]);
    let kind = FilterKind::parse(&payload);
    let absent = keys(vector, "absent_hex", "absent_pattern", "absent_range");
    let expected: Vec<bool> = vector["absent_may_match"].as_str().unwrap().bytes().map(|digit| digit == b'1').collect();
    assert_eq!(absent.len(), expected.len());
    let present = added(vector).into_iter().map(|key| (key, true));
    let all: Vec<(Vec<u8>, bool)> = present.chain(absent.into_iter().zip(expected)).collect();
    let hashed: Vec<(u64, &[u8])> = all.iter().map(|(key, _)| (hash64(key), &key[..])).collect();
    let mut batch = vec![true; all.len()];
    kind.may_match_batch(&payload, &hashed, &mut batch);
    for (((key, expected), (hash, _)), batch) in all.iter().zip(&hashed).zip(batch) {
        let place = || format!("{} bits, {} keys, key {key:x?}", vector["bits_per_key"], vector["num_keys"]);
        assert_eq!(kind.may_match(&payload, key), *expected, "{}", place());
        assert_eq!(kind.may_match_hash64(&payload, *hash, key), *expected, "{}", place());
        assert_eq!(batch, *expected, "batch, {}", place());
    }
    let mut nothing_asked = vec![false; hashed.len()];
    kind.may_match_batch(&payload, &hashed, &mut nothing_asked);
    assert!(nothing_asked.iter().all(|flag| !flag));
    kind
}

fn check_writer(vector: &Value) {
    let bits_per_key = vector["bits_per_key"].as_f64().unwrap();
    let version = vector["format_version"].as_u64().unwrap() as u32;
    let mut builder = FilterPolicy::bloom(bits_per_key).builder(version, -1).unwrap();
    for _ in 0..2 {
        added(vector).iter().for_each(|key| builder.add_key(key));
        let estimate = builder.estimated_size();
        let payload = builder.finish().unwrap();
        assert_eq!(payload.len() as u64, estimate);
        assert!(payload == hex(&vector["filter_hex"]), "{bits_per_key} bits, {} keys", vector["num_keys"]);
        assert!(builder.is_empty(), "the builder starts over");
    }
}

#[test]
fn legacy_bloom_agrees_with_its_vectors() {
    for vector in vectors(include_str!("../../tests/data/filters-legacy-bloom.json")) {
        let kind = check_reader(&vector);
        let expected_empty = vector["num_keys"] == 0;
        assert_eq!(matches!(kind, FilterKind::LegacyBloom(_)), !expected_empty, "{kind:?}");
        check_writer(&vector);
    }
}

#[test]
fn fast_local_bloom_agrees_with_its_vectors() {
    for vector in vectors(include_str!("../../tests/data/filters-fast-local-bloom.json")) {
        let kind = check_reader(&vector);
        let expected_empty = vector["num_keys"] == 0;
        assert_eq!(matches!(kind, FilterKind::FastLocalBloom(_)), !expected_empty, "{kind:?}");
        check_writer(&vector);
    }
}

#[test]
fn ribbon_agrees_with_its_vectors() {
    let mut ribbons = 0;
    for vector in vectors(include_str!("../../tests/data/filters-ribbon.json")) {
        ribbons += usize::from(matches!(check_reader(&vector), FilterKind::Ribbon(_)));
        let bits_per_key = vector["bits_per_key"].as_f64().unwrap();
        let mut builder = FilterPolicy::ribbon(bits_per_key, -1).builder(5, -1).unwrap();
        added(&vector).iter().for_each(|key| builder.add_key(key));
        let (estimate, payload) = (builder.estimated_size(), builder.finish().unwrap());
        // Which of two neighbouring sizes it takes depends on the keys.
        assert!((payload.len() as u64).abs_diff(estimate) <= 16, "{} bytes, {estimate} guessed", payload.len());
        assert!(payload == hex(&vector["filter_hex"]), "{bits_per_key} bits, {} keys", vector["num_keys"]);
    }
    assert!(ribbons >= 20, "{ribbons}");
}

#[test]
fn the_worked_examples_of_the_format_page() {
    let build = |version| {
        let mut builder = FilterPolicy::bloom(10.0).builder(version, -1).unwrap();
        builder.add_key(b"key000000");
        builder.finish().unwrap()
    };
    let bits_of =
        |payload: &[u8]| -> Vec<usize> { (0..512).filter(|bit| payload[bit / 8] >> (bit % 8) & 1 == 1).collect() };
    let fast = build(5);
    assert_eq!(bits_of(&fast), [114, 219, 259, 275, 392, 460]);
    assert_eq!(fast[64..], [0xff, 0, 6, 0, 0]);
    let legacy = build(4);
    assert_eq!(bits_of(&legacy), [39, 95, 151, 383, 439, 495]);
    assert_eq!(legacy[64..], [6, 1, 0, 0, 0]);
}

#[test]
fn repeats_are_dropped_as_their_vectors_say() {
    for vector in vectors(include_str!("../../tests/data/filters-add-key-and-alt.json")) {
        let version = vector["format_version"].as_u64().unwrap() as u32;
        let mut builder = FilterPolicy::bloom(10.0).builder(version, -1).unwrap();
        for call in vector["calls"].as_array().unwrap() {
            let key = call["key"].as_str().unwrap().as_bytes();
            match call["alt"].as_str() {
                Some(prefix) => builder.add_key_and_alt(key, prefix.as_bytes()),
                None => builder.add_key(key),
            }
            assert_eq!(builder.num_entries(), call["entries_after"].as_u64().unwrap(), "{vector}");
        }
        assert_eq!(builder.finish().unwrap(), hex(&vector["filter_hex"]));
    }
}

#[test]
fn sizes_agree_with_their_vectors() {
    let mut checked = 0;
    for vector in vectors(include_str!("../../tests/data/filter-sizes.json")) {
        let bits_per_key = vector["bits_per_key"].as_f64().unwrap();
        let FilterPolicy::Bloom { millibits_per_key } = FilterPolicy::bloom(bits_per_key) else { unreachable!() };
        let whole_bits_per_key = (millibits_per_key + 500) / 1000;
        let numbers = |pair: &Value| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap());
        let kind = vector["kind"].as_str().unwrap();
        for (entries, expected) in vector["calculate_space"].as_array().unwrap().iter().map(numbers) {
            let size = match kind {
                "legacy" => legacy_bloom::size(entries, whole_bits_per_key),
                "fast" => fast_local_bloom::size(entries, millibits_per_key),
                "ribbon_with_empty_builder" => ribbon_builder::size(entries, millibits_per_key),
                _ => panic!("{kind}"),
            };
            assert_eq!(size, expected, "{kind} {bits_per_key} {entries}");
            checked += 1;
        }
        for (bytes, expected) in vector["approximate_num_entries"].as_array().unwrap().iter().map(numbers) {
            let entries = match kind {
                "legacy" => legacy_bloom::entries_that_fit(bytes, whole_bits_per_key),
                "fast" => fast_local_bloom::entries_that_fit(bytes, millibits_per_key),
                _ => ribbon_builder::entries_that_fit(bytes, millibits_per_key),
            };
            assert_eq!(entries, expected, "{kind} {bits_per_key}: {bytes} bytes");
            checked += 1;
        }
    }
    assert!(checked > 200);
}

#[test]
fn metadata_that_makes_no_sense_means_maybe() {
    let with = |filter_len: usize, metadata: [u8; 5]| {
        let mut payload = vec![0; filter_len];
        payload.extend_from_slice(&metadata);
        FilterKind::parse(&payload)
    };
    for length in 0..=5 {
        assert_eq!(FilterKind::parse(&vec![0xff; length]), FilterKind::AlwaysFalse);
    }
    assert_eq!(FilterKind::parse(&[0; 6]), FilterKind::AlwaysTrue);
    for (filter_len, metadata) in [
        (64, [1, 0, 0, 0, 0]),       // no lines
        (64, [1, 3, 0, 0, 0]),       // lines do not divide the length
        (192, [1, 2, 0, 0, 0]),      // lines of 96 bytes
        (64, [1, 65, 0, 0, 0]),      // lines of no bytes
        (64, [0xff, 1, 6, 0, 0]),    // unknown sub-type
        (64, [0xff, 0, 0, 0, 0]),    // no probes
        (64, [0xff, 0, 31, 0, 0]),   // too many probes
        (64, [0xff, 0, 0x26, 0, 0]), // another block size
        (64, [0xff, 0, 6, 1, 0]),    // reserved bytes
        (65, [0xff, 0, 6, 0, 0]),    // not whole lines
        (256, [0xfe, 0, 1, 0, 0]),   // one block
        (64, [0xfd, 0, 0, 0, 0]),
        (64, [0x80, 0, 0, 0, 0]),
        (64, [0, 0, 0, 0, 0]),
    ] {
        assert_eq!(with(filter_len, metadata), FilterKind::AlwaysTrue, "{filter_len} {metadata:x?}");
    }
    // Lines as wide as machines with other cache lines made them.
    for log2 in 0..10 {
        let kind = with(3 << log2, [6, 3, 0, 0, 0]);
        assert!(matches!(kind, FilterKind::LegacyBloom(_)), "{kind:?}");
    }
}

#[test]
fn option_values_are_read_and_written() {
    for (text, canonical) in [
        ("nullptr", "nullptr"),
        ("", "nullptr"),
        ("rocksdb.BuiltinBloomFilter", "rocksdb.BuiltinBloomFilter"),
        ("bloomfilter:10:false", "bloomfilter:10:false"),
        ("bloomfilter:9.9:false", "bloomfilter:9.9:false"),
        ("rocksdb.BloomFilter:2.125:true", "bloomfilter:2.125:false"),
        ("bloomfilter:14.05", "bloomfilter:14.05:false"),
        ("bloomfilter:0.5:false", "bloomfilter:1:false"),
        ("bloomfilter:0.4:false", "bloomfilter:0:false"),
        ("bloomfilter:1e9:false", "bloomfilter:100:false"),
        ("ribbonfilter:10:-1", "{id=ribbonfilter:10:-1;bloom_before_level=-1;}"),
        ("rocksdb.RibbonFilter:9.9", "{id=ribbonfilter:9.9:0;bloom_before_level=0;}"),
        ("{id=ribbonfilter:9.9:1;bloom_before_level=1;}", "{id=ribbonfilter:9.9:1;bloom_before_level=1;}"),
        ("{id=ribbonfilter:16:-1;bloom_before_level=3;}", "{id=ribbonfilter:16:3;bloom_before_level=3;}"),
        ("{id=bloomfilter:5:false;}", "bloomfilter:5:false"),
    ] {
        let policy = FilterPolicy::parse(text).unwrap();
        assert_eq!(policy.to_string(), canonical, "{text}");
        assert_eq!(FilterPolicy::parse(canonical).unwrap(), policy, "{text}");
    }
    for bad in [
        "bloom",
        "bloomfilter",
        "bloomfilter:x:false",
        "bloomfilter:10:maybe",
        "ribbonfilter:10:x",
        "acme:10",
        "bloomfilter:10:false:1",
        "{bloom_before_level=1}",
        "{id=bloomfilter:5:false;bloom_before_level=1}",
        "{id=nullptr;x=1}",
    ] {
        assert_eq!(FilterPolicy::parse(bad).unwrap_err().kind(), ErrorKind::NotSupported, "{bad}");
    }
    assert_eq!(FilterPolicy::bloom(f64::NAN), FilterPolicy::bloom(100.0));
}

#[test]
fn the_policy_decides_the_format() {
    let bloom = FilterPolicy::bloom(10.0);
    assert_eq!(bloom.format(4, -1), Some(FilterFormat::LegacyBloom));
    assert_eq!(bloom.format(5, -1), Some(FilterFormat::FastLocalBloom));
    assert_eq!(FilterPolicy::ribbon(10.0, 0).format(2, -1), Some(FilterFormat::FastLocalBloom));
    assert_eq!(FilterPolicy::ribbon(10.0, 0).format(2, 0), Some(FilterFormat::Ribbon));
    assert_eq!(FilterPolicy::ribbon(10.0, -1).format(7, -1), Some(FilterFormat::Ribbon));
    assert_eq!(FilterPolicy::ribbon(10.0, i32::MAX).format(7, 6), Some(FilterFormat::FastLocalBloom));
    for none in [FilterPolicy::None, FilterPolicy::ReadOnly, FilterPolicy::bloom(0.1), FilterPolicy::ribbon(0.1, 0)] {
        assert!(none.builder(7, -1).is_none());
    }
    assert!(FilterPolicy::ReadOnly.reads_filters() && !FilterPolicy::None.reads_filters());
    assert_eq!(FilterPolicy::ribbon(10.0, 0).property_name(), "ribbonfilter");
}

#[test]
fn detect_filter_construct_corruption_finds_a_flipped_bit() {
    // What detect_filter_construct_corruption is for: a bit that flips while the hashes wait, in every kind of filter.
    for (policy, version) in
        [(FilterPolicy::bloom(10.0), 4), (FilterPolicy::bloom(10.0), 7), (FilterPolicy::ribbon(10.0, -1), 7)]
    {
        let mut builder = policy.builder(version, 1).unwrap().with_checks();
        let add = |builder: &mut FilterBuilder| {
            (0..1000u32).for_each(|number| builder.add_key_and_alt(&number.to_be_bytes(), &number.to_be_bytes()[..3]));
        };
        add(&mut builder);
        assert!(!builder.finish().unwrap().is_empty());
        for bit in [0, 17, 63] {
            add(&mut builder);
            builder.flip_bit(500, bit);
            assert!(builder.finish().unwrap_err().message().contains("changed in memory"));
        }
        add(&mut builder);
        builder.finish().unwrap();
        // A payload that lacks keys, as a wrong construction would make it.
        add(&mut builder);
        let mut empty = builder.clone().finish().unwrap();
        let filter = empty.len() - METADATA_SIZE;
        empty[..filter].fill(0);
        assert!(builder.check(&empty).unwrap_err().message().contains("lacks a key"));
    }
}

#[test]
fn a_ribbon_filter_is_smaller_by_a_quarter() {
    for entries in [2_000u32, 30_000, 200_000] {
        let [bloom, ribbon] = [FilterPolicy::bloom(10.0), FilterPolicy::ribbon(10.0, -1)].map(|policy| {
            let mut builder = policy.builder(5, 3).unwrap();
            (0..entries).for_each(|number| builder.add_key(&number.to_be_bytes()));
            builder.finish().unwrap().len()
        });
        assert!(ribbon * 4 < bloom * 3, "{entries}: {ribbon}, {bloom}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn what_was_added_is_never_denied(
        keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..300),
        bits in 0.5f64..110.0,
        version in 2u32..=7,
        prefix_len in 0usize..6,
        is_ribbon in any::<bool>(),
    ) {
        let policy = if is_ribbon { FilterPolicy::ribbon(bits, -1) } else { FilterPolicy::bloom(bits) };
        let mut builder = policy.builder(version, -1).unwrap();
        for (index, key) in keys.iter().enumerate() {
            match key.get(..prefix_len) {
                Some(prefix) if index % 3 > 0 => builder.add_key_and_alt(key, prefix),
                _ => builder.add_key(key),
            }
        }
        let payload = builder.finish().unwrap();
        let kind = FilterKind::parse(&payload);
        prop_assert!(!matches!(kind, FilterKind::AlwaysTrue | FilterKind::AlwaysFalse));
        for (index, key) in keys.iter().enumerate() {
            prop_assert!(kind.may_match(&payload, key));
            if let (Some(prefix), true) = (key.get(..prefix_len), index % 3 > 0) {
                prop_assert!(kind.may_match(&payload, prefix));
            }
        }
    }

    #[test]
    fn any_payload_is_survived(
        mut payload in prop::collection::vec(any::<u8>(), 0..400),
        marker in prop::sample::select(&[0u8, 1, 30, 127, 0x80, 0xfe, 0xff][..]),
        small in any::<[u8; 4]>(),
        other in prop::collection::vec(any::<u8>(), 0..400),
        keys in prop::collection::vec(any::<[u8; 9]>(), 1..40),
    ) {
        if let Some(at) = payload.len().checked_sub(5) {
            payload[at..].copy_from_slice(&[marker, small[0] & 3, small[1] & 31, small[2] & 1, small[3] & 1]);
        }
        let kind = FilterKind::parse(&payload);
        let hashed: Vec<(u64, &[u8])> = keys.iter().map(|key| (hash64(key), &key[..])).collect();
        let mut flags = vec![true; keys.len()];
        kind.may_match_batch(&payload, &hashed, &mut flags);
        for ((hash, key), flag) in hashed.iter().zip(flags) {
            prop_assert_eq!(kind.may_match_hash64(&payload, *hash, key), flag);
            // Even over bytes that are not the ones parsed there is an answer.
            let _ = kind.may_match(&other, key);
        }
    }
}
