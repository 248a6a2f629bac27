//! The modules of a crate, parsed: what each declares, imports and names.

use super::Uses;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// `crate::a::b` as `["a", "b"]`.
type Name = Vec<String>;

/// Imports of imports are followed so far; a real chain is a few long, and globs that import each other end.
const MAX_STEPS: usize = 16;

#[derive(Default)]
struct Module {
    file: String,
    /// Items that it declares: types, functions, constants, traits, macros.
    items: BTreeSet<String>,
    /// Name -> path that an import gives it, as written.
    imports: BTreeMap<String, Vec<String>>,
    /// Paths whose names are all imported.
    globs: Vec<Vec<String>>,
    /// Paths that its code names: imports that are not re-exports, and what stands in signatures and bodies.
    named: Vec<Vec<String>>,
}

/// A crate, parsed.
pub(crate) struct Crate {
    modules: BTreeMap<Name, Module>,
}

impl Crate {
    /// Parses `lib.rs` or `main.rs` and every module file below it.
    pub(crate) fn parse(source: &Path) -> Result<Self, String> {
        let mut parsed = Self { modules: BTreeMap::new() };
        for root in ["lib.rs", "main.rs"] {
            let path = source.join(root);
            if path.exists() {
                parsed.read(&path, &[], source)?;
                return Ok(parsed);
            }
        }
        Err(format!("{}: neither lib.rs nor main.rs", source.display()))
    }

    fn read(&mut self, path: &Path, name: &[String], children: &Path) -> Result<(), String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let file = syn::parse_file(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        self.module(&path.to_string_lossy(), &file.items, name, children)
    }

    fn module(&mut self, file: &str, items: &[syn::Item], name: &[String], children: &Path) -> Result<(), String> {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items {
            if let syn::Item::Mod(inner) = item {
                if is_for_tests(&inner.attrs) {
                    continue;
                }
                let child = [name, &[inner.ident.to_string()]].concat();
                let below = children.join(inner.ident.to_string());
                match &inner.content {
                    Some((_, items)) => self.module(file, items, &child, &below)?,
                    None => {
                        let beside = children.join(format!("{}.rs", inner.ident));
                        let path: PathBuf = if beside.exists() { beside } else { below.join("mod.rs") };
                        self.read(&path, &child, &below)?;
                    }
                }
            } else {
                module.add(item);
            }
        }
        self.modules.insert(name.to_vec(), module);
        Ok(())
    }

    /// What each file uses of others.
    pub(crate) fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (name, module) in &self.modules {
            let own = uses.entry(module.file.clone()).or_default();
            for path in &module.named {
                let target = self.resolve(name, path, MAX_STEPS);
                own.extend(target.filter(|file| **file != module.file).cloned());
            }
        }
        uses
    }

    /// The file that declares what `path` leads to, seen from the module `from`; `None` for what lies outside the
    /// crate.
    fn resolve(&self, from: &[String], path: &[String], steps: usize) -> Option<&String> {
        let steps = steps.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        let mut at = from.to_vec();
        match &first[..] {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                at.pop()?;
            }
            _ => return self.resolve_within(from, path, steps),
        }
        if rest.is_empty() {
            return self.modules.get(&at).map(|module| &module.file);
        }
        if rest.first().is_some_and(|next| next == "super") {
            return self.resolve(&at, rest, steps);
        }
        self.resolve_within(&at, rest, steps)
    }

    fn resolve_within(&self, at: &[String], path: &[String], steps: usize) -> Option<&String> {
        let steps = steps.checked_sub(1)?;
        let module = self.modules.get(at)?;
        let (first, rest) = path.split_first()?;
        let child = [at, std::slice::from_ref(first)].concat();
        if let Some(below) = self.modules.get(&child) {
            return if rest.is_empty() { Some(&below.file) } else { self.resolve_within(&child, rest, steps) };
        }
        if module.items.contains(first) {
            return Some(&module.file);
        }
        if let Some(target) = module.imports.get(first) {
            return self.resolve(at, &[target, rest].concat(), steps);
        }
        module.globs.iter().find_map(|glob| self.resolve(at, &[glob, path].concat(), steps))
    }

    /// Whether one of the files is the module that declares the other.
    pub(crate) fn are_parent_and_child(&self, one: &str, other: &str) -> bool {
        let named =
            |file: &str| self.modules.iter().filter(|(_, module)| module.file == file).map(|(name, _)| name).min();
        match (named(one), named(other)) {
            (Some(one), Some(other)) => {
                let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
                long.len() == short.len() + 1 && long.starts_with(short)
            }
            _ => false,
        }
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let text = list.tokens.to_string();
            text.contains("test") && !text.contains("not (test")
        }
        meta => meta.path().is_ident("test"),
    })
}

impl Module {
    fn add(&mut self, item: &syn::Item) {
        if let syn::Item::Use(import) = item {
            if is_for_tests(&import.attrs) {
                return;
            }
            let is_re_export = !matches!(import.vis, syn::Visibility::Inherited);
            self.import(&import.tree, &mut Vec::new(), is_re_export);
            return;
        }
        let (attributes, name) = match item {
            syn::Item::Const(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            syn::Item::Impl(item) => (&item.attrs, None),
            syn::Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            syn::Item::Static(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Type(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Union(item) => (&item.attrs, Some(&item.ident)),
            _ => return,
        };
        if is_for_tests(attributes) {
            return;
        }
        self.items.extend(name.map(ToString::to_string));
        Paths { named: &mut self.named }.visit_item(item);
    }

    fn import(&mut self, tree: &syn::UseTree, prefix: &mut Vec<String>, is_re_export: bool) {
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.import(&path.tree, prefix, is_re_export);
                prefix.pop();
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, prefix, is_re_export);
                }
            }
            syn::UseTree::Glob(_) => self.globs.push(prefix.clone()),
            syn::UseTree::Name(name) => self.import_as(&name.ident, &name.ident, prefix, is_re_export),
            syn::UseTree::Rename(rename) => self.import_as(&rename.ident, &rename.rename, prefix, is_re_export),
        }
    }

    fn import_as(&mut self, name: &syn::Ident, given: &syn::Ident, prefix: &[String], is_re_export: bool) {
        let mut path = prefix.to_vec();
        let given = if name == "self" {
            path.last().cloned().unwrap_or_default()
        } else {
            path.push(name.to_string());
            given.to_string()
        };
        if !is_re_export {
            self.named.push(path.clone());
        }
        // A path that is the name itself would lead to itself.
        if path.len() > 1 {
            self.imports.insert(given, path);
        }
    }
}

/// Collects the paths of an item, but for its tests.
struct Paths<'a> {
    named: &'a mut Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.named.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    /// `pub(super)` names no item.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            syn::visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        collect(&import.tree, &mut Vec::new(), self.named);
    }
}

/// The paths that an import inside a function names.
fn collect(tree: &syn::UseTree, prefix: &mut Vec<String>, into: &mut Vec<Vec<String>>) {
    match tree {
        syn::UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            collect(&path.tree, prefix, into);
            prefix.pop();
        }
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| collect(tree, prefix, into)),
        syn::UseTree::Glob(_) => into.push(prefix.clone()),
        syn::UseTree::Name(syn::UseName { ident }) | syn::UseTree::Rename(syn::UseRename { ident, .. }) => {
            into.push([&prefix[..], &[ident.to_string()]].concat());
        }
    }
}
