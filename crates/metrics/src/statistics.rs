//! Metrics of tickers and histograms, whose names follow from RocksDB's.
//!
//! ```text
//! rocksdb.block.cache.data.miss   ferrock_statistics_block_cache_data_miss_total
//! rocksdb.stall.micros            ferrock_statistics_stall_seconds_total             microseconds become seconds
//! rocksdb.db.get.micros           ferrock_statistics_db_get_seconds                  a histogram
//! rocksdb.compression.times.nanos ferrock_statistics_compression_times_seconds       nanoseconds, too
//! ```
//!
//! The word goes wherever it stands: `rocksdb.rate.limiter.wait.micros.read` is `rate_limiter_wait_read_seconds`.
//!
//! A histogram has the ends of every other bucket as bounds, each two and a quarter times the one before, up to a
//! thousand seconds or a gigabyte. The counts up to them are exact.

use crate::definition::{Description, Kind, Page, Value, seconds};
use ferrock_engine::metrics::Metrics;
use ferrock_engine::statistics::{Histogram, HistogramData, Ticker};

/// No bound is larger, in microseconds or bytes.
const LAST_BOUND: u64 = 1_000_000_000;

/// What a value is made seconds by, where it is a time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Plain,
    Micros,
    Nanos,
}

fn unit_of(description: &str) -> Unit {
    match description.split_whitespace().next() {
        Some("Microseconds") => Unit::Micros,
        Some("Nanoseconds") => Unit::Nanos,
        _ => Unit::Plain,
    }
}

/// A name without the last word, where it says the unit that the metric does not have.
fn name_of(rocksdb: &str, description: &str) -> String {
    let own = rocksdb.strip_prefix("rocksdb.").unwrap_or(rocksdb);
    let unit = unit_of(description);
    let own = match unit {
        Unit::Plain => own.to_owned(),
        Unit::Micros => own.strip_suffix("_micros").unwrap_or(own).replacen(".micros", "", 1),
        Unit::Nanos => own.replacen(".nanos", "", 1),
    };
    let letters = own.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' });
    let unit = if unit == Unit::Plain { "" } else { "_seconds" };
    format!("ferrock_statistics_{}{unit}", letters.collect::<String>())
}

fn of_ticker(ticker: Ticker) -> Description {
    let help = ticker.description();
    let name = name_of(ticker.name(), help) + "_total";
    Description { name, kind: Kind::Counter, labels: &[], help: in_seconds(help) }
}

fn of_histogram(histogram: Histogram) -> Description {
    let help = histogram.description();
    Description { name: name_of(histogram.name(), help), kind: Kind::Histogram, labels: &[], help: in_seconds(help) }
}

fn in_seconds(description: &str) -> String {
    let rest = description.strip_prefix("Microseconds").or_else(|| description.strip_prefix("Nanoseconds"));
    rest.map_or_else(|| description.to_owned(), |rest| format!("Seconds{rest}"))
}

/// Every metric of a database with statistics.
pub(crate) fn descriptions() -> Vec<Description> {
    let tickers = Ticker::ALL.iter().filter(|ticker| ticker.is_counted()).map(|ticker| of_ticker(*ticker));
    let histograms = Histogram::ALL.iter().filter(|histogram| histogram.is_counted());
    tickers.chain(histograms.map(|histogram| of_histogram(*histogram))).collect()
}

/// Writes what the databases with statistics have counted.
pub(crate) fn write(databases: &[&Metrics], page: &mut Page) {
    let with_statistics =
        || databases.iter().filter_map(|metrics| Some((metrics.name.as_str(), metrics.statistics.as_ref()?)));
    for ticker in Ticker::ALL.iter().copied().filter(|ticker| ticker.is_counted()) {
        begin(page, &of_ticker(ticker));
        for (name, statistics) in with_statistics() {
            if let Some((_, value)) = statistics.tickers.iter().find(|(own, _)| *own == ticker) {
                page.samples(name).add(&[], scaled(*value, unit_of(ticker.description())));
            }
        }
    }
    for histogram in Histogram::ALL.iter().copied().filter(|histogram| histogram.is_counted()) {
        begin(page, &of_histogram(histogram));
        for (name, statistics) in with_statistics() {
            if let Some((_, data)) = statistics.histograms.iter().find(|(own, _)| *own == histogram) {
                write_histogram(page, name, data, unit_of(histogram.description()));
            }
        }
    }
}

fn begin(page: &mut Page, description: &Description) {
    page.begin(&description.name, description.kind, description.labels, &description.help);
}

fn scaled(value: u64, unit: Unit) -> Value {
    match unit {
        Unit::Plain => value.into(),
        Unit::Micros => seconds(value).into(),
        Unit::Nanos => (value as f64 / 1e9).into(),
    }
}

fn bound_text(bound: u64, unit: Unit) -> String {
    match unit {
        Unit::Plain => bound.to_string(),
        Unit::Micros => seconds(bound).to_string(),
        Unit::Nanos => (bound as f64 / 1e9).to_string(),
    }
}

fn write_histogram(page: &mut Page, database: &str, data: &HistogramData, unit: Unit) {
    let mut samples = page.samples(database);
    let mut buckets = data.buckets().peekable();
    let mut count = 0_u64;
    let bounds = HistogramData::bucket_ends().iter().skip(1).step_by(2).take_while(|bound| **bound <= LAST_BOUND);
    for bound in bounds {
        while let Some((_, values)) = buckets.next_if(|(end, _)| end <= bound) {
            count += values;
        }
        let text = bound_text(*bound, unit);
        samples.add_as("_bucket", &[], Some(&text), count.into());
    }
    count += buckets.map(|(_, values)| values).sum::<u64>();
    samples.add_as("_bucket", &[], Some("+Inf"), count.into());
    samples.add_as("_sum", &[], None, scaled(data.sum(), unit));
    samples.add_as("_count", &[], None, count.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_rocksdbs() {
        let of = |ticker: Ticker| of_ticker(ticker).name;
        assert_eq!(of(Ticker::BlockCacheDataMiss), "ferrock_statistics_block_cache_data_miss_total");
        assert_eq!(of(Ticker::StallMicros), "ferrock_statistics_stall_seconds_total");
        assert_eq!(of_histogram(Histogram::DbGet).name, "ferrock_statistics_db_get_seconds");
        assert_eq!(of_histogram(Histogram::WriteStall).name, "ferrock_statistics_db_write_stall_seconds");
        assert_eq!(of(Ticker::MergeOperationTotalTime), "ferrock_statistics_merge_operation_time_seconds_total");
        let waits = of_histogram(Histogram::RateLimiterWaitMicrosRead).name;
        assert_eq!(waits, "ferrock_statistics_rate_limiter_wait_read_seconds");
        assert_eq!(of_histogram(Histogram::BytesPerRead).name, "ferrock_statistics_bytes_per_read");
    }

    #[test]
    fn counts_up_to_a_bound_are_exact() {
        let data: HistogramData = [1, 2, 3, 4, 5, 10, 11, 1_000_000, 5_000_000_000].into_iter().collect();
        let mut page = Page::default();
        page.begin("h", Kind::Histogram, &[], "H.");
        write_histogram(&mut page, "d", &data, Unit::Micros);
        let text = page.into_text();
        for line in [
            "h_bucket{db=\"d\",le=\"0.000002\"} 2",
            "h_bucket{db=\"d\",le=\"0.000004\"} 4",
            "h_bucket{db=\"d\",le=\"0.00001\"} 6",
            "h_bucket{db=\"d\",le=\"+Inf\"} 9",
            "h_sum{db=\"d\"} 5001.000036",
            "h_count{db=\"d\"} 9",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
        }
    }
}
