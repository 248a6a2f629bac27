//! The functions of a library that only the answers need, found by name at run time.

use crate::answers::script::{Kind, Setter};
use ferrock_c_library::{ErrorSlot, Functions, Object, c_text};
use std::ffi::{c_char, c_int, c_uchar, c_uint};
use std::path::Path;

type Write3 = unsafe extern "C" fn(Object, Object, Object, *const c_char, usize, *const c_char, usize, ErrorSlot);

macro_rules! functions {
    ($($name:ident: $type:ty;)*) => {
        /// Named as in RocksDB's `c.h`, without the prefix.
        #[allow(missing_docs, reason = "named and documented in RocksDB's c.h")]
        pub struct More {
            library: libloading::Library,
            $(pub $name: $type,)*
        }

        impl More {
            fn find(library: libloading::Library) -> Result<Self, String> {
                $(
                    let symbol = concat!("rocksdb_", stringify!($name), "\0");
                    // SAFETY: the type is the one that RocksDB's c.h declares for this name, and `Self` holds the
                    // library.
                    let $name: $type = *unsafe { library.get::<$type>(symbol.as_bytes()) }
                        .map_err(|error| error.to_string())?;
                )*
                Ok(Self { library, $($name,)* })
            }
        }
    };
}

functions! {
    list_column_families: unsafe extern "C" fn(Object, *const c_char, *mut usize, ErrorSlot) -> *mut *mut c_char;
    list_column_families_destroy: unsafe extern "C" fn(*mut *mut c_char, usize);
    create_column_family: unsafe extern "C" fn(Object, Object, *const c_char, ErrorSlot) -> Object;
    drop_column_family: unsafe extern "C" fn(Object, Object, ErrorSlot);
    column_family_handle_get_id: unsafe extern "C" fn(Object) -> u32;
    column_family_handle_get_name: unsafe extern "C" fn(Object, *mut usize) -> *mut c_char;
    destroy_db: unsafe extern "C" fn(Object, *const c_char, ErrorSlot);
    put_cf: Write3;
    merge_cf: Write3;
    delete_range_cf: Write3;
    delete_cf: unsafe extern "C" fn(Object, Object, Object, *const c_char, usize, ErrorSlot);
    get_cf: unsafe extern "C" fn(Object, Object, Object, *const c_char, usize, *mut usize, ErrorSlot) -> *mut c_char;
    writebatch_count: unsafe extern "C" fn(Object) -> c_int;
    writebatch_data: unsafe extern "C" fn(Object, *mut usize) -> *const c_char;
    property_int_cf: unsafe extern "C" fn(Object, Object, *const c_char, *mut u64) -> c_int;
    get_latest_sequence_number: unsafe extern "C" fn(Object) -> u64;
    set_options_cf: unsafe extern "C" fn(Object, Object, c_int, *const *const c_char, *const *const c_char, ErrorSlot);
    set_db_options: unsafe extern "C" fn(Object, c_int, *const *const c_char, *const *const c_char, ErrorSlot);
}

macro_rules! by_kind {
    ($self:ident, $setter:ident, $options:ident, $number:ident: $($kind:ident = $type:ty),*) => {
        match $setter.kind {
            $(Kind::$kind => {
                // SAFETY: `SETTERS` gives each option the type that c.h declares; the options are live.
                unsafe {
                    let set: unsafe extern "C" fn(Object, $type) = $self.find_named("set", $setter.name)?;
                    let get: unsafe extern "C" fn(Object) -> $type = $self.find_named("get", $setter.name)?;
                    set($options, $number as $type);
                    get($options).to_string()
                }
            })*
        }
    };
}

impl More {
    /// The same library once more: the system counts how often it is loaded.
    pub fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: it is loaded already, so that nothing is initialised.
        let library = unsafe { libloading::Library::new(path) };
        Self::find(library.map_err(|error| format!("cannot load {}: {error}", path.display()))?)
    }

    /// # Safety
    /// `T` is the type of the function in RocksDB's c.h.
    unsafe fn find_named<T: Copy>(&self, verb: &str, option: &str) -> Result<T, String> {
        let symbol = format!("rocksdb_options_{verb}_{option}\0");
        // SAFETY: as for this function.
        let found = unsafe { self.library.get::<T>(symbol.as_bytes()) };
        found.map(|function| *function).map_err(|error| error.to_string())
    }

    /// Sets an option and says what its getter gives then.
    pub fn set(&self, options: Object, setter: &Setter, number: f64) -> Result<String, String> {
        Ok(
            by_kind!(self, setter, options, number: Int = c_int, Unsigned = c_uint, Size = usize, Wide = u64, Real = f64,
            Flag = c_uchar),
        )
    }
}

/// Sets options from a text: a copy of `base`, changed.
pub fn changed(f: &Functions, base: Object, into: Object, text: &str) -> Result<(), String> {
    let text = c_text(text)?;
    // SAFETY: both are options, and the text ends with a zero.
    f.checked(|error| unsafe { (f.get_options_from_string)(base, text.as_ptr(), into, error) })
}
