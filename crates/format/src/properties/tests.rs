use super::*;
use crate::compression::CompressionType;
use crate::unique_id::UniqueId;
use ferrock_base::{ErrorKind, SequenceNumber};
use proptest::prelude::*;
use serde_json::Value;

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn vectors() -> Vec<(String, u32, Entries)> {
    let document: Value = serde_json::from_str(include_str!("../../tests/data/properties.json")).unwrap();
    let vectors = document["vectors"].as_array().unwrap().iter().map(|vector| {
        let entries = vector["entries"].as_array().unwrap().iter();
        let pair = |pair: &Value| (pair[0].as_str().unwrap().as_bytes().to_vec(), hex(pair[1].as_str().unwrap()));
        let version = vector["footer_format_version"].as_u64().unwrap() as u32;
        (vector["file"].as_str().unwrap().to_owned(), version, entries.map(pair).collect())
    });
    vectors.collect()
}

fn decode(entries: &Entries) -> ferrock_base::Result<TableProperties> {
    TableProperties::decode_entries(entries.iter().map(|(name, value)| (&name[..], &value[..])))
}

#[test]
fn real_properties_are_understood_in_full_and_written_back() {
    let vectors = vectors();
    assert!(vectors.len() >= 20);
    for (file, version, entries) in vectors {
        let properties = decode(&entries).unwrap();
        assert!(properties.user_collected.is_empty(), "{file}: {:?}", properties.user_collected);
        assert_eq!(properties.entries(), entries, "{file}");
        assert_eq!(decode(&properties.entries()).unwrap(), properties, "{file}");
        assert!(properties.index_type.is_some() && properties.num_entries > 0, "{file}");
        let compression = CompressionName::parse(&properties.compression_name, version).unwrap();
        assert_eq!(compression.encode(), properties.compression_name, "{file}");
        let pairs = decode_seqno_time_map(&properties.seqno_to_time_map).unwrap();
        assert_eq!(encode_seqno_time_map(&pairs), properties.seqno_to_time_map, "{file}");
        assert!(pairs.windows(2).all(|pair| pair[0] < pair[1]), "{file}");
        UniqueId::from_properties(&properties).unwrap();
    }
}

#[test]
fn unknown_names_survive_and_malformed_values_do_not_pass() {
    let mut properties = TableProperties::for_new_table();
    properties.user_collected.insert(b"acme.count".to_vec(), b"\x00\xff".to_vec());
    properties.num_entries = 300;
    let mut entries = properties.entries();
    assert_eq!(decode(&entries).unwrap(), properties);

    let at = entries.iter().position(|(name, _)| name == names::NUM_ENTRIES.as_bytes()).unwrap();
    entries[at].1 = vec![0x80];
    assert_eq!(decode(&entries).unwrap().num_entries, 0, "a malformed varint is skipped");

    let at = entries.iter().position(|(name, _)| name == names::INDEX_TYPE.as_bytes()).unwrap();
    entries[at].1.pop();
    assert!(decode(&entries).unwrap_err().is_corruption());
    entries[at].1.push(0);
    entries.swap(at, at + 1);
    assert!(decode(&entries).unwrap_err().is_corruption(), "out of order");
    entries.swap(at, at + 1);
    entries[at + 1] = entries[at].clone();
    assert!(decode(&entries).unwrap_err().is_corruption(), "twice");
}

#[test]
fn a_user_property_cannot_take_the_name_of_a_field() {
    let mut properties = TableProperties::for_new_table();
    for name in names::ALL {
        properties.user_collected.insert(name.as_bytes().to_vec(), b"\x85\x85".to_vec());
    }
    let plain = TableProperties::for_new_table();
    assert_eq!(properties.entries(), plain.entries());
}

#[test]
fn absent_filter_flags_count_as_true() {
    let mut properties = TableProperties::default();
    assert!(properties.filter_has_whole_keys() && properties.filter_has_prefixes());
    properties.set(names::WHOLE_KEY_FILTERING.as_bytes(), b"0").unwrap();
    properties.set(names::PREFIX_FILTERING.as_bytes(), b"1").unwrap();
    assert!(!properties.filter_has_whole_keys() && properties.filter_has_prefixes());
    properties.set(names::USER_DEFINED_TIMESTAMPS_PERSISTED.as_bytes(), &[0]).unwrap();
    assert!(!properties.user_defined_timestamps_persisted);
}

#[test]
fn the_compression_grammar() {
    use CompressionType::{Lz4, NoCompression, Snappy, Zstd};
    let parse = CompressionName::parse;
    assert_eq!(parse("", 7).unwrap(), CompressionName::Absent);
    assert_eq!(parse(";;", 7).unwrap(), CompressionName::Disabled);
    assert_eq!(parse("BuiltinV2;;", 7).unwrap(), CompressionName::Builtin(vec![]));
    assert_eq!(parse("BuiltinV2;0407;later;fields", 7).unwrap(), CompressionName::Builtin(vec![Lz4, Zstd]));
    assert_eq!(parse("Snappy", 6).unwrap(), CompressionName::Single(Snappy));
    for bad in ["BuiltinV2", "BuiltinV2;07", "BuiltinV2;7;", "BuiltinV2;00;", "BuiltinV2;FF;", "BuiltinV2;0g;", ";07;"]
    {
        assert!(parse(bad, 7).unwrap_err().is_corruption(), "{bad}");
    }
    assert!(parse("snappy", 5).unwrap_err().is_corruption());
    for foreign in ["Acme;07;", "BuiltinV2;80;", "BuiltinV2;08;"] {
        assert_eq!(parse(foreign, 7).unwrap_err().kind(), ErrorKind::NotSupported, "{foreign}");
    }

    let name = |version, configured, used: &[_]| CompressionName::for_table(version, configured, used).encode();
    assert_eq!(name(7, NoCompression, &[NoCompression]), ";;");
    assert_eq!(name(7, Lz4, &[NoCompression]), "BuiltinV2;;");
    assert_eq!(name(7, Lz4, &[Zstd, NoCompression, Lz4, Zstd]), "BuiltinV2;0407;");
    assert_eq!(name(6, Lz4, &[]), "LZ4");
    assert_eq!(name(6, NoCompression, &[NoCompression]), "NoCompression");
    assert_eq!(name(6, NoCompression, &[Snappy]), "Snappy", "NoCompression would mean that no block is compressed");
    assert_eq!(name(5, Lz4, &[Lz4, Zstd]), "ZSTD");
}

#[test]
fn text_and_sums_use_the_familiar_words() {
    let (_, _, entries) = vectors().into_iter().find(|(file, ..)| file.starts_with("r11.9-")).unwrap();
    let one = decode(&entries).unwrap();
    let text = one.to_string();
    for part in [
        "# data blocks=",
        "; # entries=",
        "; raw average key size=",
        "index block size (user-key? 1, delta-value? 1)=",
        "; column family name=one; ",
        "; unique ID=",
        "; filter policy name=",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(text.ends_with("Sequence number to time mapping=; "), "{text}");
    assert!(one.to_text("\n  ", ": ").starts_with("# data blocks: "));

    let mut sum = TableProperties::default();
    sum.add(&one);
    sum.add(&one);
    for ((name, sum), (_, one)) in sum.aggregated_values().into_iter().zip(one.aggregated_values()) {
        assert_eq!(sum, 2 * one, "{name}");
    }
    let values = one.aggregated_values();
    assert!(values.windows(2).all(|pair| pair[0].0 < pair[1].0), "sorted by name");
    assert_eq!(TableProperties::default().to_string().matches("N/A").count(), 10);
}

proptest! {
    #[test]
    fn any_entries_are_survived(
        entries in prop::collection::btree_map(
            prop_oneof![
                prop::sample::select(names::ALL).prop_map(|name| name.as_bytes().to_vec()),
                prop::collection::vec(any::<u8>(), 0..8),
            ],
            prop::collection::vec(any::<u8>(), 0..12),
            0..20,
        ),
        version in 0u32..9,
    ) {
        let entries: Entries = entries.into_iter().collect();
        if let Ok(properties) = decode(&entries) {
            prop_assert_eq!(decode(&properties.entries()).unwrap(), properties.clone());
            let _ = properties.to_string();
            let _ = CompressionName::parse(&properties.compression_name, version);
        }
    }

    #[test]
    fn seqno_time_maps_round_trip(deltas in prop::collection::vec((0u64..1 << 40, 0u64..1 << 30), 0..40), junk in any::<Vec<u8>>()) {
        let mut pair = SeqnoTimePair { seqno: SequenceNumber(0), time: 0 };
        let pairs: Vec<_> = deltas.iter().map(|&(seqno, time)| {
            pair = SeqnoTimePair { seqno: SequenceNumber(pair.seqno.0 + seqno), time: pair.time + time };
            pair
        }).collect();
        let encoded = encode_seqno_time_map(&pairs);
        prop_assert_eq!(decode_seqno_time_map(&encoded).unwrap(), pairs);
        for cut in 1..encoded.len() {
            prop_assert!(decode_seqno_time_map(&encoded[..cut]).is_err());
        }
        let _ = decode_seqno_time_map(&junk);
    }
}

#[test]
fn a_map_that_claims_too_much_is_refused() {
    assert!(decode_seqno_time_map(&[0xff, 0xff, 0xff, 0xff, 0x7f, 1, 1]).unwrap_err().is_corruption());
    let mut overflow = vec![2];
    for _ in 0..2 {
        overflow.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0]);
    }
    assert!(decode_seqno_time_map(&overflow).unwrap_err().is_corruption());
}
