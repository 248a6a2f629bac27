//! The flags that shape the engine, as its options.
//!
//! Order: the engine's defaults (with those of this program on top), or an OPTIONS file; then every flag of one option;
//! then settings computed from several flags. Without an OPTIONS file all flags apply, with one only those given.

use crate::flags::{Effect, Scope, Values};
use ferrock::options::{
    CacheOptions, ChargeDecision, CompressionType, FilterPolicy, LoadedOptions, MemTableFactory, MemoryBudget,
    PlainTableOptions, TableBlockCache, TableFactory, WriteBufferManager, from_file,
};
use ferrock::statistics::{Statistics, StatsLevel};
use ferrock::{ColumnFamilyOptions, DbOptions};
use ferrock_base::clock::SystemClock;
use ferrock_base::merge;
use ferrock_base::option_table::OptionValue;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_format::options_file::OptionsFile;
use ferrock_vfs::{LimiterMode, TokenBucket, TokenBucketOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The options with which a database is opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct EngineOptions {
    pub(crate) db: DbOptions,
    pub(crate) family: ColumnFamilyOptions,
    /// Differences from the requested settings, in words.
    pub(crate) notes: Vec<String>,
}

struct Builder<'a> {
    values: &'a Values,
    has_file: bool,
    out: EngineOptions,
}

/// Makes options out of flags.
///
/// # Errors
/// A message for the user: a value that is out of its bounds, an unsupported feature.
pub(crate) fn build(values: &Values) -> Result<EngineOptions, String> {
    let file = values.text("options_file");
    let mut out = EngineOptions::default();
    if !file.is_empty() {
        let LoadedOptions { db, mut column_families, notes, .. } = load(Path::new(file))?;
        let default = column_families.iter().position(|(name, _)| name == "default");
        out.family = default.map(|index| column_families.swap_remove(index).1).unwrap_or_default();
        out.db = db;
        out.notes = notes;
    }
    let mut builder = Builder { values, has_file: !file.is_empty(), out };
    let unsupported = unsupported(&builder.out.family);
    builder.single_options()?;
    builder.compression()?;
    builder.tables()?;
    builder.plain_tables()?;
    builder.memtables()?;
    builder.index()?;
    builder.cache()?;
    builder.blob_cache()?;
    builder.charging()?;
    builder.compaction()?;
    builder.components()?;
    let mut out = builder.out;
    // Unsupported values from a file are replaced by their nearest form; from a flag they are refused.
    if let Some((_, message)) = self::unsupported(&out.family).into_iter().find(|now| !unsupported.contains(now)) {
        return Err(format!("Not implemented: {message}"));
    }
    let problems: Vec<String> =
        out.db.violations().iter().chain(&out.family.violations()).map(ToString::to_string).collect();
    if !problems.is_empty() {
        return Err(problems.join("; "));
    }
    if !values.is_given("create_if_missing") {
        out.db.create_if_missing = !values.bool("use_existing_db");
    }
    out.notes.extend(values.notes());
    Ok(out)
}

fn unsupported(family: &ColumnFamilyOptions) -> Vec<(&'static str, String)> {
    family.table.unsupported_for_writing().iter().map(|option| (option.name, option.to_string())).collect()
}

fn load(path: &Path) -> Result<LoadedOptions, String> {
    let file_system = ferrock_vfs::default_file_system();
    let content = ferrock_vfs::read_file(&*file_system, path).map_err(|error| format!("--options_file: {error}"))?;
    let file = OptionsFile::parse(&content).map_err(|error| format!("--options_file: {}", error.in_file(path)))?;
    Ok(from_file(&file))
}

fn set(out: &mut EngineOptions, scope: Scope, name: &str, text: &str) -> Result<(), String> {
    let result = match scope {
        Scope::Db => out.db.settings.set(name, text),
        Scope::Family => out.family.settings.set(name, text),
        Scope::Table => out.family.table.set(name, text),
    };
    match result {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("the engine has no option {name}")),
        Err(error) => Err(error.message().to_owned()),
    }
}

impl Builder<'_> {
    /// True when one of the flags applies: it was given, or there is no OPTIONS file.
    fn counts(&self, names: &[&str]) -> bool {
        !self.has_file || names.iter().any(|name| self.values.is_given(name))
    }

    fn set_table(&mut self, name: &str, text: &str) -> Result<(), String> {
        set(&mut self.out, Scope::Table, name, text)
    }

    fn single_options(&mut self) -> Result<(), String> {
        if !self.has_file {
            for flag in crate::flags::table().iter().filter(|flag| flag.has_own_default) {
                if let Effect::Option(scope, option) = flag.effect {
                    set(&mut self.out, scope, option, &flag.default)?;
                }
            }
        }
        for (flag, text) in self.values.given() {
            if let Effect::Option(scope, option) = flag.effect {
                set(&mut self.out, scope, option, text).map_err(|message| format!("--{}: {message}", flag.name))?;
            }
        }
        Ok(())
    }

    fn compression(&mut self) -> Result<(), String> {
        let kind = compression_of("compression_type", self.values.text("compression_type"))?;
        if self.counts(&["blob_compression_type"]) {
            let text = self.values.text("blob_compression_type");
            self.out.family.settings.blob_compression_type = compression_of("blob_compression_type", text)?;
        }
        if self.counts(&["compression_type"]) {
            self.out.family.settings.compression = kind;
        }
        let values = self.values;
        let options = &mut self.out.family.settings.compression_opts.0;
        let counts = |name: &str| !self.has_file || values.is_given(name);
        if counts("compression_level") {
            options.level = values.get("compression_level")?;
        }
        if counts("compression_max_dict_bytes") {
            options.max_dict_bytes = values.get("compression_max_dict_bytes")?;
        }
        if counts("compression_zstd_max_train_bytes") {
            options.zstd_max_train_bytes = values.get("compression_zstd_max_train_bytes")?;
        }
        if counts("compression_parallel_threads") {
            options.parallel_threads = values.at_least("compression_parallel_threads", 1)?;
        }
        if counts("compression_max_dict_buffer_bytes") {
            options.max_dict_buffer_bytes = values.get("compression_max_dict_buffer_bytes")?;
        }
        if counts("compression_use_zstd_dict_trainer") {
            options.use_zstd_dict_trainer = values.bool("compression_use_zstd_dict_trainer");
        }
        let first: i32 = self.values.get("min_level_to_compress")?;
        if let Ok(first) = usize::try_from(first) {
            let settings = &mut self.out.family.settings;
            let levels = usize::try_from(settings.num_levels).unwrap_or(0);
            if first > levels {
                return Err(format!("--min_level_to_compress={first}: there are {levels} levels"));
            }
            let kind = |level| if level < first { CompressionType::NoCompression } else { settings.compression };
            settings.compression_per_level = (0..levels).map(kind).collect();
        }
        Ok(())
    }

    /// Plain tables as RocksDB's db_bench makes them: keys of one length, the filter by `--bloom_bits`.
    fn plain_tables(&mut self) -> Result<(), String> {
        if !self.values.bool("use_plain_table") {
            return Ok(());
        }
        let mut plain = PlainTableOptions::default();
        plain.user_key_len = self.values.get("key_size")?;
        let bits: f64 = self.values.get("bloom_bits")?;
        if bits >= 0.0 {
            plain.bloom_bits_per_key = bits as i32;
        }
        if self.values.get::<usize>("prefix_size")? == 0 {
            plain.hash_table_ratio = 0.0;
            self.out.notes.push("--use_plain_table without --prefix_size: one index of all keys".to_owned());
        }
        self.out.family.table_factory = TableFactory::Plain(Arc::new(plain));
        Ok(())
    }

    fn memtables(&mut self) -> Result<(), String> {
        if self.counts(&["memtablerep", "hash_bucket_count"]) {
            let buckets = self.values.at_least("hash_bucket_count", 1)?;
            let name = self.values.text("memtablerep");
            let factory = match name {
                "skip_list" => MemTableFactory::default(),
                "vector" => MemTableFactory::Vector { count: 0 },
                "prefix_hash" => MemTableFactory::hash_skip_list(buckets),
                "hash_linkedlist" => MemTableFactory::hash_link_list(buckets),
                _ => {
                    return Err(format!(
                        "--memtablerep={name}: skip_list, vector, prefix_hash or hash_linkedlist is expected"
                    ));
                }
            };
            if !factory.allows_concurrent_writes() && !self.values.is_given("allow_concurrent_memtable_write") {
                self.out.db.allow_concurrent_memtable_write = false;
                let note = format!("--memtablerep={name}: allow_concurrent_memtable_write is off, as it has to be");
                self.out.notes.push(note);
            }
            self.out.family.memtable_factory = factory;
        }
        if self.values.bool("memtable_use_huge_page") {
            self.out.family.memtable_huge_page_size = 2 << 20;
        }
        let hint: usize = self.values.get("memtable_insert_with_hint_prefix_size")?;
        if hint > 0 {
            set(&mut self.out, Scope::Family, "memtable_insert_with_hint_prefix_extractor", &format!("fixed:{hint}"))?;
        }
        Ok(())
    }

    fn tables(&mut self) -> Result<(), String> {
        let choose = |name: &str, texts: &[&str]| -> Result<String, String> {
            let text = self.values.text(name);
            // The number that RocksDB's db_bench takes, or the name in an OPTIONS file.
            let by_number = text.parse::<usize>().ok().and_then(|number| texts.get(number));
            let found = by_number.or_else(|| texts.iter().find(|known| **known == text));
            found
                .map(|text| (*text).to_owned())
                .ok_or_else(|| format!("--{name}={text} is none of 0..{}", texts.len() - 1))
        };
        let checksum = choose("checksum_type", &["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"])?;
        let shortening = choose(
            "index_shortening_mode",
            &["kNoShortening", "kShortenSeparators", "kShortenSeparatorsAndSuccessor"],
        )?;
        let prepopulate = choose("prepopulate_block_cache", &["kDisable", "kFlushOnly", "kFlushAndCompaction"])?;
        for (flag, option, text) in [
            ("checksum_type", "checksum", checksum),
            ("index_shortening_mode", "index_shortening", shortening),
            ("prepopulate_block_cache", "prepopulate_block_cache", prepopulate),
        ] {
            if self.counts(&[flag]) {
                self.set_table(option, &text)?;
            }
        }
        if self.values.bool("use_data_block_hash_index") {
            self.set_table("data_block_index_type", "kDataBlockBinaryAndHash")?;
        }
        let bits: f64 = self.values.get("bloom_bits")?;
        let is_ribbon = self.values.bool("use_ribbon_filter");
        if self.counts(&["bloom_bits", "use_ribbon_filter"]) {
            self.out.family.filter_policy = match (bits < 0.0, is_ribbon) {
                (true, false) => FilterPolicy::None,
                (true, true) => return Err("--use_ribbon_filter needs --bloom_bits".to_owned()),
                (false, false) => FilterPolicy::bloom(bits),
                (false, true) => FilterPolicy::ribbon(bits, 0),
            };
        }
        let prefix: usize = self.values.get("prefix_size")?;
        if prefix > 0 {
            self.out.family.prefix_extractor = Some(PrefixExtractor::Fixed(prefix));
        }
        Ok(())
    }

    /// The index, which flags of several releases of RocksDB select.
    fn index(&mut self) -> Result<(), String> {
        let values = self.values;
        let entries: u64 = values.at_least("index_per_partition", 0)?;
        let is_two_level = ["partition_index", "partition_indexes", "partition_index_and_filters"];
        let is_two_level = entries > 0 || is_two_level.iter().filter(|name| values.bool(name)).count() > 0;
        let kinds = [
            (is_two_level, "kTwoLevelIndexSearch"),
            (values.bool("use_hash_search"), "kHashSearch"),
            (values.bool("index_with_first_key"), "kBinarySearchWithFirstKey"),
        ];
        let mut chosen = kinds.iter().filter(|(is_chosen, _)| *is_chosen);
        if let Some((_, kind)) = chosen.next() {
            self.set_table("index_type", kind)?;
        }
        if let Some((_, kind)) = chosen.next() {
            return Err(format!("the flags ask for more than one kind of index, one of them {kind}"));
        }
        if values.bool("partition_index_and_filters") {
            self.set_table("partition_filters", "true")?;
        }
        if entries > 0 {
            let key_size: u64 = values.get("key_size")?;
            self.out.family.table.metadata_block_size = partition_size_bytes(entries, key_size);
        }
        Ok(())
    }

    fn cache(&mut self) -> Result<(), String> {
        let kind = self.values.text("cache_type");
        if !["lru_cache", "hyper_clock_cache", "fixed_hyper_clock_cache", "auto_hyper_clock_cache"].contains(&kind) {
            return Err(format!("Not implemented: --cache_type={kind}: the engine has one cache, a sharded clock"));
        }
        let shard_bits: i32 = self.values.get("cache_numshardbits")?;
        let capacity: i64 = self.values.get("cache_size")?;
        let ratio = |flag: &str| match self.values.get(flag)? {
            ratio if (0.0..=1.0).contains(&ratio) => Ok(ratio),
            ratio => Err(format!("--{flag}={ratio} is not between 0 and 1")),
        };
        if let Ok(capacity_bytes) = usize::try_from(capacity) {
            self.out.db.components.block_cache = Some(TableBlockCache::new(CacheOptions {
                capacity_bytes,
                shard_bits: u32::try_from(shard_bits).ok(),
                high_pri_pool_ratio: ratio("cache_high_pri_pool_ratio")?,
                low_pri_pool_ratio: ratio("cache_low_pri_pool_ratio")?,
                ..CacheOptions::default()
            }));
        } else {
            self.out.family.table.no_block_cache = true;
        }
        Ok(())
    }

    /// The cache of values in blob files.
    fn blob_cache(&mut self) -> Result<(), String> {
        if self.counts(&["prepopulate_blob_cache"]) {
            let text = match self.values.text("prepopulate_blob_cache") {
                "0" => "kDisable",
                "1" => "kFlushOnly",
                text => text,
            };
            set(&mut self.out, Scope::Family, "prepopulate_blob_cache", text)?;
        }
        let shard_bits: i32 = self.values.get("blob_cache_numshardbits")?;
        let capacity_bytes: usize = self.values.get("blob_cache_size")?;
        let is_shared = self.values.bool("use_shared_block_and_blob_cache");
        if !self.values.bool("use_blob_cache") {
            return Ok(());
        }
        self.out.family.blob_cache = match self.out.db.components.block_cache.clone() {
            Some(shared) if is_shared => Some(shared),
            None if is_shared => {
                return Err("--use_blob_cache without a block cache: give a --cache_size that is not negative, or \
                            --use_shared_block_and_blob_cache=false"
                    .to_owned());
            }
            _ => Some(TableBlockCache::new(CacheOptions {
                capacity_bytes,
                shard_bits: u32::try_from(shard_bits).ok(),
                ..CacheOptions::default()
            })),
        };
        Ok(())
    }

    /// Memory beside blocks that is charged to the cache.
    fn charging(&mut self) -> Result<(), String> {
        let values = self.values;
        let usage = &mut self.out.family.cache_usage;
        for (flag, decision) in [
            ("charge_compression_dictionary_building_buffer", &mut usage.compression_dictionary_building_buffer),
            ("charge_filter_construction", &mut usage.filter_construction),
            ("charge_table_reader", &mut usage.block_based_table_reader),
            ("charge_blob_cache", &mut usage.blob_cache),
        ] {
            *decision = match (values.is_given(flag), values.bool(flag)) {
                (false, _) => ChargeDecision::Fallback,
                (true, false) => ChargeDecision::Disabled,
                (true, true) => ChargeDecision::Enabled,
            };
        }
        if values.bool("cost_write_buffer_to_cache") {
            let cache = self.out.db.components.block_cache.as_ref();
            let cache = cache
                .ok_or("--cost_write_buffer_to_cache needs a block cache: give a --cache_size that is not negative")?;
            let bytes = self.out.db.settings.db_write_buffer_size;
            let size = usize::try_from(bytes)
                .map_err(|_| format!("--db_write_buffer_size={bytes} is more than this machine can address"))?;
            self.out.db.components.write_buffer_manager = Some(WriteBufferManager::new(size, Some(cache), false));
        }
        let budget: usize = self.values.get("memory_budget")?;
        if budget > 0 {
            let components = &mut self.out.db.components;
            (components.block_cache, components.write_buffer_manager) = (None, None);
            components.memory_budget = Some(MemoryBudget::new(budget));
            (self.out.family.block_cache, self.out.family.blob_cache) = (None, None);
        }
        Ok(())
    }

    /// Options of FIFO compaction. As in RocksDB's db_bench the `ttl` is that of every style.
    fn queue(&mut self) -> Result<(), String> {
        for (flag, field, unit) in [
            ("fifo_compaction_max_table_files_size_mb", "max_table_files_size", "m"),
            ("fifo_compaction_max_data_files_size_mb", "max_data_files_size", "m"),
            ("fifo_compaction_allow_compaction", "allow_compaction", ""),
            ("fifo_compaction_use_kv_ratio_compaction", "use_kv_ratio_compaction", ""),
            ("fifo_age_for_warm", "age_for_warm", ""),
        ] {
            if self.counts(&[flag]) {
                let text = format!("{{{field}={}{unit}}}", self.values.text(flag));
                set(&mut self.out, Scope::Family, "compaction_options_fifo", &text)?;
            }
        }
        if self.counts(&["fifo_compaction_ttl"]) && !self.values.is_given("ttl_seconds") && !self.values.is_given("ttl")
        {
            set(&mut self.out, Scope::Family, "ttl", self.values.text("fifo_compaction_ttl"))?;
        }
        Ok(())
    }

    fn sorted_runs(&mut self) -> Result<(), String> {
        for field in [
            "size_ratio",
            "min_merge_width",
            "max_merge_width",
            "max_size_amplification_percent",
            "compression_size_percent",
            "max_read_amp",
            "allow_trivial_move",
            "incremental",
            "reduce_file_locking",
        ] {
            let flag = format!("universal_{field}");
            let value = self.values.text(&flag);
            // 0 stands for RocksDB's default where that is not what it means.
            let is_default = value == "0" && field != "max_read_amp";
            if self.counts(&[&flag]) && !is_default {
                let text = format!("{{{field}={value}}}");
                set(&mut self.out, Scope::Family, "compaction_options_universal", &text)?;
            }
        }
        if self.counts(&["universal_stop_style"]) {
            let style = match self.values.text("universal_stop_style") {
                "0" => "kCompactionStopStyleSimilarSize",
                "1" => "kCompactionStopStyleTotalSize",
                other => return Err(format!("--universal_stop_style={other} is none of 0, 1")),
            };
            let text = format!("{{stop_style={style}}}");
            set(&mut self.out, Scope::Family, "compaction_options_universal", &text)?;
        }
        Ok(())
    }

    fn compaction(&mut self) -> Result<(), String> {
        const STYLES: [&str; 4] =
            ["kCompactionStyleLevel", "kCompactionStyleUniversal", "kCompactionStyleFIFO", "kCompactionStyleNone"];
        const PRIORITIES: [&str; 5] = [
            "kByCompensatedSize",
            "kOldestLargestSeqFirst",
            "kOldestSmallestSeqFirst",
            "kMinOverlappingRatio",
            "kRoundRobin",
        ];
        for (name, texts) in [("compaction_style", &STYLES[..]), ("compaction_pri", &PRIORITIES[..])] {
            let number: usize = self.values.get(name)?;
            let text =
                texts.get(number).ok_or_else(|| format!("--{name}={number} is none of 0..{}", texts.len() - 1))?;
            if self.counts(&[name]) {
                set(&mut self.out, Scope::Family, name, text)?;
            }
        }
        self.queue()?;
        self.sorted_runs()?;
        let additional = self.values.text("max_bytes_for_level_multiplier_additional");
        if !additional.is_empty() {
            let text = additional.replace(',', ":");
            set(&mut self.out, Scope::Family, "max_bytes_for_level_multiplier_additional", &text)?;
        }
        self.out.db.settings.max_background_compactions = self.values.get("max_background_compactions")?;
        self.out.db.settings.max_background_flushes = self.values.get("max_background_flushes")?;
        Ok(())
    }

    fn components(&mut self) -> Result<(), String> {
        let operator = self.values.text("merge_operator");
        if self.counts(&["merge_operator"]) {
            self.out.family.merge_operator =
                merge::built_in(operator).map_err(|error| format!("--merge_operator: {error}"))?;
        }
        let level = StatsLevel::from_number(self.values.get("stats_level")?);
        if self.values.bool("statistics") {
            self.out.db.components.statistics = Some(Arc::new(Statistics::new(level)));
        }
        let rate: u64 = self.values.get("rate_limiter_bytes_per_sec")?;
        let options = TokenBucketOptions {
            refill_period: Duration::from_micros(self.values.at_least("rate_limiter_refill_period_us", 0)?),
            single_burst_bytes: self.values.at_least("rate_limiter_single_burst_bytes", 0)?,
            auto_tuned: self.values.bool("rate_limiter_auto_tuned"),
            mode: match self.values.bool("rate_limit_bg_reads") {
                true => LimiterMode::ReadsOnly,
                false => LimiterMode::WritesOnly,
            },
            ..TokenBucketOptions::new(rate)
        };
        if rate > 0 {
            let bucket = TokenBucket::with_options(&options, SystemClock::shared());
            let bucket = bucket.map_err(|error| format!("--rate_limiter_refill_period_us: {error}"))?;
            self.out.db.components.rate_limiter = Some(Arc::new(bucket));
        }
        Ok(())
    }
}

/// The compression of a name.
fn compression_of(flag: &str, kind: &str) -> Result<CompressionType, String> {
    Ok(match &kind.to_ascii_lowercase()[..] {
        "none" | "no" => CompressionType::NoCompression,
        "snappy" => CompressionType::Snappy,
        "zlib" => CompressionType::Zlib,
        "bzip2" => CompressionType::BZip2,
        "lz4" => CompressionType::Lz4,
        "lz4hc" => CompressionType::Lz4Hc,
        "zstd" => CompressionType::Zstd,
        "xpress" => return Err(format!("Not implemented: --{flag}=xpress: it is only on Windows")),
        _ => return Err(format!("--{flag}={kind}: none, snappy, zlib, bzip2, lz4, lz4hc or zstd is expected")),
    })
}

/// Bytes of an index partition that holds `entries` entries on average.
///
/// An entry of a block without shared prefixes (restarts after every key, the default) is a byte each for the lengths
/// shared and not shared, a separator, a handle of about 6 bytes, and 4 bytes of restart. Keys are told apart by the
/// number in their first 8 bytes, so a shortened separator has no more.
fn partition_size_bytes(entries: u64, key_size_bytes: u64) -> u64 {
    entries.saturating_mul(key_size_bytes.min(8).saturating_add(12)).clamp(1, 1 << 31)
}

/// Options with their values, for the print of values in effect.
pub(crate) fn texts(options: &EngineOptions) -> Vec<(&'static str, Vec<(String, String)>)> {
    use ferrock::options::{BlockBasedTableOptions, ColumnFamilySettings, DbSettings};
    let pairs = |names: &mut dyn Iterator<Item = &'static str>, get: &dyn Fn(&str) -> Option<String>| {
        names.map(|name| (name.to_owned(), get(name).unwrap_or_default())).collect::<Vec<_>>()
    };
    let family = &options.family;
    let mut family_texts =
        pairs(&mut ColumnFamilySettings::TABLE.iter().map(|info| info.name), &|name| family.settings.get(name));
    family_texts.push(("filter_policy".to_owned(), family.filter_policy.format_option()));
    let operator = family.merge_operator.as_ref().map_or("nullptr", |operator| operator.name());
    family_texts.push(("merge_operator".to_owned(), operator.to_owned()));
    let prefix = family.prefix_extractor.as_ref().map_or("nullptr".to_owned(), PrefixExtractor::name);
    family_texts.push(("prefix_extractor".to_owned(), prefix));
    vec![
        (
            "Options of the database",
            pairs(&mut DbSettings::TABLE.iter().map(|info| info.name), &|name| options.db.settings.get(name)),
        ),
        ("Options of the column family", family_texts),
        (
            "Options of its tables",
            pairs(&mut BlockBasedTableOptions::TABLE.iter().map(|info| info.name), &|name| family.table.get(name)),
        ),
    ]
}

#[cfg(test)]
mod tests;
