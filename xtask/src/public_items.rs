//! The list of public items: what programs can name in the crate `ferrock`, compared with
//! `docs/public-api/ferrock.txt`.
//!
//! rustdoc knows the items best: it follows re-exports through the crates below, expands macros, and leaves out what
//! is private or hidden. Its pages are read, not its JSON, which only a nightly toolchain writes. A page has, in this
//! order:
//!
//! ```text
//! <pre class="rust item-decl">          the declaration, with public fields, variants, methods of a trait
//! <h2 id="implementations">             <h3 class="code-header"> impl, <h4 class="code-header"> its functions
//! <h2 id="deref-methods-...">           functions of another type, which has a page of its own
//! <h2 id="trait-implementations">       <h3 class="code-header"> impl, <h4 class="code-header"> with its types
//! <h2 id="synthetic-implementations">   follow from the fields, and blanket implementations from other crates
//! ```
//!
//! The pages depend on the compiler, which `rust-toolchain.toml` pins.

use crate::Outcome;
use crate::run::{cargo, root, run, target_dir};
use std::fmt::Write as _;
use std::path::Path;

const LIST: &str = "docs/public-api/ferrock.txt";
/// Crates of the interface, and the paths by which programs name them.
const CRATES: [(&str, &str); 8] = [
    ("ferrock", "ferrock"),
    ("ferrock_backup", "ferrock::backup"),
    ("ferrock_indexed_batch", "ferrock::indexed_batch"),
    ("ferrock_metrics", "ferrock::metrics"),
    ("ferrock_repair", "ferrock::repair"),
    ("ferrock_replay", "ferrock::replay"),
    ("ferrock_ttl", "ferrock::ttl"),
    ("ferrock_wide", "ferrock::wide"),
];

/// Compares the list, writes it, or prints that of another directory of documentation.
pub(crate) fn run_task(arguments: &[String]) -> Outcome {
    match arguments {
        [] | [_] if arguments.first().is_none_or(|word| word == "--write") => {}
        [directory] => {
            print!("{}", list(Path::new(directory))?);
            return Ok(());
        }
        _ => return Err("one argument at most".to_owned()),
    }
    let mut doc = cargo(&[
        "doc",
        "--locked",
        "--no-deps",
        "-p",
        "ferrock",
        "-p",
        "ferrock-backup",
        "-p",
        "ferrock-indexed-batch",
        "-p",
        "ferrock-metrics",
        "-p",
        "ferrock-repair",
        "-p",
        "ferrock-replay",
        "-p",
        "ferrock-ttl",
        "-p",
        "ferrock-wide",
    ]);
    // As in `check`, so that nothing is documented twice.
    doc.env("RUSTDOCFLAGS", "-D warnings");
    run(doc)?;
    let found = list(&target_dir().join("doc"))?;
    let path = root().join(LIST);
    if !arguments.is_empty() {
        return std::fs::write(&path, found).map_err(|error| format!("{}: {error}", path.display()));
    }
    let listed = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let differences = differences(&listed, &found);
    if differences.is_empty() {
        eprintln!("public items: {} lines, as listed", found.lines().count());
        return Ok(());
    }
    Err(format!(
        "the public items are not those of {LIST}:\n{differences}An item that is gone breaks programs: put it back, or say \
         why in docs/public-interface.md. Then `cargo xtask public-items --write` brings the list up to date."
    ))
}

/// Lines of one list alone, each behind the item that it belongs to.
fn differences(listed: &str, found: &str) -> String {
    let lines_of = |text: &str| {
        let mut item = String::new();
        let mut lines = Vec::new();
        for line in text.lines() {
            if !line.starts_with(' ') {
                item = line.to_owned();
            }
            lines.push((item.clone(), line.trim().to_owned()));
        }
        lines
    };
    let (before, after) = (lines_of(listed), lines_of(found));
    let mut text = String::new();
    for (sign, these, others) in [('-', &before, &after), ('+', &after, &before)] {
        let others: std::collections::BTreeSet<_> = others.iter().collect();
        for (item, line) in these.iter().filter(|line| !others.contains(line)) {
            let _ = writeln!(text, "  {sign} {item}  {}", if item == line { "" } else { line });
        }
    }
    text
}

/// The items of all crates, by their paths.
fn list(documentation: &Path) -> Result<String, String> {
    let mut items = Vec::new();
    for (directory, name) in CRATES {
        let directory = documentation.join(directory);
        // An item that is gone leaves its page behind, but not its line in this one.
        let all = read(&directory.join("all.html"))?;
        let after_heading = all.split_once("<h1>").ok_or("all.html has no heading")?.1;
        for link in after_heading.split("<li><a href=\"").skip(1) {
            let page = link.split_once('"').ok_or("all.html has a link without an end")?.0;
            let path = page.trim_end_matches(".html").split('/').collect::<Vec<_>>();
            let (last, modules) = path.split_last().ok_or("all.html has an empty link")?;
            let item = last.split_once('.').ok_or_else(|| format!("all.html links to {page}"))?.1;
            let path = [&[name], modules, &[item]].concat().join("::");
            items.push((path, lines(&read(&directory.join(page))?)));
        }
    }
    items.sort();
    Ok(items.iter().fold(String::new(), |mut text, (path, lines)| {
        let _ = writeln!(text, "{path}");
        for line in lines {
            let _ = writeln!(text, "    {line}");
        }
        text
    }))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// What a page says of its item, a line for each part.
fn lines(page: &str) -> Vec<String> {
    let declaration = between(page, "<pre class=\"rust item-decl\">", "</pre>").unwrap_or_default();
    let without_toggles =
        without(without(declaration.to_owned(), "<summary", "</summary>"), "<span class=\"comment\">", "</span>");
    let mut lines: Vec<String> =
        text_of(&without_toggles).lines().map(one_line).filter(|line| !line.is_empty()).collect();
    for section in page.split("<h2 id=\"").skip(1) {
        let id = section.split('"').next().unwrap_or_default();
        let is_own = id == "implementations";
        if !is_own && id != "trait-implementations" {
            continue;
        }
        for header in section.split("<h").skip(1).filter(|header| header.get(1..).is_some_and(is_code_header)) {
            let end = header.find(if header.starts_with('3') { "</h3>" } else { "</h4>" }).unwrap_or(header.len());
            let code = without(header[..end].to_owned(), "<a href=\"#\" class=\"tooltip\"", "</a>");
            let line = one_line(&text_of(code.split_once('>').map_or("", |(_, code)| code)));
            // Functions of a trait are those of its own page, and this trait is the compiler's.
            if line.contains("StructuralPartialEq for ") {
                continue;
            }
            if is_own || header.starts_with('3') || line.starts_with("type ") {
                lines.push(if header.starts_with('3') { line } else { format!("    {line}") });
            }
        }
    }
    lines
}

fn is_code_header(attributes: &str) -> bool {
    attributes.starts_with(" class=\"code-header\"")
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    Some(text.split_once(from)?.1.split_once(to)?.0)
}

/// The text without each part from `from` to the next `to`.
fn without(mut text: String, from: &str, to: &str) -> String {
    while let Some(start) = text.find(from) {
        let end = text[start..].find(to).map_or(text.len(), |end| start + end + to.len());
        text.replace_range(start..end, "");
    }
    text
}

/// HTML without its tags.
fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        rest = tag.split_once('>').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    for (entity, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " ")] {
        text = text.replace(entity, character);
    }
    text.replace("&amp;", "&")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<h1>Struct</h1><pre class=\"rust item-decl\"><code>pub struct Pair&lt;T&gt; {\n    pub first: \
        <a href=\"x\">u8</a>,\n    <span class=\"comment\">/* private fields */</span>\n}</code></pre>\
        <h2 id=\"implementations\"><section><h3 class=\"code-header\">impl&lt;T&gt; <a>Pair</a>&lt;T&gt;</h3>\
        <h4 class=\"code-header\">pub fn <a>get</a>(&amp;self) -&gt; &amp;[u8] <a href=\"#\" class=\"tooltip\">i</a></h4>\
        <h2 id=\"deref-methods-Other\"><h4 class=\"code-header\">pub fn other()</h4>\
        <h2 id=\"trait-implementations\"><h3 class=\"code-header\">impl Deref for Pair</h3>\
        <h4 class=\"code-header\">type Target = u8</h4><h4 class=\"code-header\">fn deref(&amp;self)</h4>\
        <h2 id=\"synthetic-implementations\"><h3 class=\"code-header\">impl Send for Pair</h3>";

    #[test]
    fn a_page_has_its_declaration_functions_and_traits() {
        let expected = [
            "pub struct Pair<T> {",
            "pub first: u8,",
            "}",
            "impl<T> Pair<T>",
            "    pub fn get(&self) -> &[u8]",
            "impl Deref for Pair",
            "    type Target = u8",
        ];
        assert_eq!(lines(PAGE), expected);
    }

    #[test]
    fn differences_name_the_item() {
        let listed = "a::B\n    pub fn one()\n    pub fn two()\na::C\n";
        let found = "a::B\n    pub fn one()\na::C\n    pub fn two()\n";
        assert_eq!(differences(listed, found), "  - a::B  pub fn two()\n  + a::C  pub fn two()\n");
        assert_eq!(differences(listed, listed), "");
    }
}
