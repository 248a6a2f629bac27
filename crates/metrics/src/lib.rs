//! The numbers of an open database, and the page of them that Prometheus scrapes.
//!
//! [`Metrics`] is what `Db::metrics` gives; [`prometheus`] writes it in the text exposition format, version 0.0.4. A
//! program answers `GET /metrics` with that text and the header `Content-Type: text/plain; version=0.0.4`.
//!
//! ```
//! use ferrock::metrics::{prometheus, prometheus_page};
//!
//! # fn main() -> ferrock::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! let mut options = ferrock::DbOptions::default();
//! options.create_if_missing = true;
//! let db = ferrock::Db::open(directory.path(), options.clone())?;
//! db.put(b"key", b"value")?;
//! let page = prometheus(&db.metrics());
//! assert!(page.contains("# TYPE ferrock_write_batches_total counter\n"));
//!
//! // Several databases on one page, told apart by the label `db`: the directory, or another name.
//! # let other = tempfile::tempdir().unwrap();
//! let other = ferrock::Db::open(other.path(), options)?;
//! let mut all = [db.metrics(), other.metrics()];
//! all[0].name = "orders".to_owned();
//! all[1].name = "users".to_owned();
//! let page = prometheus_page(&all);
//! assert!(page.contains("ferrock_write_batches_total{db=\"orders\"} 1\n"));
//! assert!(page.contains("ferrock_write_batches_total{db=\"users\"} 0\n"));
//! # Ok(())
//! # }
//! ```
//!
//! Names, kinds, labels and help of every metric are in `docs/metrics.md`, which a test makes from [`descriptions`].
//! A name stays what it is: what it counts may be made better, and new ones may come.
//!
//! | file | is |
//! |---|---|
//! | `definition.rs` | what a metric is, and how its samples are written |
//! | `database.rs`, `storage.rs`, `family.rs` | the tables: of the database; of memory, caches and files; of families |
//! | `statistics.rs` | metrics of tickers and histograms, whose names follow from RocksDB's |
#![warn(missing_docs)]

mod database;
mod definition;
mod family;
mod statistics;
mod storage;

pub use definition::{Description, Kind};
pub use ferrock_engine::metrics::*;

use definition::{Definition, Page};

fn definitions() -> impl Iterator<Item = &'static Definition> {
    [database::TABLE, storage::TABLE, family::TABLE].into_iter().flatten()
}

/// The numbers of a database as a page in the text exposition format.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(directory.path(), options)?;
/// let page = ferrock::metrics::prometheus(&db.metrics());
/// assert!(page.contains("# TYPE ferrock_level_files gauge\n"));
/// # Ok::<(), ferrock::Error>(())
/// ```
#[must_use]
pub fn prometheus(metrics: &Metrics) -> String {
    prometheus_page([metrics])
}

/// The numbers of several databases on one page. Their names ([`Metrics::name`]) must differ.
#[must_use]
pub fn prometheus_page<'a>(databases: impl IntoIterator<Item = &'a Metrics>) -> String {
    let databases: Vec<&Metrics> = databases.into_iter().collect();
    let mut page = Page::default();
    for definition in definitions() {
        page.begin(definition.name, definition.kind, definition.labels, definition.help);
        databases.iter().for_each(|metrics| (definition.read)(metrics, &mut page.samples(&metrics.name)));
    }
    statistics::write(&databases, &mut page);
    page.into_text()
}

/// Every metric that a page may have, in the order of a page. Those of statistics are printed of databases that have
/// some, those of a budget of databases that have one.
#[must_use]
pub fn descriptions() -> Vec<Description> {
    definitions().map(Definition::description).chain(statistics::descriptions()).collect()
}
