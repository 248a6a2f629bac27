//! Partitions that the user declares large.

use ferrock_base::option_table::OptionValue;

/// Prefixes whose partitions are laid out as large ones from their first row on (see `partition_cut`), whatever their
/// size. As text: hexadecimal digits, with `:` between two prefixes. The empty prefix is not one of them.
///
/// ```
/// use ferrock_table::options::LargePartitions;
/// let large = LargePartitions::new([b"room:7/".to_vec(), b"room:8/".to_vec()]);
/// assert!(large.contains(b"room:7/") && !large.contains(b"room:9/"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LargePartitions {
    /// Sorted.
    prefixes: Vec<Vec<u8>>,
}

impl LargePartitions {
    /// The partitions of these prefixes.
    #[must_use]
    pub fn new(prefixes: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut prefixes: Vec<Vec<u8>> = prefixes.into_iter().filter(|prefix| !prefix.is_empty()).collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        Self { prefixes }
    }

    /// True when the partition of `prefix` is one of them.
    #[must_use]
    pub fn contains(&self, prefix: &[u8]) -> bool {
        self.prefixes.binary_search_by(|known| known[..].cmp(prefix)).is_ok()
    }

    /// The prefixes in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.prefixes.iter().map(|prefix| &prefix[..])
    }
}

impl OptionValue for LargePartitions {
    fn parse_option(text: &str) -> Option<Self> {
        let text = text.trim();
        let prefixes = text.split(':').filter(|_| !text.is_empty()).map(parse_hex).collect::<Option<Vec<_>>>()?;
        Some(Self::new(prefixes))
    }

    fn format_option(&self) -> String {
        let hex = |prefix: &Vec<u8>| prefix.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        self.prefixes.iter().map(hex).collect::<Vec<_>>().join(":")
    }
}

/// The bytes that pairs of digits stand for; `None` for anything else, and for none.
fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let text = text.trim().as_bytes();
    if text.is_empty() || !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    text.chunks(2).map(|pair| u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_both_ways() {
        let large = LargePartitions::new([b"b".to_vec(), vec![0, 0xff], Vec::new(), b"b".to_vec()]);
        assert_eq!(large.format_option(), "00ff:62");
        assert_eq!(LargePartitions::parse_option(" 62:00FF "), Some(large));
        assert_eq!(LargePartitions::parse_option(""), Some(LargePartitions::default()));
        for wrong in ["6", "62:", "6g", "62,63", ":"] {
            assert_eq!(LargePartitions::parse_option(wrong), None, "{wrong}");
        }
        assert_eq!(LargePartitions::default().format_option(), "");
        assert!(!LargePartitions::default().contains(b""));
    }
}
