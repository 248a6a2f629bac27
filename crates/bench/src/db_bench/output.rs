//! What is printed. Results go to standard output; with `--json` that is one JSON object, and the lines for people go
//! to standard error.

use crate::failure::{Failure, Result};
use crate::flags::effective;
use crate::options::{EngineOptions, texts};
use crate::settings::Settings;
use serde_json::Value;
use std::io::Write;

/// Where lines go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    is_json: bool,
}

impl Output {
    pub(crate) fn new(is_json: bool) -> Self {
        Self { is_json }
    }

    /// A line for people.
    pub(crate) fn say(&self, text: &str) -> Result<()> {
        if self.is_json {
            self.note(text);
            return Ok(());
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).map_err(Failure::Output)
    }

    /// A line beside the results.
    pub(crate) fn note(&self, text: &str) {
        // An error here has no reader when standard error is closed.
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// The results for programs.
    pub(crate) fn json(&self, document: &Value) -> Result<()> {
        writeln!(std::io::stdout().lock(), "{document:#}").map_err(Failure::Output)
    }

    /// The header with the measured settings, in RocksDB's form, and every option in effect.
    pub(crate) fn header(&self, settings: &Settings, engine: &EngineOptions) -> Result<()> {
        let entry = settings.key_size as f64 + settings.value_size as f64;
        let compressed = settings.key_size as f64 + settings.value_size as f64 * settings.compression_ratio;
        let mib = |bytes: f64| bytes * settings.num as f64 / 1_048_576.0;
        let compressed_value = settings.value_size as f64 * settings.compression_ratio;
        let lines = [
            format!("Ferrock:    version {}", env!("CARGO_PKG_VERSION")),
            format!("Keys:       {} bytes each (+ 0 bytes user-defined timestamp)", settings.key_size),
            format!("Values:     {} bytes each ({compressed_value:.0} bytes after compression)", settings.value_size),
            format!("Entries:    {}", settings.num),
            format!("Prefix:    {} bytes", settings.prefix_size),
            format!("Keys per prefix:    {}", settings.keys_per_prefix),
            format!("RawSize:    {:.1} MB (estimated)", mib(entry)),
            format!("FileSize:   {:.1} MB (estimated)", mib(compressed)),
            format!("Write rate: {} bytes/second", settings.write_rate_limit),
            format!("Read rate: {} ops/second", settings.read_rate_limit),
            format!("Compression: {:?}", engine.family.compression),
            format!("Verification: {}", if settings.verify { "every value read, against its key" } else { "off" }),
        ];
        self.say(&lines.join("\n"))?;
        if cfg!(debug_assertions) {
            self.say("WARNING: Assertions are enabled; benchmarks unnecessarily slow")?;
        }
        for note in &engine.notes {
            self.say(&format!("NOTE: {note}"))?;
        }
        let cache = engine.db.components.block_cache.as_ref().map_or(0, |cache| cache.capacity());
        let mut groups = vec![("Options of the run", run_texts(settings, cache))];
        groups.extend(texts(engine));
        self.say(effective(&groups).trim_end())?;
        self.say("------------------------------------------------")
    }
}

fn run_texts(settings: &Settings, cache_size: usize) -> Vec<(String, String)> {
    let pair = |name: &str, value: &dyn ToString| (name.to_owned(), value.to_string());
    vec![
        pair("benchmarks", &settings.benchmarks),
        pair("num", &settings.num),
        pair("reads", &settings.reads),
        pair("writes", &settings.writes),
        pair("deletes", &settings.deletes),
        pair("merge_keys", &settings.merge_keys),
        pair("duration", &(settings.duration_us / 1_000_000)),
        pair("threads", &settings.threads),
        pair("key_size", &settings.key_size),
        pair("prefix_size", &settings.prefix_size),
        pair("keys_per_prefix", &settings.keys_per_prefix),
        pair("value_size", &settings.value_size),
        pair("compression_ratio", &settings.compression_ratio),
        pair("batch_size", &settings.batch_size),
        pair("sync", &settings.sync),
        pair("disable_wal", &settings.disable_wal),
        pair("verify", &settings.verify),
        pair("verify_checksum", &settings.verify_checksum),
        pair("seek_nexts", &settings.seek_nexts),
        pair("max_scan_distance", &settings.max_scan_distance),
        pair("reverse_iterator", &settings.reverse_iterator),
        pair("total_order_seek", &settings.total_order_seek),
        pair("auto_prefix_mode", &settings.auto_prefix_mode),
        pair("prefix_same_as_start", &settings.prefix_same_as_start),
        pair("readahead_size", &settings.readahead_size),
        pair("async_io", &settings.async_io),
        pair("adaptive_readahead", &settings.adaptive_readahead),
        pair("auto_readahead_size", &settings.auto_readahead_size),
        pair("readwritepercent", &settings.read_write_percent),
        pair("benchmark_write_rate_limit", &settings.write_rate_limit),
        pair("benchmark_read_rate_limit", &settings.read_rate_limit),
        pair("use_existing_db", &settings.use_existing_db),
        pair("readonly", &settings.readonly),
        pair("block_cache_bytes", &cache_size),
    ]
}
