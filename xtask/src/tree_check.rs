//! Rules of the tree that no other tool knows. See [`run`] for the list.

use crate::run::{command, output};
use crate::unsafe_list::{Listed, count_unsafe, parse_table, replace_table};
use crate::{Outcome, arrows, imports, widths};
use std::collections::BTreeMap;
use std::path::PathBuf;

const MAX_LINES: usize = 800;
const UNSAFE_PAGE: &str = "docs/unsafe.md";
/// Pages that `db_bench` and `ferrock fast-forward` write.
const WRITTEN_PAGES: &str = "docs/benchmarks/";
/// Uses that close a circle of files and are still to be undone, one in a line. It only ever gets shorter.
const BACKWARD_USES: &str = "xtask/backward_uses.txt";

/// Where unsafe code may be at all (architecture rule 9).
const UNSAFE_CRATES: &[&str] = &["base", "memtable", "cache", "vfs", "format", "table", "capi", "c-library"];

/// Words that have no place in the tree, in two parts so that this file does not contain them.
const FORBIDDEN: &[(&str, &str, &str)] = &[
    ("/wor", "k/", "a path of one machine"),
    ("/roo", "t/", "a path of one machine"),
    ("../sha", "red", "a path outside the repository"),
    ("todo", "!(", "something left to do"),
    ("unimplemented", "!(", "something left to do"),
    ("XX", "X:", "something left to do"),
    ("FIX", "ME", "something left to do"),
];

struct File {
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or("");
        self.path.contains("/tests/") || name.contains("tests") || name.contains("test_")
    }
}

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let files = text_files()?;
    let mut problems = Vec::new();
    for file in &files {
        check_words(file, &mut problems);
        if file.is_rust() {
            check_shape(file, &mut problems);
        }
    }
    check_widths(&files, &mut problems)?;
    let writes = arguments.iter().any(|word| word == "--write");
    check_unsafe(&files, writes, &mut problems)?;
    arrows::check(&mut problems)?;
    check_circles(writes, &mut problems)?;
    if problems.is_empty() {
        println!("tree-check: {} text files are in order", files.len());
        return Ok(());
    }
    Err(format!("\n  {}", problems.join("\n  ")))
}

/// Every file that is, or would be, committed, if it is text.
fn text_files() -> Result<Vec<File>, String> {
    let listed = output(command("git", &["ls-files", "--cached", "--others", "--exclude-standard"]))?;
    let read = |path: &str| {
        let text = String::from_utf8(std::fs::read(path).ok()?).ok()?;
        Some(File { path: path.to_owned(), text })
    };
    let files: Vec<File> = listed.lines().filter_map(read).collect();
    if files.is_empty() { Err("git lists no files".to_owned()) } else { Ok(files) }
}

fn check_words(file: &File, problems: &mut Vec<String>) {
    // Foreign files tell of the machines that wrote them.
    if file.path.contains("/data/") || file.path.contains("/seeds/") || file.path.ends_with(".lock") {
        return;
    }
    for (number, line) in file.text.lines().enumerate() {
        for (first, second, what) in FORBIDDEN {
            if line.contains(&format!("{first}{second}")) {
                problems.push(format!("{}:{}: {what}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
}

fn check_shape(file: &File, problems: &mut Vec<String>) {
    let lines = file.text.lines().count();
    if lines > MAX_LINES && !file.is_test() {
        problems.push(format!("{}: {lines} lines, more than {MAX_LINES}", file.path));
    }
    let is_module = file.path.starts_with("crates/") && file.path.contains("/src/") && !file.is_test();
    if is_module && !file.text.starts_with("//!") {
        problems.push(format!("{}: does not open with //! and what it is", file.path));
    }
}

fn check_widths(files: &[File], problems: &mut Vec<String>) -> Outcome {
    let width = widths::max_width(&read("rustfmt.toml")?).ok_or("rustfmt.toml has no max_width")?;
    for File { path, text } in files {
        let wide = match path.rsplit('.').next() {
            Some("rs") => widths::wide_comments(text, width),
            Some("md") if !path.starts_with(WRITTEN_PAGES) => widths::wide_prose(text, width),
            _ => Vec::new(),
        };
        problems.extend(wide.iter().map(|line| format!("{path}:{line}: wider than code, {width} characters")));
    }
    Ok(())
}

fn check_unsafe(files: &[File], write: bool, problems: &mut Vec<String>) -> Outcome {
    let mut found: BTreeMap<String, Listed> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let count = count_unsafe(&file.text);
        if count == 0 {
            continue;
        }
        // A test may need it to watch: an allocator that counts, a signal to a child. The interop rig calls C, and so
        // do stores beside which Ferrock is measured.
        let is_allowed = file.path.contains("/tests/")
            || ["dev/interop/", "bench/"].iter().any(|place| file.path.starts_with(place))
            || UNSAFE_CRATES.iter().any(|layer| file.path.starts_with(&format!("crates/{layer}/")));
        if !is_allowed {
            problems.push(format!("{}: unsafe code in a layer that may have none", file.path));
        }
        found.insert(file.path.clone(), Listed { count, what: headline(&file.text) });
    }
    let page = std::fs::read_to_string(UNSAFE_PAGE).map_err(|error| format!("{UNSAFE_PAGE}: {error}"))?;
    let listed = parse_table(&page);
    if write {
        for (path, entry) in &mut found {
            if let Some(known) = listed.get(path) {
                entry.what.clone_from(&known.what);
            }
        }
        let replaced = replace_table(&page, &found);
        return std::fs::write(UNSAFE_PAGE, replaced).map_err(|error| format!("{UNSAFE_PAGE}: {error}"));
    }
    for (path, entry) in &found {
        match listed.get(path) {
            None => problems.push(format!("{path}: {} unsafe, not listed in {UNSAFE_PAGE}", entry.count)),
            Some(known) if known.count != entry.count => {
                problems.push(format!("{path}: {} unsafe, {UNSAFE_PAGE} lists {}", entry.count, known.count));
            }
            Some(_) => {}
        }
    }
    for path in listed.keys().filter(|path| !found.contains_key(*path)) {
        problems.push(format!("{path}: listed in {UNSAFE_PAGE}, has no unsafe code"));
    }
    Ok(())
}

/// Circles of files: no use may close one but those that `BACKWARD_USES` lists, which are left from earlier.
fn check_circles(write: bool, problems: &mut Vec<String>) -> Outcome {
    let known = if write { String::new() } else { read(BACKWARD_USES)? };
    let mut to_undo = Vec::new();
    for source in sources()? {
        let circles = imports::Circles::of(&source, &known)?;
        problems
            .extend(circles.gone.iter().map(|line| format!("{BACKWARD_USES}: {line}: there is no such use any more")));
        if write {
            to_undo.extend(circles.into_backward_uses());
            continue;
        }
        problems.extend(circles.all().iter().map(|files| format!("files that use each other: {}", files.join(" -> "))));
    }
    problems.dedup();
    if write {
        to_undo.sort();
        return std::fs::write(BACKWARD_USES, to_undo.join("\n") + "\n")
            .map_err(|error| format!("{BACKWARD_USES}: {error}"));
    }
    Ok(())
}

/// The folders with the sources of libraries, and of the one binary that has a folder of its own.
fn sources() -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir("crates").map_err(|error| format!("crates: {error}"))?;
    let crates = entries.filter_map(Result::ok).map(|entry| entry.path().join("src"));
    let mut sources: Vec<PathBuf> = crates.flat_map(|source| [source.join("db_bench"), source]).collect();
    sources.retain(|source| source.join("lib.rs").exists() || source.join("main.rs").exists());
    sources.sort();
    Ok(sources)
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

/// The first sentence of a module's header.
fn headline(source: &str) -> String {
    let header = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph: Vec<&str> = header.take_while(|line| !line.is_empty()).collect();
    let text = paragraph.join(" ").replace('|', "/");
    text.split_once(". ").map_or(text.clone(), |(first, _)| first.to_owned()).trim_end_matches('.').to_owned()
}
