//! Prefix extractors (RocksDB's slice transforms): which part of a key filters and prefix seeks use.

use crate::components::LeadingComponents;
use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// A caller's own prefix extractor.
pub trait CustomPrefixExtractor: Send + Sync {
    /// Stored in OPTIONS and table properties; another rule needs another name.
    fn name(&self) -> &str;
    /// True when the key has a prefix.
    fn in_domain(&self, key: &[u8]) -> bool;
    /// The prefix of a key that is in the domain.
    fn transform<'a>(&self, key: &'a [u8]) -> &'a [u8];
}

/// Takes the prefix of a user key.
#[derive(Clone)]
pub enum PrefixExtractor {
    /// The first `n` bytes; shorter keys have no prefix.
    Fixed(usize),
    /// The first `n` bytes, or the whole key when it is shorter.
    Capped(usize),
    /// The whole key.
    Noop,
    /// Ferrock's own extractor: the first components of a key, whose bytes determine where they end; keys without all
    /// of them have no prefix.
    Components(LeadingComponents),
    /// The caller's own.
    Custom(Arc<dyn CustomPrefixExtractor>),
}

impl fmt::Debug for PrefixExtractor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl PartialEq for PrefixExtractor {
    /// By name, as an OPTIONS file and the properties of tables tell extractors apart.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fixed(one), Self::Fixed(two)) | (Self::Capped(one), Self::Capped(two)) => one == two,
            (Self::Noop, Self::Noop) => true,
            (Self::Custom(one), Self::Custom(two)) => one.name() == two.name(),
            _ => self.name() == other.name(),
        }
    }
}

impl Eq for PrefixExtractor {}

impl PrefixExtractor {
    /// The name in OPTIONS and table properties.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Fixed(length) => format!("rocksdb.FixedPrefix.{length}"),
            Self::Capped(length) => format!("rocksdb.CappedPrefix.{length}"),
            Self::Noop => "rocksdb.Noop".to_owned(),
            Self::Components(leading) => format!("{COMPONENTS}{leading}"),
            Self::Custom(custom) => custom.name().to_owned(),
        }
    }

    /// The built-in extractor with this name or alias (`fixed:4`, `rocksdb.FixedPrefix.4`, ...); `nullptr` is none.
    ///
    /// # Errors
    /// `NotSupported` for an extractor that is not built in; `InvalidArgument` for a length that is no number.
    pub fn built_in(text: &str) -> Result<Option<Self>> {
        let text = text.trim();
        let text =
            text.strip_prefix("{id=").and_then(|rest| rest.strip_suffix('}')).unwrap_or(text).trim_end_matches(';');
        let number = |digits: &str| {
            let parsed = digits.parse::<usize>();
            parsed.map_err(|_| Error::invalid_argument(format!("prefix extractor {text}: {digits} is not a length")))
        };
        for name in ["rocksdb.FixedPrefix.", "fixed:"] {
            if let Some(digits) = text.strip_prefix(name) {
                return Ok(Some(Self::Fixed(number(digits)?)));
            }
        }
        for name in ["rocksdb.CappedPrefix.", "capped:"] {
            if let Some(digits) = text.strip_prefix(name) {
                return Ok(Some(Self::Capped(number(digits)?)));
            }
        }
        if let Some(shapes) = text.strip_prefix(COMPONENTS) {
            return LeadingComponents::parse(shapes).map(|leading| Some(Self::Components(leading)));
        }
        match text {
            "" | "nullptr" => Ok(None),
            "rocksdb.Noop" => Ok(Some(Self::Noop)),
            _ => Err(Error::not_supported(format!("prefix extractor {text} is not built in"))),
        }
    }

    /// The prefix of `key`, or `None` when the key is out of the domain.
    #[inline]
    #[must_use]
    pub fn prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Fixed(length) => key.get(..*length),
            Self::Capped(length) => Some(&key[..key.len().min(*length)]),
            Self::Noop => Some(key),
            Self::Components(leading) => leading.length_in(key).map(|length| &key[..length]),
            Self::Custom(custom) => custom.in_domain(key).then(|| custom.transform(key)),
        }
    }

    /// True if the prefix is the start of the key, and is its own prefix: then, in forward and reverse byte order, all
    /// keys between two of one prefix have it, too.
    #[must_use]
    pub fn is_piece(&self) -> bool {
        matches!(self, Self::Fixed(_) | Self::Capped(_) | Self::Components(_))
    }

    /// True if, in addition, every key that begins with a prefix has it. (False for capped prefixes: a short key is its
    /// own prefix, and longer keys that begin with it have another.)
    #[must_use]
    pub fn covers_what_begins_with_it(&self) -> bool {
        matches!(self, Self::Fixed(_) | Self::Components(_))
    }
}

/// The start of the name of [`PrefixExtractor::Components`].
const COMPONENTS: &str = "ferrock.Components.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains() {
        let fixed = PrefixExtractor::built_in("rocksdb.FixedPrefix.4").unwrap().unwrap();
        assert_eq!(fixed.prefix(b"abcdef"), Some(&b"abcd"[..]));
        assert_eq!(fixed.prefix(b"abc"), None);
        let capped = PrefixExtractor::built_in("capped:4").unwrap().unwrap();
        assert_eq!(capped.prefix(b"abc"), Some(&b"abc"[..]));
        assert_eq!(capped.name(), "rocksdb.CappedPrefix.4");
        assert!(PrefixExtractor::built_in("nullptr").unwrap().is_none());
        let components = PrefixExtractor::built_in("ferrock.Components.2.a").unwrap().unwrap();
        assert_eq!(components.prefix(b"xya\0\x01b"), Some(&b"xya\0\x01"[..]));
        assert_eq!(components.prefix(b"xyab"), None);
        assert_eq!(PrefixExtractor::built_in(&components.name()).unwrap(), Some(components));
        assert!(PrefixExtractor::built_in("ferrock.Components.x").is_err());
        assert!(PrefixExtractor::built_in("rocksdb.FixedPrefix.x").is_err());
    }
}
