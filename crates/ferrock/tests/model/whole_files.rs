//! Operations on whole files. Files of a range are dropped, and what is left of the range is deleted, so that the model
//! knows what is there. No snapshot is held: it would lose what the files had.

use super::database::{Check, Database, Pace, explain};
use super::operations::{Change, Mutation, NamedFiles, Stopped};
use ferrock::options::{CompactionStyle, TableFactory, Temperature};
use ferrock::{Canceller, CompactionOptions, ErrorKind, LiveFile};

impl Database<'_> {
    /// Drops the files of a range from a key on, which `length` and the key space end.
    pub fn drop_files(&mut self, family: u8, key: u16, length: u16) -> Check {
        let index = self.family_index(family);
        let own = &self.families[index];
        if !self.snapshots.is_empty() || own.handle.options().table_factory != TableFactory::BlockBased {
            return Ok(());
        }
        let order = own.model.order;
        let key_index = usize::from(key % self.key_space);
        let to = (key_index + usize::from(length)) % usize::from(self.key_space);
        let (mut begin, mut end) = (order.key(key_index).to_vec(), order.key(to).to_vec());
        if order.compare(&begin, &end).is_gt() {
            std::mem::swap(&mut begin, &mut end);
        }
        let range = (Some(&begin[..]), Some(&end[..]));
        explain(self.db().delete_files_in_ranges_cf(&own.handle, &[range], false), "delete_files_in_ranges")?;
        self.write_one(&Mutation { family, key, change: Change::DeleteRange(length) }, false, false)
    }

    /// Compacts files that are named, if that makes sense; says so if it does not.
    pub fn compact_files(&mut self, named: &NamedFiles) -> Check {
        let own = &self.families[self.family_index(named.family)];
        let options = own.handle.options();
        let num_levels = usize::try_from(options.num_levels).unwrap_or(1);
        let level = usize::from(named.level) % (num_levels + 1);
        let mut files: Vec<LiveFile> = self.db().live_files();
        files.retain(|file| file.column_family == own.name);
        let mut bit = 0;
        files.retain(|_| {
            bit += 1;
            named.which >> (bit % 16) & 1 == 1
        });
        let canceller = Canceller::new();
        let how = CompactionOptions {
            compression: None,
            output_file_size_limit: if named.file_size == u16::MAX { u64::MAX } else { named.file_size.into() },
            max_subcompactions: named.parts.into(),
            canceled: Some(canceller.clone()),
            allow_trivial_move: named.moves,
            output_temperature_override: if named.which.is_multiple_of(3) {
                Temperature::Cool
            } else {
                Temperature::Unknown
            },
        };
        match named.stopped {
            Stopped::No => {}
            Stopped::Canceled => canceller.cancel(),
            Stopped::Disabled => self.db().disable_manual_compaction(),
            Stopped::Aborted => self.db().abort_all_compactions(),
        }
        let names: Vec<String> = files.iter().map(LiveFile::name).collect();
        let path = Some(self.target_path_id(named.path));
        let outcome = self.db().compact_files_cf(&own.handle, &names, level, path, &how);
        match named.stopped {
            Stopped::No | Stopped::Canceled => {}
            Stopped::Disabled => explain(self.db().enable_manual_compaction(), "enabling")?,
            Stopped::Aborted => explain(self.db().resume_all_compactions(), "resuming")?,
        }
        let is_possible = !files.is_empty()
            && level < num_levels
            && (level == 0 || options.compaction_style != CompactionStyle::Fifo)
            && files.iter().all(|file| file.level <= level);
        let is_expected = match (&outcome, named.stopped) {
            (Err(error), Stopped::Canceled | Stopped::Disabled | Stopped::Aborted) => {
                error.kind() == ErrorKind::Incomplete
            }
            (Ok(_), stopped) => stopped == Stopped::No && (is_possible || self.pace == Pace::Busy),
            (Err(error), _) if self.pace == Pace::Busy => {
                matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::Aborted)
            }
            (Err(error), _) => !is_possible && error.kind() == ErrorKind::InvalidArgument,
        };
        if is_expected { Ok(()) } else { Err(format!("compact_files to level {level} of {files:?}: {outcome:?}")) }
    }

    /// Suggests to compact a range.
    pub fn suggest(&mut self, family: u8, from: u16, to: u16) -> Check {
        let own = &self.families[self.family_index(family)];
        let order = own.model.order;
        let key = |number: u16| order.key(usize::from(number % self.key_space));
        let (mut from, mut to) = (key(from), key(to));
        if order.compare(from, to).is_gt() {
            std::mem::swap(&mut from, &mut to);
        }
        explain(self.db().suggest_compact_range_cf(&own.handle, Some(from), Some(to)), "suggest_compact_range")
    }
}
