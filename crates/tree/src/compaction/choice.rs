//! A chosen compaction, as data: `picker` makes it, [`CompactionJob`](crate::job::CompactionJob) runs it.

use crate::version::boundary::BoundaryRange;
use crate::version::{FileMetadata, Version};
use ferrock_base::internal_key::user_key;
use ferrock_base::sst_partitioner::{PartitionerContext, SstPartitioner};
use ferrock_base::{Comparator, SequenceNumber, Temperature};
use ferrock_options::{ColumnFamilyOptions, CompressionType};
use std::sync::Arc;

pub use ferrock_options::CompactionReason;

/// What becomes of the input files of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompactionKind {
    /// They are read, and their entries written to new files.
    Merge,
    /// They are recorded on another level and not read.
    Move,
    /// They are removed and not read.
    Drop,
    /// Their bytes are copied to new files, for another temperature.
    Copy,
}

impl CompactionKind {
    /// True when the output is new files.
    #[must_use]
    pub fn writes_files(self) -> bool {
        matches!(self, Self::Merge | Self::Copy)
    }
}

/// Files of one level, in the level's order.
#[derive(Clone, Debug, Default)]
pub struct LevelInputs {
    /// The level.
    pub level: usize,
    /// Its files.
    pub files: Vec<Arc<FileMetadata>>,
}

impl LevelInputs {
    /// Bytes of the files.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        crate::version::total_size_bytes(&self.files)
    }
}

/// What a compaction into the last level may leave on the level above it, with `preclude_last_level_data_seconds`.
#[derive(Clone, Debug)]
pub struct ProximalOutput {
    /// The level above the last.
    pub level: usize,
    /// Keys that may be written there: no file of the level that stays lies in it, and no other compaction may write
    /// into it.
    pub range: BoundaryRange,
    /// Entries up to this number go to the last level, however young they are: those that are there already, where not
    /// all keys of the inputs are in the range.
    pub keep_in_last_level_through: SequenceNumber,
}

/// A compaction to be run.
#[derive(Clone, Debug)]
pub struct CompactionChoice {
    /// Why.
    pub reason: CompactionReason,
    /// The version that it was chosen from. Deeper levels are looked up in it.
    pub version: Arc<Version>,
    /// The level that the compaction takes its first inputs from.
    pub start_level: usize,
    /// The level that its output joins.
    pub output_level: usize,
    /// Where its young output goes, of a merge into the last level; `None`: to the output level, as all.
    pub proximal: Option<Box<ProximalOutput>>,
    /// The directory that its output goes to, as an entry of `cf_paths`.
    pub output_path_id: u32,
    /// How the output is compressed; `None`: as the options say.
    pub compression: Option<CompressionType>,
    /// Input files: those of the start level first, then those of the output level they overlap; of sorted runs
    /// that become one all of them, newest first; of files that are dropped those of any levels. None is empty.
    pub inputs: Vec<LevelInputs>,
    /// Files of the first level below the output level that overlap the inputs. Outputs are cut so that none of them
    /// overlaps too many of these.
    pub grandparents: Vec<Arc<FileMetadata>>,
    /// What becomes of the input files.
    pub kind: CompactionKind,
    /// The temperature of the output; `None`: that of the options.
    pub output_temperature: Option<Temperature>,
    /// No deeper level holds data of the range: tombstones and old versions can go, sequence numbers can become 0.
    pub is_bottommost: bool,
    /// Bytes of an output file; `u64::MAX` for a single file. See [`most_output_bytes`](Self::most_output_bytes).
    pub max_output_file_size_bytes: u64,
    /// Bytes of inputs and grandparents that one compaction should touch.
    pub max_compaction_bytes: u64,
    /// Epoch number of the outputs.
    pub epoch_number: Option<u64>,
    /// The key at which round-robin compaction of the start level continues, for the `VersionEdit`.
    pub next_compact_cursor: Option<Vec<u8>>,
    /// The score of the start level.
    pub score: f64,
}

impl CompactionChoice {
    /// Of whole files, which are not read: moved to `output_level`, or dropped, where that is the first level of
    /// `inputs`.
    #[must_use]
    pub fn of_whole_files(
        kind: CompactionKind,
        reason: CompactionReason,
        version: &Arc<Version>,
        inputs: Vec<LevelInputs>,
        output_level: usize,
    ) -> Self {
        let files = inputs.iter().flat_map(|inputs| &inputs.files);
        Self {
            reason,
            version: Arc::clone(version),
            start_level: inputs.first().map_or(output_level, |inputs| inputs.level),
            output_level,
            proximal: None,
            output_path_id: 0,
            compression: None,
            epoch_number: files.filter_map(|file| file.epoch_number).min(),
            inputs,
            grandparents: Vec::new(),
            kind,
            output_temperature: None,
            is_bottommost: false,
            max_output_file_size_bytes: u64::MAX,
            max_compaction_bytes: u64::MAX,
            next_compact_cursor: None,
            score: 0.0,
        }
    }

    /// True for a merge into the last of several levels, which is long and which writers seldom wait for.
    #[must_use]
    pub fn merges_into_last_level(&self) -> bool {
        let last = self.version.num_compacted_levels() - 1;
        self.kind == CompactionKind::Merge && last > 0 && self.output_level == last
    }

    /// The oldest of the sorted runs among the inputs, without the others: what has to stay where it is until the
    /// compaction, which is chosen anew when it begins, has a thread. Newer runs can be merged meanwhile.
    #[must_use]
    pub fn of_oldest_run(&self) -> Self {
        let mut inputs: Vec<LevelInputs> = self.inputs.last().cloned().into_iter().collect();
        if let Some(oldest) = inputs.first_mut().filter(|inputs| inputs.level == 0) {
            oldest.files.drain(..oldest.files.len().saturating_sub(1));
        }
        let start_level = inputs.first().map_or(self.start_level, |inputs| inputs.level);
        Self { inputs, start_level, proximal: None, ..self.clone() }
    }

    /// Bytes after which an output file is finished, wherever it ends. Where files lie below, it may become twice as
    /// large as the others, to end where one of those ends: a later compaction then has fewer of them to rewrite.
    #[must_use]
    pub fn most_output_bytes(&self) -> u64 {
        let may_grow = !self.is_bottommost && !self.grandparents.is_empty();
        self.max_output_file_size_bytes.saturating_mul(if may_grow { 2 } else { 1 })
    }

    /// Every input file with its level.
    pub fn input_files(&self) -> impl Iterator<Item = (usize, &Arc<FileMetadata>)> {
        self.inputs.iter().flat_map(|inputs| inputs.files.iter().map(move |file| (inputs.level, file)))
    }

    /// Unix seconds of the oldest data of the inputs with keys in `range`; 0 = unknown.
    #[must_use]
    pub fn oldest_ancestor_time_within(&self, range: &BoundaryRange) -> u64 {
        let order = self.version.comparator().user();
        let files = self.input_files().filter(|(_, file)| range.overlaps(order, file));
        let known = files.map(|(_, file)| file.oldest_ancester_time_secs).filter(|time| *time > 0);
        known.min().unwrap_or(0)
    }

    /// Bytes of all inputs.
    #[must_use]
    pub fn input_size_bytes(&self) -> u64 {
        self.inputs.iter().fold(0, |sum, inputs| sum.saturating_add(inputs.size_bytes()))
    }

    /// Whether the inputs are all files of the family.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.input_files().count() == self.version.files().count()
    }

    /// A partitioner for the compaction, if the family has them.
    #[must_use]
    pub fn partitioner(&self, options: &ColumnFamilyOptions) -> Option<Box<dyn SstPartitioner>> {
        let factory = options.sst_partitioner_factory.as_ref()?;
        let BoundaryRange { smallest, largest } = self.range();
        factory.create(&PartitionerContext {
            is_full: self.is_full(),
            is_manual: self.reason == CompactionReason::ManualCompaction,
            output_level: self.output_level,
            smallest_user_key: user_key(smallest.as_deref()?),
            largest_user_key: user_key(largest.as_deref()?),
        })
    }

    /// The range of all inputs.
    #[must_use]
    pub fn range(&self) -> BoundaryRange {
        let comparator = self.version.comparator().user();
        BoundaryRange::of_files(comparator, self.input_files().map(|(_, file)| &**file)).unwrap_or_default()
    }
}

/// Names one running compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunningId(u64);

#[derive(Debug)]
struct Running {
    id: RunningId,
    start_level: usize,
    output_level: usize,
    range: BoundaryRange,
    proximal: Option<Box<ProximalOutput>>,
    files: Vec<Arc<FileMetadata>>,
    /// Number of sorted runs among the inputs: each file of level 0, and each other level.
    sorted_runs: usize,
}

/// The running compactions of a column family, with which the next choice must not conflict.
///
/// Kept under the lock under which compactions are chosen.
#[derive(Debug, Default)]
pub struct RunningCompactions {
    running: Vec<Running>,
    last_id: u64,
}

impl RunningCompactions {
    /// Registers a chosen compaction: its inputs are busy until [`finish`](Self::finish).
    pub fn start(&mut self, choice: &CompactionChoice) -> RunningId {
        self.last_id += 1;
        let id = RunningId(self.last_id);
        let files: Vec<_> = choice.input_files().map(|(_, file)| Arc::clone(file)).collect();
        for file in &files {
            file.set_being_compacted(true);
        }
        let (start_level, output_level) = (choice.start_level, choice.output_level);
        let runs = |inputs: &LevelInputs| {
            if inputs.level == 0 { inputs.files.len() } else { usize::from(!inputs.files.is_empty()) }
        };
        let sorted_runs = choice.inputs.iter().map(runs).sum();
        let (range, proximal) = (choice.range(), choice.proximal.clone());
        self.running.push(Running { id, start_level, output_level, range, proximal, files, sorted_runs });
        id
    }

    /// Sorted runs that are being compacted.
    #[must_use]
    pub fn sorted_runs(&self) -> usize {
        self.running.iter().map(|running| running.sorted_runs).sum()
    }

    /// Removes a compaction, whether it succeeded or not.
    pub fn finish(&mut self, id: RunningId) {
        self.running.retain(|running| {
            if running.id != id {
                return true;
            }
            for file in &running.files {
                file.set_being_compacted(false);
            }
            false
        });
    }

    /// How many run.
    #[must_use]
    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// True when none is running.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// True while a compaction takes files out of level 0.
    #[must_use]
    pub fn uses_level_0(&self) -> bool {
        self.running.iter().any(|running| running.start_level == 0)
    }

    /// True when the output of a running compaction could come to lie in `range` of `level`.
    #[must_use]
    pub fn writes_into(&self, comparator: &Comparator, level: usize, range: &BoundaryRange) -> bool {
        self.running.iter().any(|running| {
            let is_output = running.output_level == level && running.range.overlaps_range(comparator, range);
            let proximal = running.proximal.as_ref().filter(|proximal| proximal.level == level);
            is_output || proximal.is_some_and(|proximal| proximal.range.overlaps_range(comparator, range))
        })
    }
}
