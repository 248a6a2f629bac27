//! Texts of many words, in lines.

use std::fmt::Write;

/// Adds words in lines of at most 110 characters.
pub(crate) fn wrap(text: &mut String, words: &str, first: &str, later: &str) {
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in words.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > 110 {
            let _ = writeln!(text, "{}", line.trim_end());
            line = later.to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    let _ = writeln!(text, "{}", line.trim_end());
}
