//! The work of the benchmarks, thread by thread.

mod linkbench;
mod mixed;
mod queue;
mod read;
mod write;

pub(crate) use linkbench::Graph;

use crate::benchmarks::Work;
use crate::failure::Result;
use crate::stats::Operation;
use crate::worker::Worker;
use ferrock::CompactRangeOptions;
use ferrock::options::BottommostLevelCompaction;

/// Compacts everything; also what lies in the bottommost level already, as RocksDB's program does.
fn compact_all(db: &ferrock::Db) -> ferrock::Result<()> {
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::ForceOptimized,
        ..CompactRangeOptions::default()
    };
    db.compact_range_cf(&db.default_column_family()?, None, None, &options)
}

/// Compacts the tables of a level into the first one below that has tables, or the next one where none has. Nothing
/// where the level has none.
fn compact_level(db: &ferrock::Db, level: usize) -> ferrock::Result<()> {
    let files = db.live_files();
    let names: Vec<String> = files.iter().filter(|file| file.level == level).map(|file| file.name()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let below = files.iter().map(|file| file.level).filter(|below| *below > level).min().unwrap_or(level + 1);
    let options = ferrock::CompactionOptions::default();
    db.compact_files_cf(&db.default_column_family()?, &names, below, None, &options).map(drop)
}

pub(crate) fn dispatch(worker: &mut Worker<'_>, work: Work) -> Result<()> {
    match work {
        Work::Write { order, divisor, batch, .. } => write::write(worker, order, divisor, batch),
        Work::Delete { order } => write::delete(worker, order),
        Work::Merge => write::merge_random(worker),
        Work::Update => mixed::update_random(worker),
        Work::ReadWrite => mixed::read_write(worker),
        Work::ReadMerge => mixed::read_merge(worker),
        Work::VerifyTen => mixed::verify_ten(worker),
        Work::Beside { front, back } => mixed::beside(worker, front, back),
        Work::ReadToCache => read::read_to_cache(worker),
        Work::ApproximateSizes => read::approximate_sizes(worker),
        Work::Checksum(kind) => read::checksum(worker, kind),
        Work::CompactLevel(level) => once(worker, |db| compact_level(db, level)),
        Work::ResetStats => once(worker, |db| {
            db.reset_stats();
            Ok(())
        }),
        Work::ReadRandom { is_missing, is_hot } => read::read_random(worker, is_missing, is_hot),
        Work::ReadSequential { is_reverse } => read::read_sequential(worker, is_reverse),
        Work::SeekRandom => read::seek_random(worker),
        Work::MultiReadRandom => read::multi_read_random(worker),
        Work::Queue => queue::queue(worker),
        Work::NewIterator => read::new_iterator(worker),
        Work::Compact => once(worker, compact_all),
        Work::Flush => once(worker, ferrock::Db::flush),
        Work::WaitForCompaction => once(worker, ferrock::Db::wait_for_background_work),
        Work::LinkLoad => linkbench::link_load(worker),
        Work::LinkBench => linkbench::link_bench(worker),
        Work::LinkCheck => linkbench::link_check(worker),
        Work::VerifyChecksum => once(worker, ferrock::Db::verify_checksum),
        // Printed by the thread that starts the others.
        Work::Property(_) | Work::StatsHistory => Ok(()),
    }
}

fn once(worker: &mut Worker<'_>, action: impl Fn(&ferrock::Db) -> ferrock::Result<()>) -> Result<()> {
    action(worker.shared.db)?;
    worker.finished(1, Operation::Other);
    Ok(())
}
