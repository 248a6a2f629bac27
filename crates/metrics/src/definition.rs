//! What a metric is, and how a page of samples is written in the text exposition format.
//!
//! ```text
//! # HELP ferrock_level_files Tables of a level.
//! # TYPE ferrock_level_files gauge
//! ferrock_level_files{db="/var/lib/orders",cf="default",level="0"} 2
//! ```
//!
//! A metric without samples has no head. The head comes once, and all samples of a metric follow it, whichever database
//! they are of. In values of labels and in help a backslash and a line feed are escaped, in values a quote, too.

use ferrock_engine::metrics::Metrics;
use std::fmt::Write as _;

/// The kind of a metric, in the words of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows while the database is open.
    Counter,
    /// A number of the moment.
    Gauge,
    /// How many values there were up to each of several bounds, with their count and sum.
    Histogram,
}

impl Kind {
    /// The word of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// What a page may have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// The name; a histogram's samples have it with `_bucket`, `_sum` and `_count` behind it.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Labels besides `db`; one without a value is left out.
    pub labels: &'static [&'static str],
    /// What it is.
    pub help: String,
}

/// A metric whose name is in the code.
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Besides `db`.
    pub(crate) labels: &'static [&'static str],
    pub(crate) help: &'static str,
    /// Adds the samples of a database.
    pub(crate) read: Read,
}

pub(crate) type Read = fn(&Metrics, &mut Samples<'_>);

impl Definition {
    pub(crate) fn description(&self) -> Description {
        Description { name: self.name.to_owned(), kind: self.kind, labels: self.labels, help: self.help.to_owned() }
    }
}

/// A counter, whose name ends in `_total`.
pub(crate) const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    read: Read,
) -> Definition {
    Definition { name, kind: Kind::Counter, labels, help, read }
}

/// A gauge.
pub(crate) const fn gauge(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    read: Read,
) -> Definition {
    Definition { name, kind: Kind::Gauge, labels, help, read }
}

/// The value of a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Whole(u64),
    Real(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Whole(value as u64)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Whole(u64::from(value))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

/// Microseconds as seconds.
pub(crate) fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

/// A page that is being written.
#[derive(Default)]
pub(crate) struct Page {
    text: String,
    /// Head of the metric that was begun, until its first sample.
    head: String,
    name: String,
    labels: &'static [&'static str],
}

impl Page {
    /// Begins a metric: the next samples are its.
    pub(crate) fn begin(&mut self, name: &str, kind: Kind, labels: &'static [&'static str], help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.head = format!("# HELP {name} {help}\n# TYPE {name} {}\n", kind.name());
        self.labels = labels;
        name.clone_into(&mut self.name);
    }

    /// Where the samples of a database go.
    pub(crate) fn samples<'a>(&'a mut self, database: &'a str) -> Samples<'a> {
        Samples { page: self, database }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// Takes the samples of one metric and one database.
pub(crate) struct Samples<'a> {
    page: &'a mut Page,
    database: &'a str,
}

impl Samples<'_> {
    /// Adds a sample, with a value for each label. One without a value is left out.
    pub(crate) fn add(&mut self, labels: &[&str], value: impl Into<Value>) {
        self.add_as("", labels, None, value.into());
    }

    /// Adds a sample of a histogram: `suffix` to the name, and the bound of a bucket.
    pub(crate) fn add_as(&mut self, suffix: &str, labels: &[&str], bound: Option<&str>, value: Value) {
        let Page { text, head, name, labels: names } = &mut *self.page;
        text.push_str(&std::mem::take(head));
        let _ = write!(text, "{name}{suffix}{{db=\"");
        escape(self.database, text);
        text.push('"');
        let named = names.iter().copied().zip(labels.iter().copied());
        for (label, content) in named.filter(|(_, content)| !content.is_empty()).chain(bound.map(|bound| ("le", bound)))
        {
            let _ = write!(text, ",{label}=\"");
            escape(content, text);
            text.push('"');
        }
        let _ = match value {
            Value::Whole(number) => writeln!(text, "}} {number}"),
            Value::Real(number) if number == f64::INFINITY => writeln!(text, "}} +Inf"),
            Value::Real(number) => writeln!(text, "}} {number}"),
        };
    }
}

fn escape(content: &str, text: &mut String) {
    for letter in content.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_heads_of_what_has_samples() {
        let mut page = Page::default();
        page.begin("empty", Kind::Counter, &[], "Nothing.");
        page.begin("some", Kind::Gauge, &["cf", "level"], "A \\ and\na line.");
        page.samples("a").add(&["x\"y\\z\n", "0"], 1.5);
        page.samples("b").add(&["", "1"], f64::INFINITY);
        let expected = "# HELP some A \\\\ and\\na line.\n# TYPE some gauge\n\
                        some{db=\"a\",cf=\"x\\\"y\\\\z\\n\",level=\"0\"} 1.5\nsome{db=\"b\",level=\"1\"} +Inf\n";
        assert_eq!(page.into_text(), expected);
    }
}
