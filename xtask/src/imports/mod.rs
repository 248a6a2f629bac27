//! Which file of a crate uses which, and the cycles among them.
//!
//! ```text
//! src/*.rs --syn--> modules: names they declare, names they import --resolve--> file -> files whose items it uses
//!                                                                              --Tarjan--> cycles
//! ```
//!
//! A path is followed through imports and re-exports to the file that declares the item, so that a parent which only
//! re-exports its children takes part in no cycle. Tests are left out. Paths inside the arguments of macros are not
//! seen: tokens are no syntax. Two files may use each other where one is the parent of the other: they are one thing in
//! two files.

mod cycles;
mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(crate) use modules::Crate;

/// The uses of a crate that close circles, without those that `known` lists as `file -> file`.
pub(crate) struct Circles {
    parsed: Crate,
    uses: Uses,
    /// Lines of `known` about files of this crate that stand for no use.
    pub(crate) gone: Vec<String>,
}

impl Circles {
    /// `source` is the `src` folder of the crate.
    pub(crate) fn of(source: &Path, known: &str) -> Result<Self, String> {
        let parsed = Crate::parse(source)?;
        let mut uses = parsed.uses();
        let mut gone = Vec::new();
        for line in known.lines() {
            let Some((from, to)) = line.split_once(" -> ") else { continue };
            let is_gone = match uses.get_mut(from) {
                Some(own) => !own.remove(to),
                None => !Path::new(from).exists(),
            };
            if is_gone {
                gone.push(line.to_owned());
            }
        }
        Ok(Self { parsed, uses, gone })
    }

    /// Each as the paths of its files, in the order in which one uses the next.
    pub(crate) fn all(&self) -> Vec<Vec<String>> {
        cycles::circles(&self.uses, |one, other| self.parsed.are_parent_and_child(one, other))
    }

    /// Uses without which there is no circle, as `file -> file`: at each step the one that closes the most.
    pub(crate) fn into_backward_uses(mut self) -> Vec<String> {
        let mut undone = Vec::new();
        loop {
            let mut closes: BTreeMap<(String, String), usize> = BTreeMap::new();
            for circle in self.all() {
                for (at, from) in circle.iter().enumerate() {
                    *closes.entry((from.clone(), circle[(at + 1) % circle.len()].clone())).or_default() += 1;
                }
            }
            let Some(((from, to), _)) = closes.into_iter().max_by_key(|(_, count)| *count) else { return undone };
            undone.push(format!("{from} -> {to}"));
            if let Some(own) = self.uses.get_mut(&from) {
                own.remove(&to);
            }
        }
    }
}

/// File -> the files whose items it uses.
pub(crate) type Uses = BTreeMap<String, BTreeSet<String>>;

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        for (path, text) in files {
            let path = directory.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = Circles::of(directory, "").unwrap().all();
        found.into_iter().map(|files| files.into_iter().map(|file| short(&file)).collect()).collect()
    }

    fn short(path: &str) -> String {
        path.rsplit('/').next().unwrap().to_owned()
    }

    #[test]
    fn files_that_use_each_other_are_a_cycle() {
        let cycles = crate_of(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn f() -> super::c::C { c::make() }"),
            ("c.rs", "use crate::a; pub struct C(a::A);"),
        ]);
        assert_eq!(cycles, [["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn re_exports_lead_to_the_file_that_declares() {
        let cycles = crate_of(&[
            ("lib.rs", "mod room;"),
            ("room/mod.rs", "mod a; mod b; pub use a::A; pub use b::*;"),
            ("room/a.rs", "pub struct A;"),
            ("room/b.rs", "use super::A; pub struct B(A);"),
        ]);
        assert_eq!(cycles, Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_parent_and_its_child_may_use_each_other() {
        let cycles = crate_of(&[
            ("lib.rs", "mod room;"),
            ("room.rs", "mod a; pub struct R(a::A);"),
            ("room/a.rs", "use super::R; pub struct A(Box<R>);"),
        ]);
        assert_eq!(cycles, Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_circle_through_the_parent_is_one() {
        let cycles = crate_of(&[
            ("lib.rs", "mod room;"),
            ("room.rs", "mod a; mod b; pub struct R(b::B);"),
            ("room/a.rs", "use super::R; pub struct A(Box<R>);"),
            ("room/b.rs", "use super::a::A; pub struct B(A);"),
        ]);
        assert_eq!(cycles, [["room.rs", "b.rs", "a.rs"]]);
    }

    #[test]
    fn a_visibility_is_no_use() {
        let cycles = crate_of(&[
            ("lib.rs", "mod room;"),
            ("room.rs", "mod a; mod b; pub struct R(a::A, b::B);"),
            ("room/a.rs", "use super::b::B; pub(super) struct A(B);"),
            ("room/b.rs", "pub(super) struct B;"),
        ]);
        assert_eq!(cycles, Vec::<Vec<String>>::new());
    }

    #[test]
    fn tests_do_not_count() {
        let cycles = crate_of(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
            ("b.rs", "use crate::a::A; pub struct B(A);"),
        ]);
        assert_eq!(cycles, Vec::<Vec<String>>::new());
    }
}
