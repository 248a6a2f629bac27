//! When a table that is written asks for a compaction for its deletions.
//!
//! ```text
//! compact_on_deletion={window_size=65536;deletion_trigger=32768;deletion_ratio=0.000000;min_file_size=0;}
//! compact_on_deletion={{window_size=100;deletion_trigger=9;}:{deletion_ratio=0.5;}}      one of them is enough
//! compact_on_deletion={}                                                                 never
//! ```
//!
//! The fields have the names that RocksDB gives them in `table_properties_collectors`. A field that a rule does not
//! name is 0.

use ferrock_base::option_table::OptionValue;
use ferrock_format::options_file::value::parse_struct;

/// Deletions of a table that are enough for a compaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeletionRule {
    /// Entries that the window looks at, rounded up to a multiple of 128; 0: there is no window.
    pub window_size: u64,
    /// Deletions in a window that are enough.
    pub deletion_trigger: u64,
    /// Share of deletions among all entries of the table that is enough; not above 0, or above 1: there is no such.
    pub deletion_ratio: f64,
    /// Bytes of data blocks below which a table is left alone.
    pub min_file_size: u64,
}

/// The rules of a family, of which one is enough. RocksDB has none unless some are added.
///
/// By default, half of 65536 entries in a row: a scan then finds nothing for tens of thousands of steps.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactOnDeletion(pub Vec<DeletionRule>);

impl Default for CompactOnDeletion {
    fn default() -> Self {
        let rule = DeletionRule { window_size: 65_536, deletion_trigger: 32_768, ..DeletionRule::default() };
        Self(vec![rule])
    }
}

fn parse_rule(text: &str) -> Option<DeletionRule> {
    let mut rule = DeletionRule::default();
    for (name, value) in parse_struct(text).ok()? {
        match name {
            "window_size" => rule.window_size = OptionValue::parse_option(value)?,
            "deletion_trigger" => rule.deletion_trigger = OptionValue::parse_option(value)?,
            "deletion_ratio" => rule.deletion_ratio = OptionValue::parse_option(value)?,
            "min_file_size" => rule.min_file_size = OptionValue::parse_option(value)?,
            _ => return None,
        }
    }
    Some(rule)
}

impl OptionValue for CompactOnDeletion {
    fn parse_option(text: &str) -> Option<Self> {
        let text = text.trim();
        let inside = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).map(str::trim);
        // Braces around all of it, unless the first of them ends the first of several rules.
        let rules = inside.filter(|inside| inside.starts_with('{') || !inside.contains('{')).unwrap_or(text);
        if rules.is_empty() {
            return Some(Self(Vec::new()));
        }
        rules.split(':').map(parse_rule).collect::<Option<_>>().map(Self)
    }

    fn format_option(&self) -> String {
        let rule = |rule: &DeletionRule| {
            format!(
                "{{window_size={};deletion_trigger={};deletion_ratio={};min_file_size={};}}",
                rule.window_size,
                rule.deletion_trigger,
                rule.deletion_ratio.format_option(),
                rule.min_file_size
            )
        };
        match &self.0[..] {
            [one] => rule(one),
            rules => format!("{{{}}}", rules.iter().map(rule).collect::<Vec<_>>().join(":")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_survive_their_text() {
        let one = DeletionRule { window_size: 1, deletion_trigger: 2, deletion_ratio: 0.5, min_file_size: 4 };
        let text = "{window_size=1;deletion_trigger=2;deletion_ratio=0.500000;min_file_size=4;}";
        for (rules, text) in [
            (CompactOnDeletion(vec![one.clone()]), text.to_owned()),
            (CompactOnDeletion(Vec::new()), "{}".to_owned()),
            (CompactOnDeletion(vec![one.clone(), one.clone()]), format!("{{{text}:{text}}}")),
        ] {
            assert_eq!(rules.format_option(), text);
            assert_eq!(CompactOnDeletion::parse_option(&text), Some(rules.clone()), "{text}");
            let bare = text.strip_prefix('{').unwrap().strip_suffix('}').unwrap();
            assert_eq!(CompactOnDeletion::parse_option(bare), Some(rules), "{bare}: as option strings give it");
        }
        let default = CompactOnDeletion::default();
        assert_eq!(CompactOnDeletion::parse_option(&default.format_option()), Some(default));
    }

    #[test]
    fn what_is_not_named_is_0() {
        let rules = CompactOnDeletion::parse_option("{{window_size=1k}:{deletion_ratio=1}}").unwrap();
        let expected = [
            DeletionRule { window_size: 1024, ..DeletionRule::default() },
            DeletionRule { deletion_ratio: 1.0, ..DeletionRule::default() },
        ];
        assert_eq!(rules.0, expected);
        for wrong in ["7", "{window_size}", "{window_size=-1}", "{no_such_field=1}", "{window_size=1}:"] {
            assert_eq!(CompactOnDeletion::parse_option(wrong).filter(|rules| rules.0.len() < 2), None, "{wrong}");
        }
    }
}
