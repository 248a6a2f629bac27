//! The work of the benchmarks, thread by thread.

mod linkbench;
mod mixed;
mod permutation;
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

impl Worker<'_> {
    pub(crate) fn dispatch(&mut self, work: Work) -> Result<()> {
        match work {
            Work::Write { order, divisor, batch, .. } => self.write(order, divisor, batch),
            Work::Delete { order } => self.delete(order),
            Work::Merge => self.merge_random(),
            Work::Update => self.update_random(),
            Work::ReadWrite => self.read_write(),
            Work::ReadWhileWriting { seeks } => self.read_while_writing(seeks),
            Work::ReadRandom { is_missing, is_hot } => self.read_random(is_missing, is_hot),
            Work::ReadSequential { is_reverse } => self.read_sequential(is_reverse),
            Work::SeekRandom => self.seek_random(),
            Work::MultiReadRandom => self.multi_read_random(),
            Work::NewIterator => self.new_iterator(),
            Work::Compact => self.once(compact_all),
            Work::Flush => self.once(ferrock::Db::flush),
            Work::WaitForCompaction => self.once(ferrock::Db::wait_for_background_work),
            Work::LinkLoad => self.link_load(),
            Work::LinkBench => self.link_bench(),
            Work::LinkCheck => self.link_check(),
            Work::VerifyChecksum => self.once(ferrock::Db::verify_checksum),
            // Printed by the thread that starts the others.
            Work::Property(_) => Ok(()),
        }
    }

    fn once(&mut self, action: impl Fn(&ferrock::Db) -> ferrock::Result<()>) -> Result<()> {
        action(self.shared.db)?;
        self.finished(1, Operation::Other);
        Ok(())
    }
}
