//! Applies `VersionEdit`s to a `Version`.
//!
//! An edit that cannot be applied is an error, from the MANIFEST or from a job: deleting a file that is not at that
//! level, adding a number that is in the tree, a boundary too short to be an internal key, garbage in an unknown blob
//! file. The rules between the files of the result are checked when it is built (see `consistency`).
//!
//! What an edit costs follows the levels that it changes: the others are shared with the base, checked before, and not
//! looked at. All edits of a MANIFEST go into one builder.

use super::blob_file::BlobFileMetadata;
use super::level_targets::num_levels;
use super::version::LevelFiles;
use super::{FileMetadata, Version, consistency};
use ferrock_base::internal_key::{TRAILER_SIZE, user_key};
use ferrock_base::{Error, FileNumber, InternalComparator, Result};
use ferrock_format::version_edit::{DeletedFile, NewFile, VersionEdit};
use ferrock_options::ColumnFamilySettings;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Numbers of files that have left again are kept up to so many, and as many again as there are files.
const ADDED_AT_LEAST: usize = 64;

type BlobFiles = BTreeMap<FileNumber, Arc<BlobFileMetadata>>;

/// A version in the making.
#[derive(Clone, Debug)]
pub struct VersionBuilder {
    base: Arc<Version>,
    /// Files of the base that are there no more.
    left: HashSet<FileNumber>,
    /// Files that are there and not in the base; the level is in the file.
    came: HashMap<FileNumber, Arc<FileMetadata>>,
    /// Numbers that were added to a level, in order of addition. Some may have left again.
    added: Vec<(u32, FileNumber)>,
    touched_levels: BTreeSet<u32>,
    compact_cursors: BTreeMap<u32, Vec<u8>>,
    /// Copied from the base when the first edit concerns blob files.
    blob_files: Option<BlobFiles>,
}

impl VersionBuilder {
    /// A builder that starts from `base`.
    #[must_use]
    pub fn new(base: Arc<Version>) -> Self {
        Self {
            base,
            left: HashSet::new(),
            came: HashMap::new(),
            added: Vec::new(),
            touched_levels: BTreeSet::new(),
            compact_cursors: BTreeMap::new(),
            blob_files: None,
        }
    }

    /// Applies one edit: deletions, then additions. After an error the builder is of no use.
    ///
    /// # Errors
    /// `Corruption` when the edit removes a file that is not there or adds one that is.
    pub fn apply(&mut self, edit: &VersionEdit) -> Result<()> {
        let mut left = self.delete(&edit.deleted_files)?;
        self.check_new_numbers(&edit.new_files)?;
        for new_file in &edit.new_files {
            self.add(new_file, left.remove(&new_file.number))?;
        }
        for (level, key) in &edit.compact_cursors {
            self.compact_cursors.insert(*level, key.clone());
        }
        self.apply_blob_files(edit)
    }

    /// Takes files out of the tree, and returns them by number. One pass over each level of the base that loses some.
    fn delete(&mut self, deleted: &[DeletedFile]) -> Result<HashMap<FileNumber, Arc<FileMetadata>>> {
        let mut left = HashMap::new();
        let mut in_base: BTreeMap<u32, HashSet<FileNumber>> = BTreeMap::new();
        for &DeletedFile { level, number } in deleted {
            match self.came.get(&number) {
                Some(file) if file.level == level => left.extend(self.came.remove_entry(&number)),
                Some(file) => return Err(cannot_delete(number, level, Some(file.level))),
                None if left.contains_key(&number) || self.left.contains(&number) => {
                    return Err(cannot_delete(number, level, None));
                }
                None if !in_base.entry(level).or_default().insert(number) => {
                    return Err(cannot_delete(number, level, None));
                }
                None => {}
            }
            self.touched_levels.insert(level);
        }
        for (level, mut wanted) in in_base {
            for file in self.base.level(usize::try_from(level).unwrap_or(usize::MAX)) {
                if wanted.remove(&file.number) {
                    left.insert(file.number, Arc::clone(file));
                    self.left.insert(file.number);
                }
            }
            if let Some(&number) = wanted.iter().min() {
                let mut known = self.base.files().filter(|(_, file)| !self.left.contains(&file.number));
                let found = known.find(|(_, file)| file.number == number);
                return Err(cannot_delete(number, level, found.map(|(_, file)| file.level)));
            }
        }
        Ok(left)
    }

    /// A number that is larger than all of the base is new; for the others there is one pass over the base.
    fn check_new_numbers(&self, new_files: &[NewFile]) -> Result<()> {
        let largest = self.base.largest_number();
        let is_old = |number: &FileNumber| *number <= largest && !self.left.contains(number);
        let old: HashMap<FileNumber, u32> =
            new_files.iter().map(|file| (file.number, file.level)).filter(|(number, _)| is_old(number)).collect();
        if old.is_empty() {
            return Ok(());
        }
        match self.base.files().find_map(|(_, file)| Some((file, *old.get(&file.number)?))) {
            Some((file, level)) => Err(cannot_add(file.number, level, file.level)),
            None => Ok(()),
        }
    }

    fn add(&mut self, new_file: &NewFile, moved_from: Option<Arc<FileMetadata>>) -> Result<()> {
        let NewFile { number, level, .. } = *new_file;
        if let Some(file) = self.came.get(&number) {
            return Err(cannot_add(number, level, file.level));
        }
        for (boundary, name) in [(&new_file.smallest, "smallest"), (&new_file.largest, "largest")] {
            if boundary.len() < TRAILER_SIZE {
                return Err(Error::corruption(format!(
                    "the {name} key of table file #{number} has {} bytes, an internal key has at least {TRAILER_SIZE}",
                    boundary.len()
                )));
            }
        }
        let order = self.base.comparator().user();
        if order.compare(user_key(&new_file.smallest), user_key(&new_file.largest)).is_gt() {
            return Err(Error::corruption(format!(
                "table file #{number} ends before it begins: smallest {}, largest {}",
                consistency::printable(&new_file.smallest),
                consistency::printable(&new_file.largest)
            )));
        }
        let file = match moved_from {
            Some(file) => file.moved(new_file.clone()),
            None => FileMetadata::from(new_file.clone()),
        };
        self.came.insert(number, Arc::new(file));
        if self.added.len() > 2 * self.came.len() + ADDED_AT_LEAST {
            let came = &self.came;
            self.added.retain(|(level, number)| came.get(number).is_some_and(|file| file.level == *level));
        }
        self.added.push((level, number));
        self.touched_levels.insert(level);
        Ok(())
    }

    fn apply_blob_files(&mut self, edit: &VersionEdit) -> Result<()> {
        if edit.blob_file_additions.is_empty() && edit.blob_file_garbages.is_empty() {
            return Ok(());
        }
        let base = &self.base;
        let blob_files = self.blob_files.get_or_insert_with(|| base.blob_files().clone());
        for addition in &edit.blob_file_additions {
            let added = Arc::new(BlobFileMetadata::new(addition.clone()));
            if blob_files.insert(addition.number, added).is_some() {
                return Err(Error::corruption(format!("blob file #{} is added twice", addition.number)));
            }
        }
        for garbage in &edit.blob_file_garbages {
            let blob_file = blob_files.get_mut(&garbage.number).ok_or_else(|| {
                Error::corruption(format!(
                    "garbage is recorded for blob file #{}, which does not exist",
                    garbage.number
                ))
            })?;
            Arc::make_mut(blob_file).add_garbage(garbage)?;
        }
        Ok(())
    }

    /// The version that results. With `force_consistency_checks`, files that break the rules of the tree are
    /// corruption.
    ///
    /// # Errors
    /// `Corruption` when the files break a rule of the tree, `InvalidArgument` when one lies in a level that the
    /// options do not have.
    pub fn build(self, settings: &ColumnFamilySettings) -> Result<Version> {
        let levels = self.levels(num_levels(settings))?;
        self.finish(settings, levels)
    }

    /// As [`build`](Self::build), for files read from a MANIFEST: where one of them has no epoch number, all get new
    /// ones by their place in the tree. The deepest level is the oldest and gets 1; files of a level below 0 share a
    /// number, those of level 0 get one each.
    ///
    /// # Errors
    /// Those of [`build`](Self::build).
    pub fn build_recovered(self, settings: &ColumnFamilySettings) -> Result<Version> {
        let mut levels = self.levels(num_levels(settings))?;
        if levels.iter().flat_map(|files| files.iter()).any(|file| file.epoch_number.is_none()) {
            let mut epoch = 0;
            for (level, files) in levels.iter_mut().enumerate().rev() {
                if level > 0 && !files.is_empty() {
                    epoch += 1;
                }
                let mut renumbered: Vec<_> = files
                    .iter()
                    .rev()
                    .map(|file| {
                        epoch += u64::from(level == 0);
                        let recorded = NewFile { epoch_number: Some(epoch), ..file.recorded().clone() };
                        Arc::new(FileMetadata::from(recorded))
                    })
                    .collect();
                renumbered.reverse();
                *files = renumbered.into();
            }
        }
        self.finish(settings, levels)
    }

    fn levels(&self, num_levels: usize) -> Result<Vec<LevelFiles>> {
        let too_deep = |level: u32| usize::try_from(level).is_ok_and(|level| level >= num_levels);
        let deep = (num_levels..self.base.num_levels()).flat_map(|level| self.base.level(level));
        let deep = deep.filter(|file| !self.left.contains(&file.number));
        let deep = deep.chain(self.came.values().filter(|file| too_deep(file.level)));
        if let Some(file) = deep.min_by_key(|file| file.number) {
            return Err(Error::invalid_argument(format!(
                "db has more levels than options.num_levels = {num_levels}: table file #{} is on level {}",
                file.number, file.level
            )));
        }
        let mut added: HashMap<u32, Vec<Arc<FileMetadata>>> = HashMap::new();
        let mut seen = HashSet::new();
        for &(level, number) in &self.added {
            if let Some(file) = self.came.get(&number)
                && file.level == level
                && seen.insert(number)
            {
                added.entry(level).or_default().push(Arc::clone(file));
            }
        }
        let mut levels = Vec::with_capacity(num_levels);
        for level in 0..num_levels {
            let number = level as u32;
            if !self.touched_levels.contains(&number) && level < self.base.num_levels() {
                levels.push(self.base.level_shared(level));
                continue;
            }
            let stayed = |file: &&Arc<FileMetadata>| !self.left.contains(&file.number);
            let mut files: Vec<_> = self.base.level(level).iter().filter(stayed).cloned().collect();
            files.extend(added.remove(&number).unwrap_or_default());
            sort_level(self.base.comparator(), level, &mut files);
            levels.push(files.into());
        }
        Ok(levels)
    }

    fn finish(self, settings: &ColumnFamilySettings, levels: Vec<LevelFiles>) -> Result<Version> {
        let comparator = self.base.comparator().clone();
        if settings.force_consistency_checks {
            // The base was checked when it was made.
            let is_new = |level: usize, files: &LevelFiles| !self.base.shares_level(level, files);
            for (level, files) in levels.iter().enumerate().filter(|(level, files)| is_new(*level, files)) {
                consistency::check_level(&comparator, level, files)?;
            }
        }
        let blob_files = self.final_blob_files(settings, &levels)?;
        let mut cursors = self.base.compact_cursors().to_vec();
        cursors.resize(levels.len(), None);
        for (level, key) in self.compact_cursors {
            // A cursor of a level that the family no longer has is dropped.
            if let Some(cursor) = usize::try_from(level).ok().and_then(|level| cursors.get_mut(level)) {
                *cursor = Some(key);
            }
        }
        Ok(Version::from_parts(comparator, settings, levels, cursors, blob_files, Some(&self.base)))
    }

    fn final_blob_files(&self, settings: &ColumnFamilySettings, levels: &[LevelFiles]) -> Result<Arc<BlobFiles>> {
        if self.blob_files.is_none() && self.base.blob_files().is_empty() {
            return Ok(self.base.blob_files_shared());
        }
        let tables = levels.iter().flat_map(|files| files.iter());
        let linked: HashSet<FileNumber> = tables.filter_map(|file| file.oldest_blob_file_number).collect();
        let oldest_linked = linked.iter().min().copied();
        let mut blob_files = self.blob_files.clone().unwrap_or_else(|| self.base.blob_files().clone());
        blob_files.retain(|number, blob_file| {
            // No table refers to a file below the smallest of the oldest references.
            let is_below_all = oldest_linked.is_none_or(|oldest| *number < oldest);
            linked.contains(number) || !(blob_file.is_all_garbage() || is_below_all)
        });
        if settings.force_consistency_checks {
            consistency::check_blob_files(&blob_files, &linked)?;
        }
        Ok(Arc::new(blob_files))
    }
}

fn sort_level(comparator: &InternalComparator, level: usize, files: &mut [Arc<FileMetadata>]) {
    if level > 0 {
        files.sort_by(|a, b| comparator.compare(&a.smallest, &b.smallest).then(a.number.cmp(&b.number)));
    } else if files.iter().all(|file| file.epoch_number.is_some()) {
        files.sort_by(|a, b| consistency::newest_epoch_first(a, b));
    } else {
        files.sort_by(|a, b| consistency::newest_sequence_first(a, b));
    }
}

fn cannot_add(number: FileNumber, level: u32, found: u32) -> Error {
    Error::corruption(format!(
        "cannot add table file #{number} to level {level}: it is already in the tree, on level {found}"
    ))
}

fn cannot_delete(number: FileNumber, level: u32, found: Option<u32>) -> Error {
    let place = match found {
        Some(found) => format!("it is on level {found}"),
        None => "it is not in the tree".to_owned(),
    };
    Error::corruption(format!("cannot delete table file #{number} from level {level}: {place}"))
}
