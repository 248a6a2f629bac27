//! How often a file is expected to be read.
//!
//! A number in the MANIFEST, a name in an OPTIONS file, and a hint to the file system, which may have slower and
//! cheaper places for cold files. Nothing depends on it but where bytes lie.

use crate::option_table::OptionValue;

/// How hot the data of a file is expected to be. Numbers as in the MANIFEST and in RocksDB's C interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Temperature {
    /// Nothing is known.
    #[default]
    Unknown = 0,
    /// Often read.
    Hot = 4,
    /// Sometimes read.
    Warm = 8,
    /// Seldom read.
    Cool = 0x0A,
    /// Rarely read.
    Cold = 0x0C,
    /// Archived.
    Ice = 0x10,
}

impl Temperature {
    /// Every temperature, from hot to cold after `Unknown`.
    pub const ALL: [Self; 6] = [Self::Unknown, Self::Hot, Self::Warm, Self::Cool, Self::Cold, Self::Ice];

    /// The temperature with this number; unknown numbers count as `Unknown`.
    #[must_use]
    pub fn from_u8(byte: u8) -> Self {
        Self::ALL.into_iter().find(|&temperature| temperature as u8 == byte).unwrap_or_default()
    }

    /// The text in an OPTIONS file.
    #[must_use]
    pub fn option_name(self) -> &'static str {
        match self {
            Self::Unknown => "kUnknown",
            Self::Hot => "kHot",
            Self::Warm => "kWarm",
            Self::Cool => "kCool",
            Self::Cold => "kCold",
            Self::Ice => "kIce",
        }
    }

    /// The temperature with this text in an OPTIONS file.
    #[must_use]
    pub fn from_option_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|temperature| temperature.option_name() == name)
    }
}

impl OptionValue for Temperature {
    fn parse_option(text: &str) -> Option<Self> {
        Self::from_option_name(text)
    }
    fn format_option(&self) -> String {
        self.option_name().to_owned()
    }
}
