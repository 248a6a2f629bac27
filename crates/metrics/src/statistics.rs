//! Metrics of tickers and histograms, whose names follow from RocksDB's.
//!
//! ```text
//! rocksdb.block.cache.data.miss   ferrock_statistics_block_cache_data_miss_total
//! rocksdb.stall.micros            ferrock_statistics_stall_seconds_total             microseconds become seconds
//! rocksdb.db.get.micros           ferrock_statistics_db_get_seconds                  a histogram
//! ```
//!
//! A histogram has the ends of every other bucket as bounds, each two and a quarter times the one before, up to a
//! thousand seconds or a gigabyte. The counts up to them are exact.

use crate::definition::{Description, Kind, Page, Value, seconds};
use ferrock_engine::metrics::Metrics;
use ferrock_engine::statistics::{Histogram, HistogramData, Ticker};

/// No bound is larger, in microseconds or bytes.
const LAST_BOUND: u64 = 1_000_000_000;

fn is_time(description: &str) -> bool {
    description.starts_with("Microseconds")
}

/// A name without the last word, where it says the unit that the metric does not have.
fn name_of(rocksdb: &str, description: &str) -> String {
    let own = rocksdb.strip_prefix("rocksdb.").unwrap_or(rocksdb);
    let own = if is_time(description) {
        own.strip_suffix(".micros").or_else(|| own.strip_suffix("_micros")).unwrap_or(own)
    } else {
        own
    };
    let letters = own.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' });
    let unit = if is_time(description) { "_seconds" } else { "" };
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
    description.strip_prefix("Microseconds").map_or_else(|| description.to_owned(), |rest| format!("Seconds{rest}"))
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
                page.samples(name).add(&[], scaled(*value, is_time(ticker.description())));
            }
        }
    }
    for histogram in Histogram::ALL.iter().copied().filter(|histogram| histogram.is_counted()) {
        begin(page, &of_histogram(histogram));
        for (name, statistics) in with_statistics() {
            if let Some((_, data)) = statistics.histograms.iter().find(|(own, _)| *own == histogram) {
                write_histogram(page, name, data, is_time(histogram.description()));
            }
        }
    }
}

fn begin(page: &mut Page, description: &Description) {
    page.begin(&description.name, description.kind, description.labels, &description.help);
}

fn scaled(value: u64, is_time: bool) -> Value {
    if is_time { seconds(value).into() } else { value.into() }
}

fn write_histogram(page: &mut Page, database: &str, data: &HistogramData, is_time: bool) {
    let mut samples = page.samples(database);
    let mut buckets = data.buckets().peekable();
    let mut count = 0_u64;
    let bounds = HistogramData::bucket_ends().iter().skip(1).step_by(2).take_while(|bound| **bound <= LAST_BOUND);
    for bound in bounds {
        while let Some((_, values)) = buckets.next_if(|(end, _)| end <= bound) {
            count += values;
        }
        let text = if is_time { seconds(*bound).to_string() } else { bound.to_string() };
        samples.add_as("_bucket", &[], Some(&text), count.into());
    }
    count += buckets.map(|(_, values)| values).sum::<u64>();
    samples.add_as("_bucket", &[], Some("+Inf"), count.into());
    samples.add_as("_sum", &[], None, scaled(data.sum(), is_time));
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
        assert_eq!(of_histogram(Histogram::BytesPerRead).name, "ferrock_statistics_bytes_per_read");
    }

    #[test]
    fn counts_up_to_a_bound_are_exact() {
        let data: HistogramData = [1, 2, 3, 4, 5, 10, 11, 1_000_000, 5_000_000_000].into_iter().collect();
        let mut page = Page::default();
        page.begin("h", Kind::Histogram, &[], "H.");
        write_histogram(&mut page, "d", &data, true);
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
