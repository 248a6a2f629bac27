//! Counts `unsafe` in Rust sources and compares the counts with the table in docs/unsafe.md.

use std::collections::BTreeMap;

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) count: usize,
    pub(crate) what: String,
}

/// How often the keyword `unsafe` stands in a source, outside comments, strings and attributes about lints.
pub(crate) fn count_unsafe(source: &str) -> usize {
    let code = strip_comments_and_strings(source);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.split(|c: char| !is_word(c)).filter(|word| *word == "unsafe").count()
}

/// Replaces comments, string and character literals by blanks.
fn strip_comments_and_strings(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &source[at..];
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if rest.starts_with('"') {
            quoted(rest)
        } else if let Some(length) = raw_string(rest) {
            length
        } else if rest.starts_with('\'') {
            character(rest)
        } else {
            0
        };
        if skipped > 0 {
            code.push(' ');
            at += skipped;
            continue;
        }
        let next = rest.chars().next().map_or(1, char::len_utf8);
        code.push_str(&rest[..next]);
        at += next;
    }
    code
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < text.len() {
        let rest = text.as_bytes().get(at..at + 2);
        match rest {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    // `at` can only be inside a character when the comment does not end.
    if text.is_char_boundary(at) { at } else { text.len() }
}

fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `r"..."` and `r#"..."#`.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&close).map_or(text.len(), |end| text.len() - body.len() + end + close.len()))
}

/// A character literal; 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => text[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 3),
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

/// The table in docs/unsafe.md: lines of `` | `path` | count | what it is for | ``.
pub(crate) fn parse_table(page: &str) -> BTreeMap<String, Listed> {
    let parse = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.strip_suffix('|')?.splitn(3, '|');
        let path = cells.next()?.trim().strip_suffix('`')?;
        let count = cells.next()?.trim().parse().ok()?;
        Some((path.to_owned(), Listed { count, what: cells.next()?.trim().to_owned() }))
    };
    page.lines().filter_map(parse).collect()
}

/// The page with its table replaced; all else stays.
pub(crate) fn replace_table(page: &str, table: &BTreeMap<String, Listed>) -> String {
    let mut lines = Vec::new();
    let mut written = false;
    for line in page.lines() {
        if line.starts_with("| `") {
            continue;
        }
        lines.push(line.to_owned());
        if line.starts_with("|---") && !written {
            written = true;
            lines.extend(
                table.iter().map(|(path, listed)| format!("| `{path}` | {} | {} |", listed.count, listed.what)),
            );
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keyword_counts() {
        let source = r####"
            #![forbid(unsafe_code)]
            // unsafe in a comment
            /* unsafe /* nested unsafe */ still */
            fn f<'a>(x: &'a str) -> char { let _ = "unsafe \" unsafe"; let _ = r#"unsafe " unsafe"#; '"' }
            unsafe impl Send for X {}
            fn g() { unsafe { h('\'', '\u{1F600}', b'"') } }
        "####;
        assert_eq!(count_unsafe(source), 2);
        assert_eq!(count_unsafe("'\\'' unsafe"), 1);
        assert_eq!(count_unsafe("/* never closed unsafe é"), 0);
    }

    #[test]
    fn the_table_survives_a_rewrite() {
        let page = "# Unsafe\n\n| file | count | what |\n|---|---|---|\n| `a.rs` | 3 | pointers |\n\nend\n";
        let table = parse_table(page);
        assert_eq!(table["a.rs"], Listed { count: 3, what: "pointers".to_owned() });
        assert_eq!(replace_table(page, &table), page);
    }
}
