//! Functions of RocksDB's C interface whose feature is not built yet: they link, and say so when they are called.
//!
//! Each file has one group of them, declared in one table. What a function does follows from the kind behind its
//! signature:
//!
//! | kind | the function |
//! |---|---|
//! | `error` | reports `Not implemented: NAME` through `errptr`, which the table adds as the last parameter; out-parameters in parentheses become null or 0 |
//! | `handle` | gives a handle of its type, which nothing works with: every function with an `errptr` that takes it reports an error, and an open with it is refused. A callback's state in parentheses is kept until the handle goes |
//! | `destroy` | ends such a handle |
//! | `refuse` | a setter of options: the next open with them reports the function's name. A null handle sets the default and is not refused; handles in parentheses are handed over, and end here |
//! | `refuse_values` | the same for options of an unbuilt feature: at their defaults they are not refused |
//! | `each` | one error for each key: of a count, the array of errors, and arrays that become null or 0 |
//! | `ends` | does nothing, and ends the handle in parentheses, which is handed over |
//! | `batch` | adds to a batch: writing the batch reports the function's name |
//! | `neutral` | does nothing, and gives null, zero or nothing |
//!
//! Options of such features keep what they are set to (`kept_options!` in `kept.rs`).
//! A function that gets built moves out of its table; a test compares the tables with the list of all functions.

mod collectors;
mod compaction_service;
mod indexed_batch;
mod options;
mod other;
mod timestamps;
mod trace;
mod transactions;
mod wal;

use crate::callback::State;
use crate::handle::give;
use crate::kept::Kept;
use ferrock::Error;

/// The error of a function that is not built.
#[cold]
pub(crate) fn error(function: &str) -> Error {
    Error::not_supported(format!("{function} is not built yet"))
}

/// What a handle of an unbuilt type holds: the values of its options, and the state of its callbacks.
#[derive(Default)]
pub(crate) struct Unbuilt {
    pub(crate) kept: Kept,
    _state: Option<State>,
}

/// Types that functions give although nothing works with them.
pub(crate) trait NotBuilt: Sized {
    /// What `function` gives.
    fn not_built(function: &'static str, state: Option<State>) -> Self;
}

/// A handle as a function gives it.
pub(crate) trait Handle {
    /// A new one.
    fn not_built(function: &'static str, state: Option<State>) -> Self;
}

impl<T: NotBuilt> Handle for *mut T {
    fn not_built(function: &'static str, state: Option<State>) -> Self {
        give(T::not_built(function, state))
    }
}

/// Types that only functions of this module use.
macro_rules! unbuilt_types {
    ($($name:ident),* $(,)?) => {$(
        #[doc = concat!("A handle (`", stringify!($name), "`) of what is not built.")]
        pub struct $name(pub(crate) $crate::not_built::Unbuilt);

        impl $crate::not_built::NotBuilt for $name {
            fn not_built(_function: &'static str, state: Option<$crate::callback::State>) -> Self {
                Self($crate::not_built::Unbuilt::new(state))
            }
        }

        impl $crate::kept::HasKept for $name {
            fn kept(&self) -> &$crate::kept::Kept {
                &self.0.kept
            }
            fn kept_mut(&mut self) -> &mut $crate::kept::Kept {
                &mut self.0.kept
            }
        }
    )*};
}
pub(crate) use unbuilt_types;

impl Unbuilt {
    pub(crate) fn new(state: Option<State>) -> Self {
        Self { kept: Kept::default(), _state: state }
    }
}

/// A table of functions; see the head of this module.
macro_rules! not_built {
    ($( fn $name:ident ( $($arg:ident : $ty:ty),* $(,)? ) $(-> $ret:ty)? = $kind:ident $( ( $($detail:tt),* ) )? ; )*) => {$(
        $crate::not_built::not_built_function!(
            $kind ( $($($detail),*)? ) $name ( $($arg : $ty),* ) ( $($ret)? )
        );
    )*};
}
pub(crate) use not_built;

/// One function of a table.
macro_rules! not_built_function {
    (error ( $($out:ident),* ) $name:ident ( $($arg:ident : $ty:ty),* ) ( $($ret:ty)? )) => {
        #[doc = concat!("`", stringify!($name), "`: not built.")]
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the signature is RocksDB's")]
        pub unsafe extern "C" fn $name($($arg: $ty,)* errptr: *mut *mut std::ffi::c_char) $(-> $ret)? {
            let outcome = $crate::error::catch(|| -> ferrock::Result<return_type!($($ret)?)> {
                $( let _ = $arg; )*
                // SAFETY: the contract: out-parameters are null or can be written.
                $( unsafe { $crate::not_built::clear($out) }; )*
                Err($crate::not_built::error(stringify!($name)))
            });
            // SAFETY: the contract about `errptr`.
            unsafe { $crate::error::settle(errptr, outcome) }
        }
    };
    (handle () $name:ident ( $($arg:ident : $ty:ty),* ) ( $ret:ty )) => {
        #[doc = concat!("`", stringify!($name), "`: a handle of what is not built.")]
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the signature is RocksDB's")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            $crate::error::guard(|| {
                $( let _ = $arg; )*
                <$ret as $crate::not_built::Handle>::not_built(stringify!($name), None)
            })
        }
    };
    (handle ( $state:ident, $destructor:ident ) $name:ident ( $($arg:ident : $ty:ty),* ) ( $ret:ty )) => {
        #[doc = concat!("`", stringify!($name), "`: a handle of what is not built.")]
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the signature is RocksDB's")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            $crate::error::guard(|| {
                $( let _ = $arg; )*
                let state = $crate::callback::State::new($state, $destructor);
                <$ret as $crate::not_built::Handle>::not_built(stringify!($name), Some(state))
            })
        }
    };
    (handle ( $taken:ident ) $name:ident ( $($arg:ident : $ty:ty),* ) ( $ret:ty )) => {
        #[doc = concat!("`", stringify!($name), "`: a handle of what is not built, in place of one that is handed over.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            $crate::error::guard(|| {
                $( let _ = $arg; )*
                // SAFETY: the contract: the handle is handed over.
                drop(unsafe { $crate::handle::take($taken) });
                <$ret as $crate::not_built::Handle>::not_built(stringify!($name), None)
            })
        }
    };
    (destroy () $name:ident ( $arg:ident : $ty:ty ) ()) => {
        #[doc = concat!("`", stringify!($name), "`: ends a handle of what is not built.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($arg: $ty) {
            $crate::error::guard(|| {
                // SAFETY: the contract: the handle is one of its kind, and this is its end.
                unsafe { $crate::not_built::end($arg) };
            });
        }
    };
    (refuse ( $($detail:tt),* ) $name:ident ( $options:ident : $options_ty:ty $(, $arg:ident : $ty:ty)* ) ()) => {
        #[doc = concat!("`", stringify!($name), "`: not built; the open refuses it.")]
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the signature is RocksDB's")]
        pub unsafe extern "C" fn $name($options: $options_ty $(, $arg: $ty)*) {
            $crate::error::guard(|| {
                let is_default = false $( || $crate::not_built::IsNull::is_null(&$arg) )*;
                // SAFETY: the contract.
                if let Some(options) = unsafe { $options.as_mut() } {
                    let outcome = if is_default { Ok(()) } else { Err($crate::not_built::error(stringify!($name))) };
                    options.refused.note(stringify!($name), outcome);
                }
                $(
                    // SAFETY: the contract: the handle is handed over.
                    drop(unsafe { $crate::handle::take($detail) });
                )*
            });
        }
    };
    (refuse_values () $name:ident ( $options:ident : $options_ty:ty, $values:ident : $ty:ty ) ()) => {
        #[doc = concat!("`", stringify!($name), "`: not built; the open refuses other values than the defaults.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($options: $options_ty, $values: $ty) {
            $crate::error::guard(|| {
                // SAFETY: the contract.
                let (options, values) = unsafe { ($options.as_mut(), $values.as_ref()) };
                if let Some(options) = options {
                    let outcome = values.map_or(Ok(()), |values| $crate::kept::HasKept::kept(values).check());
                    options.refused.note(stringify!($name), outcome);
                }
            });
        }
    };
    (each ( $count:ident, $errors:ident $(, $out:ident)* ) $name:ident ( $($arg:ident : $ty:ty),* ) ()) => {
        #[doc = concat!("`", stringify!($name), "`: not built; every key has an error.")]
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the signature is RocksDB's")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) {
            $crate::error::guard(|| {
                $( let _ = $arg; )*
                let error = $crate::not_built::error(stringify!($name));
                for index in 0..$count {
                    // SAFETY: the contract: the arrays are null or have as many elements.
                    unsafe {
                        $( $crate::not_built::clear($crate::memory::at($out, index)); )*
                        if !$errors.is_null() {
                            $crate::memory::put($errors.wrapping_add(index), $crate::error::text_of(&error));
                        }
                    }
                }
            });
        }
    };
    (ends ( $taken:ident ) $name:ident ( $($arg:ident : $ty:ty),* ) ()) => {
        #[doc = concat!("`", stringify!($name), "`: not built; ends what is handed over.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) {
            $crate::error::guard(|| {
                $( let _ = $arg; )*
                // SAFETY: the contract: the handle is handed over.
                unsafe { $crate::not_built::end($taken) };
            });
        }
    };
    (batch () $name:ident ( $batch:ident : $batch_ty:ty $(, $arg:ident : $ty:ty)* ) ()) => {
        #[doc = concat!("`", stringify!($name), "`: not built; writing the batch reports it.")]
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the signature is RocksDB's")]
        pub unsafe extern "C" fn $name($batch: $batch_ty $(, $arg: $ty)*) {
            $crate::error::guard(|| {
                $( let _ = $arg; )*
                // SAFETY: the contract.
                if let Some(batch) = unsafe { $batch.as_mut() } {
                    batch.fail($crate::not_built::error(stringify!($name)));
                }
            });
        }
    };
    (neutral () $name:ident ( $($arg:ident : $ty:ty),* ) ( $($ret:ty)? )) => {
        #[doc = concat!("`", stringify!($name), "`: not built; nothing happens.")]
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the signature is RocksDB's")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
            $( let _ = $arg; )*
            <return_type!($($ret)?) as $crate::error::Neutral>::NEUTRAL
        }
    };
    (neutral ( $($out:ident),+ ) $name:ident ( $($arg:ident : $ty:ty),* ) ( $($ret:ty)? )) => {
        #[doc = concat!("`", stringify!($name), "`: not built; nothing happens.")]
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the signature is RocksDB's")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
            $( let _ = $arg; )*
            // SAFETY: the contract: out-parameters are null or can be written.
            $( unsafe { $crate::not_built::clear($out) }; )+
            <return_type!($($ret)?) as $crate::error::Neutral>::NEUTRAL
        }
    };
}
pub(crate) use not_built_function;

/// Ends a handle.
///
/// # Safety
/// The contract: the handle is one of its kind, and this is its end.
pub(crate) unsafe fn end<T>(handle: *const T) {
    // SAFETY: as for this function.
    drop(unsafe { crate::handle::take(handle.cast_mut()) });
}

/// Makes an out-parameter null or 0.
///
/// # Safety
/// `place` is null or can be written.
pub(crate) unsafe fn clear<T: crate::error::Neutral>(place: *mut T) {
    // SAFETY: as for this function.
    unsafe { crate::memory::put(place, T::NEUTRAL) };
}

/// Whether an argument stands for nothing.
pub(crate) trait IsNull {
    /// True for a null pointer alone.
    fn is_null(&self) -> bool;
}

impl<T> IsNull for *mut T {
    fn is_null(&self) -> bool {
        (*self).is_null()
    }
}

impl<T> IsNull for *const T {
    fn is_null(&self) -> bool {
        (*self).is_null()
    }
}

macro_rules! never_null {
    ($($ty:ty),*) => {$(
        impl IsNull for $ty {
            fn is_null(&self) -> bool {
                false
            }
        }
    )*};
}
never_null!(u8, i8, i32, u32, u64, usize, f64);
