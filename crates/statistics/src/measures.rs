//! Declares the tables of tickers and histograms.

/// Declares an enum of measures. A row is a variant, RocksDB's name, and either `counts` and what it counts, or `zero`
/// and why it stays 0. The order is RocksDB 11.8.1's: a variant's number is that of its C interface.
macro_rules! measures {
    ($(#[$meta:meta])* $kind:ident { $($variant:ident $name:literal $state:ident $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum $kind {
            $(#[doc = measures!(@doc $name $state $text)] $variant,)*
        }

        impl $kind {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            const ROWS: &'static [(&'static str, bool, &'static str)] =
                &[$(($name, measures!(@counts $state), $text),)*];

            /// RocksDB's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                Self::ROWS[self as usize].0
            }

            /// False for one that stays 0.
            #[must_use]
            pub fn is_counted(self) -> bool {
                Self::ROWS[self as usize].1
            }

            /// What it counts; why it stays 0, if it does.
            #[must_use]
            pub fn description(self) -> &'static str {
                Self::ROWS[self as usize].2
            }

            /// The one with RocksDB's number in its C interface.
            #[must_use]
            pub fn from_number(number: u32) -> Option<Self> {
                Self::ALL.get(usize::try_from(number).ok()?).copied()
            }

            /// The one with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|measure| measure.name() == name)
            }
        }
    };
    (@counts counts) => { true };
    (@counts zero) => { false };
    (@doc $name:literal counts $text:literal) => { concat!("`", $name, "`: ", $text) };
    (@doc $name:literal zero $text:literal) => { concat!("`", $name, "`: stays 0: ", $text, ".") };
}

pub(crate) use measures;
