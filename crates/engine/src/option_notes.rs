//! Notes about settings that do not do what was asked for ([`Db::option_notes`](crate::Db::option_notes)).
//!
//! A note begins with its place and the name of its option: `database: max_open_files = 3: ...`. Of an option that is
//! set again and again, the last note stays.

use parking_lot::Mutex;

/// The notes of an open database. Its lock is a leaf: nothing is called while it is held.
#[derive(Debug, Default)]
pub(crate) struct OptionNotes {
    notes: Mutex<Vec<String>>,
}

impl OptionNotes {
    /// What opening noted.
    pub(crate) fn new(notes: Vec<String>) -> Self {
        Self { notes: Mutex::new(notes) }
    }

    /// All of them, oldest first.
    pub(crate) fn all(&self) -> Vec<String> {
        self.notes.lock().clone()
    }

    /// Forgets what was noted of options whose names begin like one of `names`, in `place`, and takes `notes`. An empty
    /// name stands for all of the place. Returns those that were not known before.
    pub(crate) fn replace(&self, place: &str, names: &[&str], notes: Vec<String>) -> Vec<String> {
        let begins = |name: &&str| if name.is_empty() { format!("{place}: ") } else { format!("{place}: {name} = ") };
        let old: Vec<String> = names.iter().map(begins).collect();
        let mut all = self.notes.lock();
        all.retain(|note| !old.iter().any(|begin| note.starts_with(begin)));
        let new: Vec<String> = notes.into_iter().filter(|note| !all.contains(note)).collect();
        // Of an option that another one's change adjusts, the last note stays.
        let name_of = |note: &str| note.split_once(" = ").map(|(name, _)| format!("{name} = "));
        all.retain(|note| !new.iter().filter_map(|new| name_of(new)).any(|begin| note.starts_with(&begin)));
        all.extend(new.iter().cloned());
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(notes: &[&str]) -> Vec<String> {
        notes.iter().map(|&note| note.to_owned()).collect()
    }

    #[test]
    fn the_last_note_of_an_option_stays() {
        let all =
            OptionNotes::new(notes(&["database: a = 1: too small", "database: b = 2: no effect", "family: a = 1"]));
        let new = all.replace("database", &["a"], notes(&["database: a = 0: smaller", "database: b = 3: adjusted"]));
        assert_eq!(new, ["database: a = 0: smaller", "database: b = 3: adjusted"]);
        assert_eq!(all.all(), ["family: a = 1", "database: a = 0: smaller", "database: b = 3: adjusted"]);
        assert!(all.replace("database", &[], notes(&["family: a = 1"])).is_empty(), "it is known");
        all.replace("database", &[""], Vec::new());
        assert_eq!(all.all(), ["family: a = 1"], "a place that goes takes its notes along");
    }
}
