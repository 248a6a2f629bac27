//! Directories, and which changes of them would survive a crash.
//!
//! Every directory has two maps of names: the current one and a `durable` one, which a crash leaves. A change goes to
//! the first at once and into `pending`, from which `sync_dir` moves it to `durable`. A rename between directories is
//! one change, made durable by syncing the directory it goes to.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use super::node::FileNode;

/// Index into [`Tree::entries`] and [`Tree::durable`].
pub(super) type DirId = usize;
pub(super) const ROOT: DirId = 0;

#[derive(Clone)]
pub(super) enum Entry {
    File(Arc<FileNode>),
    Dir(DirId),
}

impl Entry {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(other)) => Arc::ptr_eq(one, other),
            (Self::Dir(one), Self::Dir(other)) => one == other,
            _ => false,
        }
    }
}

pub(super) type Entries = BTreeMap<String, Entry>;

/// A change of directories that a crash may undo.
#[derive(Clone)]
pub(super) enum EntryChange {
    Insert { dir: DirId, name: String, entry: Entry },
    Remove { dir: DirId, name: String, entry: Entry },
    Rename { from: (DirId, String), to: (DirId, String), entry: Entry },
}

impl EntryChange {
    /// The directory whose sync makes it durable.
    fn dir(&self) -> DirId {
        match self {
            Self::Insert { dir, .. } | Self::Remove { dir, .. } => *dir,
            Self::Rename { to, .. } => to.0,
        }
    }

    /// Performs the change on maps where earlier changes may be missing: a name goes only if it still means the same
    /// file.
    pub(super) fn apply(&self, maps: &mut [Entries]) {
        let removed = match self {
            Self::Remove { dir, name, entry } => Some((*dir, name, entry)),
            Self::Rename { from, entry, .. } => Some((from.0, &from.1, entry)),
            Self::Insert { .. } => None,
        };
        if let Some((dir, name, entry)) = removed
            && maps[dir].get(name).is_some_and(|found| found.is(entry))
        {
            maps[dir].remove(name);
        }
        let inserted = match self {
            Self::Insert { dir, name, entry } => Some((*dir, name, entry)),
            Self::Rename { to, entry, .. } => Some((to.0, &to.1, entry)),
            Self::Remove { .. } => None,
        };
        if let Some((dir, name, entry)) = inserted {
            maps[dir].insert(name.clone(), entry.clone());
        }
    }
}

pub(super) struct Tree {
    /// The current directories by id; a removed one keeps its index, empty.
    pub(super) entries: Vec<Entries>,
    /// The same directories as a crash would leave them.
    pub(super) durable: Vec<Entries>,
    pub(super) pending: Vec<EntryChange>,
    /// False: every change is durable at once, here and in the files created here.
    pub(super) records: bool,
}

impl Default for Tree {
    fn default() -> Self {
        Self { entries: vec![Entries::new()], durable: vec![Entries::new()], pending: Vec::new(), records: true }
    }
}

/// The names of a path from the root; a relative path starts there too.
fn components(path: &Path) -> io::Result<Vec<&str>> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_str().ok_or(io::ErrorKind::InvalidFilename)?),
            Component::ParentDir => drop(names.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Ok(names)
}

impl Tree {
    fn walk(&self, names: &[&str]) -> io::Result<DirId> {
        let mut dir = ROOT;
        for &name in names {
            match self.entries[dir].get(name) {
                Some(Entry::Dir(next)) => dir = *next,
                Some(Entry::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                None => return Err(io::ErrorKind::NotFound.into()),
            }
        }
        Ok(dir)
    }

    fn parent<'p>(&self, path: &'p Path) -> io::Result<(DirId, &'p str)> {
        let names = components(path)?;
        let (&name, parents) = names.split_last().ok_or(io::ErrorKind::IsADirectory)?;
        Ok((self.walk(parents)?, name))
    }

    fn dir(&self, path: &Path) -> io::Result<DirId> {
        self.walk(&components(path)?)
    }

    pub(super) fn is_dir(&self, path: &Path) -> bool {
        self.dir(path).is_ok()
    }

    pub(super) fn lookup(&self, path: &Path) -> io::Result<Entry> {
        if components(path)?.is_empty() {
            return Ok(Entry::Dir(ROOT));
        }
        let (dir, name) = self.parent(path)?;
        self.entries[dir].get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn file(&self, path: &Path) -> io::Result<Arc<FileNode>> {
        match self.lookup(path)? {
            Entry::File(node) => Ok(node),
            Entry::Dir(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    /// Names that a file has.
    pub(super) fn link_count(&self, path: &Path) -> io::Result<u64> {
        let node = self.file(path)?;
        let is_name = |entry: &&Entry| matches!(entry, Entry::File(other) if Arc::ptr_eq(other, &node));
        Ok(self.entries.iter().map(|entries| entries.values().filter(is_name).count() as u64).sum())
    }

    fn change(&mut self, change: EntryChange) {
        change.apply(&mut self.entries);
        if self.records {
            self.pending.push(change);
        } else {
            change.apply(&mut self.durable);
        }
    }

    /// The file of this name, created if there is none.
    pub(super) fn create_file(&mut self, path: &Path) -> io::Result<Arc<FileNode>> {
        let (dir, name) = self.parent(path)?;
        match self.entries[dir].get(name) {
            Some(Entry::File(node)) => return Ok(Arc::clone(node)),
            Some(Entry::Dir(_)) => return Err(io::ErrorKind::IsADirectory.into()),
            None => {}
        }
        let node = Arc::new(FileNode::new(self.records));
        let entry = Entry::File(Arc::clone(&node));
        self.change(EntryChange::Insert { dir, name: name.to_owned(), entry });
        Ok(node)
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        let entry = Entry::File(self.file(path)?);
        let (dir, name) = self.parent(path)?;
        self.change(EntryChange::Remove { dir, name: name.to_owned(), entry });
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let entry = self.lookup(from)?;
        let (from, to) = (self.parent(from)?, self.parent(to)?);
        match (&entry, self.entries[to.0].get(to.1)) {
            (_, Some(found)) if found.is(&entry) => return Ok(()),
            (Entry::File(_), Some(Entry::Dir(_))) => return Err(io::ErrorKind::IsADirectory.into()),
            (Entry::Dir(_), Some(Entry::File(_))) => return Err(io::ErrorKind::NotADirectory.into()),
            (Entry::Dir(_), Some(&Entry::Dir(target))) if !self.entries[target].is_empty() => {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            _ => {}
        }
        let (from, to) = ((from.0, from.1.to_owned()), (to.0, to.1.to_owned()));
        self.change(EntryChange::Rename { from, to, entry });
        Ok(())
    }

    pub(super) fn hard_link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let entry = Entry::File(self.file(from)?);
        let (dir, name) = self.parent(to)?;
        if self.entries[dir].contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.change(EntryChange::Insert { dir, name: name.to_owned(), entry });
        Ok(())
    }

    pub(super) fn children(&self, path: &Path) -> io::Result<Vec<String>> {
        Ok(self.entries[self.dir(path)?].keys().cloned().collect())
    }

    pub(super) fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        let mut dir = ROOT;
        for name in components(path)? {
            match self.entries[dir].get(name) {
                Some(Entry::Dir(next)) => dir = *next,
                Some(Entry::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                None => {
                    let made = self.entries.len();
                    self.entries.push(Entries::new());
                    self.durable.push(Entries::new());
                    self.change(EntryChange::Insert { dir, name: name.to_owned(), entry: Entry::Dir(made) });
                    dir = made;
                }
            }
        }
        Ok(())
    }

    pub(super) fn remove_dir(&mut self, path: &Path) -> io::Result<()> {
        let id = self.dir(path)?;
        if !self.entries[id].is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        let (dir, name) = self.parent(path)?;
        self.change(EntryChange::Remove { dir, name: name.to_owned(), entry: Entry::Dir(id) });
        Ok(())
    }

    pub(super) fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        let id = self.dir(path)?;
        let durable = &mut self.durable;
        self.pending.retain(|change| {
            let ready = change.dir() == id;
            if ready {
                change.apply(durable);
            }
            !ready
        });
        Ok(())
    }
}
