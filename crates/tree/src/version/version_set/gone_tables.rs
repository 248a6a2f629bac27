//! Tables that a change took out of the tree, noted until their blocks leave the cache: `uncache_aggressiveness`.
//!
//! ```text
//! log_and_apply    notes the tables that it deletes, with the number that is in force       (in memory)
//! clean-up         takes those that no version holds any more, and uncaches their blocks
//! ```
//!
//! - A table that is moved is added by the edit that deletes it, and is not noted.
//! - A note keeps a table open that is kept open with its file, so that its index can be asked. One of a bounded cache
//!   is asked if it is open when its turn comes.
//! - Notes go with the version set: at a close the blocks stay in the cache, for the database may be opened again.

use super::VersionSet;
use crate::table_cache::OpenTables;
use crate::version::{FileMetadata, Version};
use ferrock_base::FileNumber;
use ferrock_format::version_edit::{ColumnFamilyChange, VersionEdit};
use std::collections::HashSet;
use std::sync::Arc;

/// A table that is in no current version any more.
#[derive(Debug)]
pub struct GoneTable {
    file: Arc<FileMetadata>,
    aggressiveness: u32,
}

impl GoneTable {
    /// Takes its blocks out of the block cache, if the table is open, and returns how many.
    pub fn uncache(&self, open_tables: &OpenTables) -> u64 {
        match self.file.open_table().get() {
            Some(kept) => kept.table().uncache(self.aggressiveness),
            None => open_tables.if_open(self.file.number).map_or(0, |table| table.uncache(self.aggressiveness)),
        }
    }

    /// Number of its file.
    #[must_use]
    pub fn number(&self) -> FileNumber {
        self.file.number
    }
}

impl VersionSet {
    /// The tables that `edits` take out of the tree, of families whose blocks are to leave the cache.
    pub(super) fn tables_that_go(&self, edits: &[VersionEdit]) -> Vec<GoneTable> {
        let mut gone = Vec::new();
        for edit in edits {
            let is_drop = matches!(edit.column_family_change, Some(ColumnFamilyChange::Drop));
            if !is_drop && edit.deleted_files.is_empty() {
                continue;
            }
            let Some(family) = self.family(edit.column_family) else { continue };
            let aggressiveness = family.options.uncache_aggressiveness;
            if aggressiveness > 0 {
                let files = taken_out(edit, is_drop, &family.current);
                gone.extend(files.map(|file| GoneTable { file, aggressiveness }));
            }
        }
        gone
    }

    /// Tables that were taken out of the tree and not taken from here yet. A caller that finds some in a version puts
    /// them back: it lists the versions behind this call, for a table that is noted later may be in none of its list.
    #[must_use]
    pub fn take_gone_tables(&self) -> Vec<GoneTable> {
        std::mem::take(&mut self.state.lock().gone_tables)
    }

    /// See [`take_gone_tables`](Self::take_gone_tables).
    pub fn put_back_gone_tables(&self, held: Vec<GoneTable>) {
        self.state.lock().gone_tables.extend(held);
    }
}

fn taken_out<'a>(
    edit: &'a VersionEdit,
    is_drop: bool,
    current: &'a Version,
) -> impl Iterator<Item = Arc<FileMetadata>> + 'a {
    let added: HashSet<FileNumber> = edit.new_files.iter().map(|file| file.number).collect();
    let deleted: HashSet<FileNumber> = edit.deleted_files.iter().map(|file| file.number).collect();
    let goes = move |number: &FileNumber| is_drop || (deleted.contains(number) && !added.contains(number));
    current.files().filter(move |(_, file)| goes(&file.number)).map(|(_, file)| Arc::clone(file))
}
