//! Values of options that have no effect (yet): kept, so that a getter tells what was set.
//!
//! `kept_options!` declares a setter and a getter per line. A `hint` only says how, not what, and every value of it is
//! accepted; any other value than the default makes the functions that take the options report `Not implemented`.

use ferrock::{Error, Result};
use std::collections::BTreeMap;

/// What was set, by option.
#[derive(Clone, Default)]
pub(crate) struct Kept {
    values: BTreeMap<&'static str, Value>,
}

#[derive(Clone)]
struct Value {
    bits: u64,
    /// The value as text, if it needs what is not built.
    asks: Option<String>,
}

impl Kept {
    /// Nothing was set.
    pub(crate) const fn new() -> Self {
        Self { values: BTreeMap::new() }
    }

    /// Notes a value, not a number, that needs what is not built; `None` takes the note back.
    pub(crate) fn ask(&mut self, option: &'static str, asks: Option<&str>) {
        match asks {
            Some(text) => self.values.insert(option, Value { bits: 1, asks: Some(text.to_owned()) }),
            None => self.values.remove(option),
        };
    }

    /// Keeps a value.
    pub(crate) fn set<T: Bits>(&mut self, option: &'static str, value: T, default: T, is_hint: bool) {
        if value.to_bits() == default.to_bits() {
            self.values.remove(option);
            return;
        }
        let asks = (!is_hint).then(|| value.to_text());
        self.values.insert(option, Value { bits: value.to_bits(), asks });
    }

    /// The value that was set last, or the default.
    pub(crate) fn get<T: Bits>(&self, option: &'static str, default: T) -> T {
        self.values.get(option).map_or(default, |value| T::from_bits(value.bits))
    }

    /// # Errors
    /// `Not implemented`, naming the first value that needs what is not built.
    #[inline(always)]
    pub(crate) fn check(&self) -> Result<()> {
        // Every read and write asks; hardly any options have such a value.
        if self.values.is_empty() { Ok(()) } else { self.check_values() }
    }

    #[cold]
    fn check_values(&self) -> Result<()> {
        let mut asking = self.values.iter().filter_map(|(option, value)| Some((option, value.asks.as_ref()?)));
        match asking.next() {
            Some((option, text)) => Err(Error::not_supported(format!("{option} = {text} is not built yet"))),
            None => Ok(()),
        }
    }
}

/// A number of C as bits.
pub(crate) trait Bits: Copy {
    /// The number as 64 bits.
    fn to_bits(self) -> u64;
    /// The number of these bits.
    fn from_bits(bits: u64) -> Self;
    /// The number as text.
    fn to_text(self) -> String;
}

macro_rules! bits {
    ($($ty:ty),*) => {$(
        impl Bits for $ty {
            fn to_bits(self) -> u64 {
                self as u64
            }
            fn from_bits(bits: u64) -> Self {
                bits as $ty
            }
            fn to_text(self) -> String {
                self.to_string()
            }
        }
    )*};
}
bits!(u8, i32, u32, i64, u64, usize);

impl Bits for f64 {
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    fn from_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    fn to_text(self) -> String {
        self.to_string()
    }
}

/// A handle of options that keeps values.
pub(crate) trait HasKept {
    /// The values.
    fn kept(&self) -> &Kept;
    /// The values, to change.
    fn kept_mut(&mut self) -> &mut Kept;
}

/// Setters and getters of kept values, a pair a line: `option: type = default, setter / getter;`. `-` is a function
/// that RocksDB does not have.
macro_rules! kept_options {
    (for $handle:ty: $( $kind:ident $option:ident : $ty:ty = $default:expr, $set:tt / $get:tt ; )*) => {$(
        $crate::kept::kept_setter!($kind $handle, $option, $ty, $default, $set);
        $crate::kept::kept_getter!($handle, $option, $ty, $default, $get);
    )*};
}
pub(crate) use kept_options;

macro_rules! kept_setter {
    ($kind:ident $handle:ty, $option:ident, $ty:ty, $default:expr, -) => {};
    ($kind:ident $handle:ty, $option:ident, $ty:ty, $default:expr, $set:ident) => {
        c_functions! {
            #[doc = "Keeps a value of an option that has no effect here."]
            fn $set(options: *mut $handle, value: $ty) {
                // SAFETY: the contract.
                if let Some(options) = unsafe { options.as_mut() } {
                    let kept = $crate::kept::HasKept::kept_mut(options);
                    kept.set(stringify!($option), value, $default, $crate::kept::is_hint!($kind));
                }
            }
        }
    };
}
pub(crate) use kept_setter;

macro_rules! kept_getter {
    ($handle:ty, $option:ident, $ty:ty, $default:expr, -) => {};
    ($handle:ty, $option:ident, $ty:ty, $default:expr, $get:ident) => {
        c_functions! {
            #[doc = "What such an option was set to."]
            fn $get(options: *mut $handle) -> $ty {
                // SAFETY: the contract.
                let options = unsafe { options.as_ref() };
                let kept = options.map(|options| $crate::kept::HasKept::kept(options));
                kept.map_or_else(Default::default, |kept| kept.get(stringify!($option), $default))
            }
        }
    };
}
pub(crate) use kept_getter;

macro_rules! is_hint {
    (hint) => {
        true
    };
    (asks) => {
        false
    };
}
pub(crate) use is_hint;
