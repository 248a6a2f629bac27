//! Text for a terminal: lines of styled words, tables that fit into a width, and sections beside each other.
//!
//! ```text
//! Line     [ span | span | span ]        a span is a text with a style
//! Table    columns, each with an importance: where a table is too wide, first its text column becomes narrower, then
//!          the columns of least importance go
//! beside   section | section             each goes below the shortest column
//! ```
//!
//! Texts of a database may hold anything. What moves the cursor, or changes the direction of what follows, is written
//! as an escape; wide characters are counted as two columns. So no text leaves its cell.

use std::fmt::Write;

/// How a text is shown where there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Plain,
    Title,
    Soft,
    Good,
    Busy,
    Bad,
}

impl Style {
    /// The parameter of the escape sequence that selects it.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Title => "1",
            Self::Soft => "2",
            Self::Good => "32",
            Self::Busy => "33",
            Self::Bad => "1;31",
        }
    }
}

/// One line of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(Vec<(String, Style)>);

impl Line {
    pub(crate) fn new(text: &str, style: Style) -> Self {
        Self::default().with(text, style)
    }

    /// Appends a text.
    pub(crate) fn with(mut self, text: &str, style: Style) -> Self {
        self.0.push((harmless(text), style));
        self
    }

    /// Columns of the screen.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|(text, _)| width_of(text)).sum()
    }

    /// Cut, or filled with spaces, to exactly `width` columns.
    fn fitted(&self, width: usize) -> Self {
        let mut fitted = Self::default();
        let mut left = width;
        let is_cut = self.width() > width;
        for (text, style) in &self.0 {
            let text = if is_cut { cut(text, left) } else { text.clone() };
            left -= width_of(&text);
            let is_over = text.ends_with('…') && is_cut;
            fitted.0.push((text, *style));
            if is_over || left == 0 {
                break;
            }
        }
        fitted.0.push((" ".repeat(left), Style::Plain));
        fitted
    }

    /// Without spaces at its end.
    pub(crate) fn plain(&self) -> String {
        let text: String = self.0.iter().map(|(text, _)| text.as_str()).collect();
        text.trim_end().to_owned()
    }

    /// With escape sequences for its styles.
    pub(crate) fn coloured(&self) -> String {
        let mut text = String::new();
        for (part, style) in &self.0 {
            if *style == Style::Plain {
                text.push_str(part);
            } else {
                // Writing into a text cannot fail.
                let _ = write!(text, "\x1b[{}m{part}\x1b[0m", style.code());
            }
        }
        text.trim_end().to_owned()
    }
}

/// A text in which nothing is left that a terminal obeys.
fn harmless(text: &str) -> String {
    let is_harmful = |of: char| {
        of.is_control()
            || matches!(of, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if !text.contains(is_harmful) {
        return text.to_owned();
    }
    let mut safe = String::new();
    for of in text.chars() {
        if is_harmful(of) { safe.extend(of.escape_default()) } else { safe.push(of) }
    }
    safe
}

/// Columns of a text.
pub(crate) fn width_of(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(of: char) -> usize {
    match of {
        '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// The beginning of a text that fits, with `…` in place of what is left out.
fn cut(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut columns = 0;
    for of in text.chars() {
        columns += columns_of(of);
        if columns >= width {
            break;
        }
        kept.push(of);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// Words in lines of at most `width` columns.
pub(crate) fn wrapped(text: &str, width: usize, style: Style) -> Vec<Line> {
    let mut lines: Vec<String> = Vec::new();
    for word in harmless(text).split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_of(line) + 1 + width_of(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    // A word that is longer than a line is cut into pieces, for a path or a URL is needed whole.
    let mut pieces = Vec::new();
    for line in lines {
        let mut piece = String::new();
        for of in line.chars() {
            if width_of(&piece) + columns_of(of) > width.max(2) {
                pieces.push(std::mem::take(&mut piece));
            }
            piece.push(of);
        }
        pieces.push(piece);
    }
    pieces.iter().map(|piece| Line::new(piece, style)).collect()
}

/// Columns between two of a table.
const GAP: usize = 2;
/// To what a text column is made narrower at most, while columns can go.
const SHORTEST_TEXT: usize = 14;

/// A column of a table. The first one is of texts, the others are aligned to the right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// A column of less importance goes first.
    pub(crate) importance: u8,
}

/// A table: a row has a cell for each column.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<(String, Style)>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, u8)]) -> Self {
        let columns = columns.iter().map(|&(title, importance)| Column { title, importance }).collect();
        Self { columns, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<(String, Style)>) {
        self.rows.push(cells.into_iter().map(|(text, style)| (harmless(&text), style)).collect());
    }

    /// The table in `width` columns, and with at most `most` rows, behind which a line tells how many there are.
    pub(crate) fn lines(mut self, width: usize, most: usize) -> Vec<Line> {
        let hidden = self.rows.len().saturating_sub(most);
        self.rows.truncate(most);
        let widths = self.fit(width);
        let titles = self.columns.iter().map(|column| (column.title.to_owned(), Style::Soft)).collect();
        let rows = std::iter::once(&titles).chain(&self.rows);
        let mut lines: Vec<Line> = rows.map(|row| line_of(row, &widths)).collect();
        if hidden > 0 {
            lines.push(Line::new(&format!("… and {hidden} more"), Style::Soft));
        }
        lines
    }

    /// Drops columns, and returns the widths of the others.
    fn fit(&mut self, width: usize) -> Vec<usize> {
        loop {
            let mut widths: Vec<usize> = (0..self.columns.len()).map(|column| self.natural(column)).collect();
            let others: usize = widths.iter().skip(1).map(|width| width + GAP).sum();
            let first = width.saturating_sub(others);
            let least = (1..self.columns.len()).min_by_key(|&column| self.columns[column].importance);
            if let Some(narrowed) = widths.first_mut() {
                let is_fitting = *narrowed <= first || first >= SHORTEST_TEXT;
                *narrowed = first.min(*narrowed);
                if let Some(least) = least.filter(|_| !is_fitting) {
                    self.columns.remove(least);
                    self.rows.iter_mut().for_each(|row| drop(row.remove(least)));
                    continue;
                }
            }
            return widths;
        }
    }

    fn natural(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| width_of(&row[column].0));
        cells.chain([width_of(self.columns[column].title)]).max().unwrap_or(0)
    }
}

fn line_of(row: &[(String, Style)], widths: &[usize]) -> Line {
    let mut line = Line::default();
    for (column, ((text, style), &width)) in row.iter().zip(widths).enumerate() {
        let text = cut(text, width);
        let space = " ".repeat(width - width_of(&text));
        let padding = if column == 0 { space.clone() } else { format!("{}{space}", " ".repeat(GAP)) };
        if column == 0 {
            line.0.extend([(text, *style), (padding, Style::Plain)]);
        } else {
            line.0.extend([(padding, Style::Plain), (text, *style)]);
        }
    }
    line
}

/// Space between sections that are beside each other.
const BETWEEN: usize = 4;

/// Sections in as many columns as `width` has room for, each of at least `least` columns; `make` makes a section of a
/// width. A section begins behind an empty line.
pub(crate) fn beside(width: usize, least: usize, make: &dyn Fn(usize) -> Vec<Vec<Line>>) -> Vec<Line> {
    let count = ((width + BETWEEN) / (least + BETWEEN)).max(1);
    let each = (width + BETWEEN) / count - BETWEEN.min((width + BETWEEN) / count);
    let mut columns: Vec<Vec<Line>> = vec![Vec::new(); count];
    for section in make(each) {
        if let Some(shortest) = columns.iter_mut().min_by_key(|column| column.len()) {
            shortest.push(Line::default());
            shortest.extend(section);
        }
    }
    let tall = columns.iter().map(Vec::len).max().unwrap_or(0);
    let row = |index: usize| {
        let mut line = Line::default();
        for (place, column) in columns.iter().enumerate() {
            if place > 0 {
                line.0.push((" ".repeat(BETWEEN), Style::Plain));
            }
            line.0.extend(column.get(index).cloned().unwrap_or_default().fitted(each).0);
        }
        line
    };
    (0..tall).map(row).collect()
}

/// Each line cut to `width`.
pub(crate) fn within(lines: Vec<Line>, width: usize) -> Vec<Line> {
    lines.into_iter().map(|line| line.fitted(width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_database_moves_the_cursor_or_leaves_its_cell() {
        assert_eq!(harmless("a\x1b[2Jb\n\u{202e}é"), "a\\u{1b}[2Jb\\n\\u{202e}é");
        assert_eq!((cut("表表表", 5), width_of("表e\u{301}")), ("表表…".to_owned(), 3));
        assert_eq!((cut("abc", 3), cut("abcd", 3), cut("abcd", 0)), ("abc".into(), "ab…".into(), String::new()));
        for width in 0..12 {
            let line = Line::new("some text", Style::Bad).with("表表", Style::Good).fitted(width);
            assert_eq!(line.width(), width, "{line:?}");
        }
    }

    #[test]
    fn a_table_that_is_too_wide_loses_text_and_then_columns() {
        let mut table = Table::new(&[("name", 9), ("one", 5), ("two", 1)]);
        table.row(vec![
            ("a name that is long".into(), Style::Plain),
            ("1".into(), Style::Plain),
            ("2".into(), Style::Bad),
        ]);
        let text = |width| table.clone().lines(width, 9).iter().map(Line::plain).collect::<Vec<_>>();
        assert_eq!(text(40), ["name                 one  two", "a name that is long    1    2"]);
        assert_eq!(text(25), ["name             one  two", "a name that is…    1    2"]);
        assert_eq!(text(20), ["name             one", "a name that is…    1"]);
        assert_eq!(text(6), ["name", "a nam…"]);
        assert_eq!(table.lines(40, 0).len(), 2);
    }

    #[test]
    fn words_are_wrapped_and_long_ones_cut() {
        let lines = wrapped("the file /a/very/long/path is gone", 10, Style::Plain);
        let texts: Vec<String> = lines.iter().map(Line::plain).collect();
        assert_eq!(texts, ["the file", "/a/very/lo", "ng/path", "is gone"]);
    }
}
