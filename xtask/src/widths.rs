//! Lines of comments and of Markdown prose are no wider than lines of code: rustfmt breaks neither.
//!
//! ```text
//! counts     lines that are all comment, code examples in documentation included; paragraphs and lists of Markdown
//! does not   tables, headings, fenced and indented text of Markdown, tables in documentation, and a line without a
//!            space at which it could be broken (a URL)
//! ```

/// The `max_width` of rustfmt's settings.
pub(crate) fn max_width(settings: &str) -> Option<usize> {
    let value = settings.lines().find_map(|line| line.strip_prefix("max_width")?.trim_start().strip_prefix('='))?;
    value.trim().parse().ok()
}

/// Numbers of the lines of a Rust file that are comments and too wide.
pub(crate) fn wide_comments(source: &str, width: usize) -> Vec<usize> {
    let is_wide = |line: &str| {
        let text = line.trim_start().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']).trim_start());
        text.is_some_and(|text| !text.starts_with('|') && can_be_broken(line, text, width))
    };
    numbers(source, is_wide)
}

/// Numbers of the lines of a Markdown file that are prose and too wide.
pub(crate) fn wide_prose(page: &str, width: usize) -> Vec<usize> {
    let (mut is_fenced, mut may_be_code, mut is_code) = (false, true, false);
    let is_wide = |line: &str| {
        let text = line.trim_start();
        // Text that is indented behind an empty line is code.
        is_code = line.starts_with("    ") && (may_be_code || is_code);
        may_be_code = text.is_empty();
        if text.starts_with("```") || text.starts_with("~~~") {
            is_fenced = !is_fenced;
        }
        !is_fenced && !is_code && !text.starts_with(['|', '#']) && can_be_broken(line, text, width)
    };
    numbers(page, is_wide)
}

fn numbers(text: &str, mut is_wide: impl FnMut(&str) -> bool) -> Vec<usize> {
    text.lines().enumerate().filter(|(_, line)| is_wide(line)).map(|(index, _)| index + 1).collect()
}

/// True when `line`, which ends with `text`, is too wide and has a space within the width, behind the first word.
fn can_be_broken(line: &str, text: &str, width: usize) -> bool {
    let count = line.chars().count();
    let room = (width + 1).saturating_sub(count - text.chars().count());
    count > width && text.chars().take(room).any(|character| character == ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_that_of_rustfmt() {
        assert_eq!(max_width("edition = \"2024\"\nmax_width = 30\n"), Some(30));
        assert_eq!(max_width("edition = \"2024\"\n"), None);
    }

    #[test]
    fn a_comment_as_wide_as_code_is_fine() {
        let lines = "// words of four letters each.\n// words of four letters, each.\n";
        assert_eq!(wide_comments(lines, 30), [2]);
        assert_eq!(wide_comments("    //! many words of many letters\n", 30), [1]);
    }

    #[test]
    fn code_tables_and_addresses_are_left_alone() {
        assert_eq!(wide_comments("let text = \"words of four letters, each\";\n", 30), [0; 0]);
        assert_eq!(wide_comments("/// | a table | of two columns | or three |\n", 30), [0; 0]);
        assert_eq!(wide_comments("// https://example.org/a/rather/long/address and a word\n", 30), [0; 0]);
    }

    #[test]
    fn prose_counts_and_fenced_text_does_not() {
        let page = "# A headline that is wider than it\n\na paragraph that is wider than it\n```sh\n\
                    some command with --many --options\n```\n- an item of a list that is wider\n\n    \
                    code that is indented and wider\n\
                    | a table | of two columns | or three |\n";
        assert_eq!(wide_prose(page, 30), [3, 7]);
    }
}
