//! Options, declared once.
//!
//! [`option_table!`](crate::option_table!) turns one table into the settings struct, its defaults, its range checks,
//! its names in an OPTIONS file, its mutability and its documentation. Each layer declares its own table; the engine
//! combines them, and the C setters are generated from the same lists.
//!
//! ```
//! use ferrock_base::option_table;
//! option_table! {
//!     /// What a demo can be told.
//!     pub struct DemoOptions {
//!         /// Bytes of a block before it is cut.
//!         mutable block_size: u64 = 4096, 1..=(1 << 32);
//!         /// Seconds that a log is kept.
//!         fixed wal_ttl_seconds as "WAL_ttl_seconds": u64 = 0;
//!     }
//! }
//! let mut options = DemoOptions::default();
//! assert!(options.set("block_size", "8k").unwrap());
//! assert_eq!(options.block_size, 8192);
//! assert!(options.set("WAL_ttl_seconds", "x").is_err());
//! assert!(!options.set("no_such_option", "1").unwrap());
//! options.block_size = 0;
//! assert_eq!(options.violations()[0].to_string(), "block_size = 0 is out of 1..=4294967296");
//! let adjusted = options.bring_into_bounds();
//! assert_eq!(adjusted[0].to_string(), "block_size = 0 is out of 1..=4294967296; 1 is used");
//! ```
//!
//! A row is `mutability name [as "file name"]: type = default [, range [=> instead]];`. A value out of its range is
//! replaced by the nearer end of the range, or by `instead`. Mutability is `fixed` (set at open) or `mutable` (also by
//! `set_options`); `own_fixed` and `own_mutable` are options that RocksDB does not have: they are written as comment
//! lines, which RocksDB skips.

use std::fmt;
use std::ops::RangeInclusive;

/// A value that has a text form in an OPTIONS file.
pub trait OptionValue: Sized + Clone + PartialEq {
    /// Reads the text form.
    fn parse_option(text: &str) -> Option<Self>;
    /// Reads a text that may name a part of the value only: the rest stays as it is.
    fn changed_by(&self, text: &str) -> Option<Self> {
        let _ = self;
        Self::parse_option(text)
    }
    /// Writes the text form.
    fn format_option(&self) -> String;
}

/// Reads an integer with an optional `k`, `m`, `g` or `t` (times 1024) at its end, which a `B` may follow.
#[must_use]
pub fn parse_integer(text: &str) -> Option<i128> {
    let text = text.trim();
    let text = text.strip_suffix(['b', 'B']).unwrap_or(text);
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        b't' | b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<i64>().map(i128::from).or_else(|_| digits.parse::<u64>().map(i128::from)).ok().map(|n| n << shift)
}

macro_rules! integer_options {
    ($($ty:ty),*) => {$(
        impl OptionValue for $ty {
            fn parse_option(text: &str) -> Option<Self> {
                parse_integer(text)?.try_into().ok()
            }
            fn format_option(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
integer_options!(u16, u32, u64, i32, i64, usize);

impl OptionValue for bool {
    fn parse_option(text: &str) -> Option<Self> {
        match text.trim() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        }
    }
    fn format_option(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for f64 {
    fn parse_option(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|value: &f64| value.is_finite())
    }
    fn format_option(&self) -> String {
        format!("{self:.6}")
    }
}

impl OptionValue for String {
    fn parse_option(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
    fn format_option(&self) -> String {
        self.clone()
    }
}

impl<T: OptionValue> OptionValue for Vec<T> {
    fn parse_option(text: &str) -> Option<Self> {
        if text.trim().is_empty() {
            return Some(Vec::new());
        }
        text.split(':').map(T::parse_option).collect()
    }
    fn format_option(&self) -> String {
        self.iter().map(T::format_option).collect::<Vec<_>>().join(":")
    }
}

/// When an option may change, and whether RocksDB has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionFlags {
    /// `set_options` may change it while the database is open.
    pub is_mutable: bool,
    /// RocksDB does not have it.
    pub is_own: bool,
}

impl OptionFlags {
    /// Reads the mutability word of a table row.
    ///
    /// # Panics
    /// When compiled with a word that is none of the four.
    #[must_use]
    #[expect(clippy::panic, reason = "it is evaluated when the table is compiled")]
    pub const fn from_word(word: &str) -> Self {
        match word.as_bytes() {
            b"fixed" => Self { is_mutable: false, is_own: false },
            b"mutable" => Self { is_mutable: true, is_own: false },
            b"own_fixed" => Self { is_mutable: false, is_own: true },
            b"own_mutable" => Self { is_mutable: true, is_own: true },
            _ => panic!("an option is fixed, mutable, own_fixed or own_mutable"),
        }
    }
}

/// A row of an option table.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// Name in an OPTIONS file.
    pub name: &'static str,
    /// Rust type of the field.
    pub type_name: &'static str,
    /// When it may change, and whether RocksDB has it.
    pub flags: OptionFlags,
    /// The bounds as written in the table; empty if every value of the type is valid.
    pub bounds: &'static str,
    /// The documentation of the option.
    pub doc: &'static str,
    /// The default in its text form.
    pub default_text: fn() -> String,
}

/// A value out of its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The option.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The bound it breaks, as a phrase: `out of 1..=100`, `below level0_slowdown_writes_trigger`.
    pub bound: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} is {}", self.name, self.value, self.bound)
    }
}

/// A value that was out of its bounds, and the one that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjustment {
    /// The value that was out of its bounds.
    pub violation: Violation,
    /// The value now.
    pub used: String,
}

impl Adjustment {
    /// An option whose value was `value`; `used` replaces it.
    #[must_use]
    pub fn new(name: &str, value: impl fmt::Display, bound: String, used: impl fmt::Display) -> Self {
        let violation = Violation { name: name.to_owned(), value: value.to_string(), bound };
        Self { violation, used: used.to_string() }
    }
}

impl fmt::Display for Adjustment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {} is used", self.violation, self.used)
    }
}

/// The end of `range` nearer to a value outside of it; `None` for a value within, and for one that is unordered (NaN).
#[must_use]
pub fn nearer_end<T: PartialOrd + Clone>(value: &T, range: &RangeInclusive<T>) -> Option<T> {
    if value < range.start() {
        Some(range.start().clone())
    } else if value > range.end() {
        Some(range.end().clone())
    } else {
        None
    }
}

/// Generates a settings struct from a table. See the [module](self) for the form of a row.
#[macro_export]
macro_rules! option_table {
    (
        $(#[$struct_attribute:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $word:ident $field:ident $(as $file_name:literal)? : $ty:ty = $default:expr
                    $(, $range:expr $(=> $instead:expr)?)? ;
            )*
        }
    ) => {
        $(#[$struct_attribute])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $name {
            $( $(#[doc = $doc])+ pub $field: $ty, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }

        impl $name {
            /// Every option with its name, bounds, default and documentation, in declaration order.
            pub const TABLE: &'static [$crate::option_table::OptionInfo] = &[
                $( $crate::option_table::OptionInfo {
                    name: $crate::option_table!(@name $field $($file_name)?),
                    type_name: stringify!($ty),
                    flags: const { $crate::option_table::OptionFlags::from_word(stringify!($word)) },
                    bounds: concat!($( stringify!($range), )? ""),
                    doc: concat!($($doc, "\n"),+),
                    default_text: || {
                        let value: $ty = $default;
                        <$ty as $crate::option_table::OptionValue>::format_option(&value)
                    },
                }, )*
            ];

            /// Sets an option from its text. `Ok(false)`: no option has that name. `Err`: the text is not a valid
            /// value.
            pub fn set(&mut self, name: &str, text: &str) -> $crate::Result<bool> {
                match name {
                    $( $crate::option_table!(@name $field $($file_name)?) => {
                        let value = <$ty as $crate::option_table::OptionValue>::changed_by(&self.$field, text);
                        self.$field = value.ok_or_else(|| $crate::Error::invalid_argument(format!(
                            "option {name}: {text:?} is not a {}", stringify!($ty)
                        )))?;
                        Ok(true)
                    } )*
                    _ => Ok(false),
                }
            }

            /// The text of an option's value.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<String> {
                match name {
                    $( $crate::option_table!(@name $field $($file_name)?) =>
                        Some(<$ty as $crate::option_table::OptionValue>::format_option(&self.$field)), )*
                    _ => None,
                }
            }

            /// Every value out of its bounds.
            #[must_use]
            pub fn violations(&self) -> Vec<$crate::option_table::Violation> {
                #[allow(unused_mut)]
                let mut violations = Vec::new();
                $(
                    let name = $crate::option_table!(@name $field $($file_name)?);
                    let value = || <$ty as $crate::option_table::OptionValue>::format_option(&self.$field);
                    let _ = (name, &value);
                    $(
                        let range: std::ops::RangeInclusive<$ty> = $range;
                        if !range.contains(&self.$field) {
                        violations.push($crate::option_table::Violation {
                            name: name.to_owned(),
                            value: value(),
                            bound: format!("out of {range:?}"),
                        });
                    } )?
                )*
                violations
            }

            /// Replaces every value that is out of its bounds by the nearest valid one, and lists those. An unordered
            /// value (NaN) stays, and stays a violation.
            #[doc(hidden)]
            pub fn bring_into_bounds(&mut self) -> Vec<$crate::option_table::Adjustment> {
                #[allow(unused_mut)]
                let mut adjusted = Vec::new();
                $(
                let name = $crate::option_table!(@name $field $($file_name)?);
                let _ = name;
                $(
                    let range: std::ops::RangeInclusive<$ty> = $range;
                    if let Some(nearest) = $crate::option_table::nearer_end(&self.$field, &range) {
                        let text = <$ty as $crate::option_table::OptionValue>::format_option;
                        let used: $ty = $crate::option_table!(@instead nearest $($instead)?);
                        let bound = format!("out of {range:?}");
                        let (value, new) = (text(&self.$field), text(&used));
                        adjusted.push($crate::option_table::Adjustment::new(name, value, bound, new));
                        self.$field = used;
                    }
                )?)*
                adjusted
            }
        }
    };
    (@instead $nearest:ident $instead:expr) => {{ let _ = $nearest; $instead }};
    (@instead $nearest:ident) => { $nearest };
    (@name $field:ident $file_name:literal) => { $file_name };
    (@name $field:ident) => { stringify!($field) };
}

/// An enum with the texts it has in an OPTIONS file.
///
/// ```
/// ferrock_base::option_enum! {
///     /// How to pick.
///     pub enum Pick {
///         /// By size.
///         Size = "kBySize",
///         /// By age.
///         Age = "kByAge",
///     }
/// }
/// use ferrock_base::option_table::OptionValue;
/// assert_eq!(Pick::parse_option("kByAge"), Some(Pick::Age));
/// ```
#[macro_export]
macro_rules! option_enum {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $( $(#[$variant_attribute:meta])* $variant:ident = $text:literal ),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $visibility enum $name {
            $( $(#[$variant_attribute])* $variant, )+
        }

        impl $name {
            /// Every value with its text.
            pub const ALL: &'static [(Self, &'static str)] = &[ $( (Self::$variant, $text), )+ ];
        }

        impl $crate::option_table::OptionValue for $name {
            fn parse_option(text: &str) -> Option<Self> {
                let text = text.trim();
                Self::ALL.iter().find(|(_, name)| *name == text).map(|(value, _)| *value)
            }
            fn format_option(&self) -> String {
                match self { $( Self::$variant => $text.to_owned(), )+ }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    option_table! {
        /// For the tests.
        pub struct Sample {
            /// A count.
            mutable count: u32 = 4, 1..=10;
            /// A list.
            fixed levels: Vec<u64> = vec![1, 2];
            /// An option that RocksDB does not have.
            own_mutable depth: f64 = 0.5, 0.0..=1.0;
            /// A percentage.
            fixed percent: i32 = 10, 0..=100 => 7;
            /// An option with another name in the file.
            fixed wal_limit as "WAL_size_limit_MB": u64 = 0;
        }
    }

    #[test]
    fn a_table_is_all_there_is_to_declare() {
        let mut sample = Sample::default();
        assert!(sample.set("levels", "3:4:5").unwrap());
        assert_eq!(sample.get("levels").unwrap(), "3:4:5");
        assert!(sample.set("WAL_size_limit_MB", "1k").unwrap());
        assert!(!sample.set("wal_limit", "1").unwrap());
        assert_eq!(sample.wal_limit, 1024);
        sample.count = 11;
        sample.depth = 2.0;
        assert_eq!(sample.violations().len(), 2);
        assert_eq!(Sample::TABLE[0].bounds, "1..=10");
        assert!(Sample::TABLE[2].flags.is_own && Sample::TABLE[2].flags.is_mutable);
        assert_eq!((Sample::TABLE[2].default_text)(), "0.500000");
        assert!(sample.set("count", "-1").is_err());
    }

    #[test]
    fn values_out_of_bounds_are_brought_to_the_nearest_good_one() {
        let mut sample = Sample { count: 0, depth: 2.0, percent: 101, ..Sample::default() };
        let notes: Vec<String> = sample.bring_into_bounds().iter().map(ToString::to_string).collect();
        let expected = [
            "count = 0 is out of 1..=10; 1 is used",
            "depth = 2.000000 is out of 0.0..=1.0; 1.000000 is used",
            "percent = 101 is out of 0..=100; 7 is used",
        ];
        assert_eq!(notes, expected);
        assert_eq!((sample.count, sample.depth, sample.percent), (1, 1.0, 7));
        assert!(sample.violations().is_empty() && sample.bring_into_bounds().is_empty());
        sample.depth = f64::NAN;
        assert!(sample.bring_into_bounds().is_empty(), "there is no nearest");
        assert_eq!(sample.violations().len(), 1);
    }

    #[test]
    fn integers_take_binary_suffixes() {
        assert_eq!(parse_integer("64m"), Some(64 << 20));
        assert_eq!(parse_integer("64MB"), Some(64 << 20));
        assert_eq!(parse_integer("3Gb"), Some(3 << 30));
        assert_eq!(parse_integer("2TB"), Some(2 << 40));
        assert_eq!(parse_integer("100B"), Some(100));
        assert_eq!((parse_integer("B"), parse_integer("MB"), parse_integer("64BB")), (None, None, None));
        assert_eq!(parse_integer("18446744073709551615"), Some(i128::from(u64::MAX)));
        assert_eq!(parse_integer(""), None);
        assert_eq!(u64::parse_option("18446744073709551615k"), None);
    }
}
