//! Which filter a table gets, and the spelling of that choice in OPTIONS files.
//!
//! ```text
//! nullptr                                              no filter (also the empty string)
//! bloomfilter:BITS:false                               also rocksdb.BloomFilter, :true, or no third field
//! ribbonfilter:BITS:LEVEL                              also rocksdb.RibbonFilter, or no third field (0)
//! {id=ribbonfilter:BITS:LEVEL;bloom_before_level=N;}   what newer releases write; N counts
//! rocksdb.BuiltinBloomFilter                           read filters, write none
//! ```

use super::{FilterBuilder, builder::Sizing};
use ferrock_base::option_table::OptionValue;
use ferrock_base::{Error, Result};
use std::fmt;

/// A filter policy of the OPTIONS file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterPolicy {
    /// `nullptr`: tables are written without a filter. Filters that exist are not used either.
    #[default]
    None,
    /// `rocksdb.BuiltinBloomFilter`: filters are read, none are written.
    ReadOnly,
    /// Bloom filters of this many thousandths of a bit per key (0, or 1000 to 100000).
    Bloom {
        /// Thousandths of a bit per key.
        millibits_per_key: u32,
    },
    /// Ribbon filters as accurate as a Bloom filter of this size.
    Ribbon {
        /// Thousandths of a bit per key of the equivalent Bloom filter.
        millibits_per_key: u32,
        /// Tables of a lower level get a Bloom filter (a flush counts as -1).
        bloom_before_level: i32,
    },
}

/// The filters that a table writer can build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterFormat {
    /// [`super::LegacyBloom`].
    LegacyBloom,
    /// [`super::FastLocalBloom`].
    FastLocalBloom,
    /// [`super::Ribbon`], with FastLocalBloom where that is smaller.
    Ribbon,
}

const BLOOM_NAMES: [&str; 2] = ["bloomfilter", "rocksdb.BloomFilter"];
const RIBBON_NAMES: [&str; 2] = ["ribbonfilter", "rocksdb.RibbonFilter"];

impl FilterPolicy {
    /// A Bloom policy. Below half a bit per key there is no filter; at most 100 bits are used.
    #[must_use]
    pub fn bloom(bits_per_key: f64) -> Self {
        Self::Bloom { millibits_per_key: millibits(bits_per_key) }
    }

    /// A Ribbon policy with the accuracy of a Bloom filter of `bits_per_key`.
    #[must_use]
    pub fn ribbon(bits_per_key: f64, bloom_before_level: i32) -> Self {
        Self::Ribbon { millibits_per_key: millibits(bits_per_key), bloom_before_level }
    }

    /// Parses an option value.
    ///
    /// # Errors
    /// `NotSupported` for a text that names no policy that is built in.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let Some(map) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
            return Self::parse_id(text);
        };
        let mut policy = None;
        let mut level = None;
        for option in map.split(';').map(str::trim).filter(|option| !option.is_empty()) {
            match option.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
                Some(("id", id)) => policy = Some(Self::parse_id(id)?),
                Some(("bloom_before_level", value)) => level = Some(parse_level(text, value)?),
                _ => return Err(unknown(text)),
            }
        }
        match (policy, level) {
            (Some(Self::Ribbon { millibits_per_key, .. }), Some(bloom_before_level)) => {
                Ok(Self::Ribbon { millibits_per_key, bloom_before_level })
            }
            (Some(policy), None) => Ok(policy),
            _ => Err(unknown(text)),
        }
    }

    fn parse_id(id: &str) -> Result<Self> {
        if id.is_empty() || id == "nullptr" {
            return Ok(Self::None);
        }
        if id == super::COMPATIBILITY_NAME {
            return Ok(Self::ReadOnly);
        }
        let mut fields = id.split(':');
        let (name, bits, last) = (fields.next().unwrap_or(""), fields.next(), fields.next());
        let (Some(bits), None) = (bits, fields.next()) else { return Err(unknown(id)) };
        let bits_per_key: f64 = bits.parse().map_err(|_| unknown(id))?;
        if BLOOM_NAMES.contains(&name) && matches!(last, None | Some("false" | "true")) {
            return Ok(Self::bloom(bits_per_key));
        }
        if RIBBON_NAMES.contains(&name) {
            let bloom_before_level = last.map_or(Ok(0), |level| parse_level(id, level))?;
            return Ok(Self::ribbon(bits_per_key, bloom_before_level));
        }
        Err(unknown(id))
    }

    /// The value of the table property `rocksdb.filter.policy`; empty without a filter.
    #[must_use]
    pub fn property_name(&self) -> &'static str {
        match self {
            Self::None => "",
            Self::ReadOnly => super::COMPATIBILITY_NAME,
            Self::Bloom { .. } => BLOOM_NAMES[0],
            Self::Ribbon { .. } => RIBBON_NAMES[0],
        }
    }

    /// Whether filters found in tables are to be used.
    #[must_use]
    pub fn reads_filters(&self) -> bool {
        *self != Self::None
    }

    /// The filter that tables of `format_version` get, `None` for no filter.
    ///
    /// `level` is the level a table is written for, -1 for a flush: that is what `bloom_before_level` is compared with.
    #[must_use]
    pub fn format(&self, format_version: u32, level: i32) -> Option<FilterFormat> {
        match *self {
            Self::None | Self::ReadOnly => None,
            Self::Bloom { millibits_per_key: 0 } | Self::Ribbon { millibits_per_key: 0, .. } => None,
            Self::Bloom { .. } if format_version < 5 => Some(FilterFormat::LegacyBloom),
            Self::Bloom { .. } => Some(FilterFormat::FastLocalBloom),
            // In place of Ribbon, RocksDB takes the newer Bloom filter whatever the version of the table.
            Self::Ribbon { bloom_before_level, .. } if level < bloom_before_level => Some(FilterFormat::FastLocalBloom),
            Self::Ribbon { .. } => Some(FilterFormat::Ribbon),
        }
    }

    /// A builder for one filter of a table of `format_version`, `None` for no filter. `level` as for
    /// [`format`](Self::format).
    #[must_use]
    pub fn builder(&self, format_version: u32, level: i32) -> Option<FilterBuilder> {
        let format = self.format(format_version, level)?;
        let (Self::Bloom { millibits_per_key } | Self::Ribbon { millibits_per_key, .. }) = *self else { return None };
        Some(FilterBuilder::new(match format {
            FilterFormat::LegacyBloom => Sizing::LegacyBloom { whole_bits_per_key: (millibits_per_key + 500) / 1000 },
            FilterFormat::FastLocalBloom => Sizing::FastLocalBloom { millibits_per_key },
            FilterFormat::Ribbon => Sizing::Ribbon { millibits_per_key },
        }))
    }
}

impl fmt::Display for FilterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("nullptr"),
            Self::ReadOnly => f.write_str(super::COMPATIBILITY_NAME),
            Self::Bloom { millibits_per_key } => write!(f, "{}:{}:false", BLOOM_NAMES[0], Bits(millibits_per_key)),
            Self::Ribbon { millibits_per_key, bloom_before_level: level } => {
                let (name, bits) = (RIBBON_NAMES[0], Bits(millibits_per_key));
                write!(f, "{{id={name}:{bits}:{level};bloom_before_level={level};}}")
            }
        }
    }
}

impl OptionValue for FilterPolicy {
    fn parse_option(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }
    fn format_option(&self) -> String {
        self.to_string()
    }
}

/// Thousandths of a bit, printed as bits with as many decimals as needed.
struct Bits(u32);

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 / 1000)?;
        match self.0 % 1000 {
            0 => Ok(()),
            fraction => write!(f, ".{}", format!("{fraction:03}").trim_end_matches('0')),
        }
    }
}

/// Normalises bits per key; not-a-number counts as the maximum.
fn millibits(bits_per_key: f64) -> u32 {
    let bits = if bits_per_key < 0.5 {
        return 0;
    } else if bits_per_key < 1.0 {
        1.0
    } else if bits_per_key < 100.0 {
        bits_per_key
    } else {
        100.0
    };
    // The nudge makes numbers with three decimals come out exactly.
    (bits * 1000.0 + 0.500_001) as u32
}

fn parse_level(text: &str, level: &str) -> Result<i32> {
    level.parse().map_err(|_| unknown(text))
}

#[cold]
fn unknown(text: &str) -> Error {
    Error::not_supported(format!(
        "filter policy {text:?}; known are nullptr, bloomfilter:BITS:false, ribbonfilter:BITS:LEVEL and {}",
        super::COMPATIBILITY_NAME
    ))
}
