use super::*;
use crate::flags::{Parsed, parse};
use ferrock::Db;
use ferrock::options::PrepopulateBlobCache;

fn built(line: &str) -> Result<EngineOptions, String> {
    match parse(line.split_whitespace().map(str::to_owned))? {
        Parsed::Run(values) => build(&values),
        other => Err(format!("{other:?}")),
    }
}

fn table_option(line: &str, name: &str) -> String {
    built(line).unwrap().family.table.get(name).unwrap()
}

#[test]
fn flags_become_options() {
    let options = built(
        "--write_buffer_size=1m --open_files=77 --compression_type=zstd --compression_level=5 --bloom_bits=10 --block_size=8k \
         --checksum_type=1 --compaction_pri=1 --prefix_size=3 --merge_operator=uint64add --cache_size=1048576 \
         --max_bytes_for_level_multiplier_additional=1,2,3 --min_level_to_compress=2 --num_levels=4 --format_version=5",
    )
    .unwrap();
    assert_eq!(options.family.write_buffer_size, 1 << 20);
    assert_eq!(options.db.max_open_files, 77);
    assert_eq!(options.family.compression, CompressionType::Zstd);
    assert_eq!(options.family.compression_opts.0.level, 5);
    assert_eq!(options.family.filter_policy, FilterPolicy::bloom(10.0));
    assert_eq!(options.family.prefix_extractor, Some(PrefixExtractor::Fixed(3)));
    assert_eq!(options.family.merge_operator.as_ref().unwrap().name(), "UInt64AddOperator");
    assert_eq!(options.db.components.block_cache.as_ref().unwrap().capacity(), 1 << 20);
    assert_eq!(options.family.max_bytes_for_level_multiplier_additional, [1, 2, 3]);
    let (no, zstd) = (CompressionType::NoCompression, CompressionType::Zstd);
    assert_eq!(options.family.compression_per_level, [no, no, zstd, zstd]);
    let table = &options.family.table;
    assert_eq!((table.block_size, table.format_version), (8192, 5));
    assert_eq!(table.get("checksum").unwrap(), "kCRC32c");
    assert_eq!(options.family.settings.get("compaction_pri").unwrap(), "kOldestLargestSeqFirst");
}

#[test]
fn defaults_are_those_of_rocksdbs_program() {
    let options = built("").unwrap();
    assert_eq!(options.family.compression, CompressionType::Snappy);
    assert_eq!(options.db.delayed_write_rate, 8 << 20);
    assert!(!options.family.level_compaction_dynamic_level_bytes && options.notes.is_empty());
    assert_eq!(options.family.table.get("index_shortening").unwrap(), "kShortenSeparatorsAndSuccessor");
    assert!(built("--cache_size=-1").unwrap().family.table.no_block_cache);
    let db = built("--max_background_compactions=3 --max_background_flushes=2").unwrap().db;
    assert_eq!((db.max_background_compactions, db.max_background_flushes, db.max_background_jobs), (3, 2, 2));
}

#[test]
fn memory_beside_blocks_is_charged_as_asked() {
    use ChargeDecision::{Disabled, Enabled, Fallback};
    for (line, wanted) in [
        ("", [Fallback, Fallback, Fallback]),
        ("--charge_compression_dictionary_building_buffer=false", [Disabled, Fallback, Fallback]),
        ("--charge_filter_construction --charge_table_reader=false", [Fallback, Enabled, Disabled]),
        ("--charge_compression_dictionary_building_buffer --charge_table_reader", [Enabled, Fallback, Enabled]),
    ] {
        let usage = built(line).unwrap().family.cache_usage;
        let found =
            [usage.compression_dictionary_building_buffer, usage.filter_construction, usage.block_based_table_reader];
        assert_eq!(found, wanted, "{line}");
    }
    assert_eq!(built("--charge_blob_cache").unwrap().family.cache_usage.blob_cache, Enabled);
    assert!(built("--charge_table_reader --cache_size=-1").unwrap_err().contains("cache_usage"));

    assert!(built("--db_write_buffer_size=1m").unwrap().db.components.write_buffer_manager.is_none());
    let mut options = built("--cost_write_buffer_to_cache --db_write_buffer_size=1m --cache_size=8m").unwrap();
    let manager = options.db.components.write_buffer_manager.clone().unwrap();
    let cache = options.db.components.block_cache.clone().unwrap();
    assert!(manager.cost_to_cache() && manager.buffer_size() == 1 << 20);
    let directory = tempfile::tempdir().unwrap();
    options.db.create_if_missing = true;
    let families = vec![("default".to_owned(), options.family)];
    let (db, _) = Db::open_cf(directory.path(), options.db, families).unwrap();
    db.put(b"key", &[7; 300_000]).unwrap();
    // In steps: how much of one an empty memtable has taken, is the engine's business.
    let (used, charged) = (manager.memory_usage(), manager.dummy_entries_in_cache_usage());
    assert!(used >= 300_000 && charged >= used && cache.usage() >= charged, "{used} {charged} {}", cache.usage());
    db.close().unwrap();
    let unbounded = built("--cost_write_buffer_to_cache").unwrap().db.components.write_buffer_manager.unwrap();
    assert!(unbounded.cost_to_cache() && !unbounded.enabled());
    assert!(built("--cost_write_buffer_to_cache --cache_size=-1").unwrap_err().contains("needs a block cache"));
}

/// Older names select what they always did.
#[test]
fn older_names_of_a_two_level_index() {
    for line in
        ["--partition_index", "--partition_indexes", "--index_per_partition 64", "--partition_index_and_filters"]
    {
        let table = built(line).unwrap().family.table;
        assert_eq!(table.get("index_type").unwrap(), "kTwoLevelIndexSearch", "{line}");
        assert_eq!(table.partition_filters, line.ends_with("filters"), "{line}");
    }
    assert_eq!(partition_size_bytes(64, 16), 64 * 20);
    assert_eq!(partition_size_bytes(u64::MAX, 16), 1 << 31);
    assert!(built("--partition_index --use_hash_search").unwrap_err().contains("more than one kind of index"));
}

#[test]
fn what_cannot_be_is_refused() {
    let wrong = [
        "--compression_type=brotli",
        "--compression_type=xpress",
        "--checksum_type=9",
        "--compaction_style=7",
        "--cache_type=tiered_lru_cache",
        "--merge_operator=bytesxor",
        "--use_ribbon_filter",
        "--min_level_to_compress=20",
        "--options_file=/no/such/file",
        "--wal_recovery_mode=kHope",
    ];
    for line in wrong {
        assert!(built(line).is_err(), "{line}");
    }
    assert_eq!(table_option("--checksum_type=kxxHash64", "checksum"), "kxxHash64");
}

#[test]
fn an_options_file_comes_first_and_flags_on_top() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_background_jobs = 7;
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 1 << 20;
    family.compression = CompressionType::Zlib;
    family.table.block_size = 2048;
    family.filter_policy = FilterPolicy::bloom(7.0);
    Db::open_cf(directory.path(), options, vec![("default".to_owned(), family)]).unwrap().0.close().unwrap();
    let file_system = ferrock_vfs::default_file_system();
    let names = file_system.children(directory.path()).unwrap();
    let name = names.iter().find(|name| name.starts_with("OPTIONS-")).unwrap();
    let file = directory.path().join(name);
    let options = built(&format!("--options_file={} --block_size=1k", file.display())).unwrap();
    assert_eq!((options.db.max_background_jobs, options.family.write_buffer_size), (7, 1 << 20));
    assert_eq!(options.family.compression, CompressionType::Zlib, "no default of this program is put on top");
    assert_eq!(options.family.filter_policy, FilterPolicy::bloom(7.0));
    assert_eq!(options.family.table.block_size, 1024);
    assert!(options.family.level_compaction_dynamic_level_bytes);
}

#[test]
fn values_in_blob_files_have_the_cache_that_the_flags_name() {
    let family = built("").unwrap().family;
    assert!(family.blob_cache.is_none() && family.prepopulate_blob_cache == PrepopulateBlobCache::Disable);
    let shared = built("--use_blob_cache --prepopulate_blob_cache=1 --cache_size=8m").unwrap();
    assert!(Arc::ptr_eq(&shared.family.blob_cache.unwrap(), &shared.db.components.block_cache.clone().unwrap()));
    assert_eq!(shared.family.settings.prepopulate_blob_cache, PrepopulateBlobCache::FlushOnly);
    let own = built("--use_blob_cache --use_shared_block_and_blob_cache=false --blob_cache_size=3m").unwrap();
    assert_eq!(own.family.blob_cache.unwrap().capacity(), 3 << 20);
    assert!(built("--use_blob_cache --cache_size=-1").unwrap_err().contains("--use_shared_block_and_blob_cache=false"));
    assert!(built("--use_blob_cache --memory_budget=1m").unwrap().family.blob_cache.is_none());
}
