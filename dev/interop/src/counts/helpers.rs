//! What the helpers that set many options at once leave behind, as all getters of options tell it.
//!
//! ```text
//! headers ---> every rocksdb_options_get_NAME that gives a number, with its type
//! fresh options ---> a helper ---> all getters ---> {"increase_parallelism(16)": {"max_background_jobs": "16", ..}}
//! ```

use crate::engine::Outcome;
use ferrock_c_library::Object;
use serde_json::{Value, json};
use std::ffi::{c_int, c_uchar, c_uint};
use std::path::Path;

/// The headers, whose types are those of RocksDB's c.h.
const HEADERS: [&str; 3] = [
    include_str!("../../../../crates/capi/include/ferrock/c.h"),
    include_str!("../../../../crates/capi/include/ferrock/c/options.h"),
    include_str!("../../../../crates/capi/include/ferrock/c/other.h"),
];
const PREFIX: &str = "rocksdb_options_get_";
/// Getters at least that the headers have.
const LEAST_GETTERS: usize = 150;

/// A helper, with what it is given.
enum Helper {
    None,
    Alone,
    Int(c_int),
    Wide(u64),
}

const HELPERS: &[(&str, Helper)] = &[
    ("", Helper::None),
    ("increase_parallelism", Helper::Int(0)),
    ("increase_parallelism", Helper::Int(1)),
    ("increase_parallelism", Helper::Int(16)),
    ("optimize_for_point_lookup", Helper::Wide(0)),
    ("optimize_for_point_lookup", Helper::Wide(8)),
    ("optimize_level_style_compaction", Helper::Wide(1000)),
    ("optimize_level_style_compaction", Helper::Wide(512 << 20)),
    ("optimize_universal_style_compaction", Helper::Wide(1000)),
    ("optimize_universal_style_compaction", Helper::Wide(512 << 20)),
    ("prepare_for_bulk_load", Helper::Alone),
];

/// Type and name of each getter that takes options and gives a number.
fn getters() -> Vec<(String, String)> {
    let text = HEADERS.concat().split_whitespace().collect::<Vec<_>>().join(" ");
    let mut getters = Vec::new();
    for statement in text.split(';') {
        let Some((before, rest)) = statement.split_once(PREFIX) else { continue };
        let Some((name, arguments)) = rest.split_once('(') else { continue };
        // The type is what stands behind the end of a comment or of another declaration.
        let kind = before.rsplit(['/', '{', '}']).next().unwrap_or_default().trim();
        if !arguments.contains(',') && !kind.contains('*') {
            getters.push((kind.to_owned(), name.to_owned()));
        }
    }
    getters.sort();
    getters.dedup();
    getters
}

/// Calls a getter.
///
/// # Safety
/// The options are live, and the type is that of c.h.
unsafe fn get(library: &libloading::Library, options: Object, kind: &str, name: &str) -> Outcome<String> {
    let symbol = format!("{PREFIX}{name}\0");
    macro_rules! asked {
        ($type:ty) => {{
            // SAFETY: as for this function.
            let found = unsafe { library.get::<unsafe extern "C" fn(Object) -> $type>(symbol.as_bytes()) };
            // SAFETY: as for this function.
            unsafe { found.map_err(|error| error.to_string())?(options) }.to_string()
        }};
    }
    Ok(match kind {
        "int" => asked!(c_int),
        "unsigned int" => asked!(c_uint),
        "uint32_t" => asked!(u32),
        "uint64_t" => asked!(u64),
        "int64_t" => asked!(i64),
        "size_t" => asked!(usize),
        "unsigned char" | "uint8_t" => asked!(c_uchar),
        "double" => asked!(f64),
        other => return Err(format!("{PREFIX}{name} gives a {other}, which this rig does not know")),
    })
}

/// What one library says.
pub fn play(library: &Path) -> Outcome<Value> {
    // SAFETY: it is loaded already, so that nothing is initialised.
    let library = unsafe { libloading::Library::new(library) }.map_err(|error| error.to_string())?;
    let getters = getters();
    if getters.len() < LEAST_GETTERS {
        return Err(format!("the headers have {} getters of options, fewer than {LEAST_GETTERS}", getters.len()));
    }
    let mut said = serde_json::Map::new();
    for (name, helper) in HELPERS {
        // SAFETY: the types are those of c.h; options are made, changed, asked and ended, in this order.
        unsafe {
            let find = |name: &str| format!("rocksdb_options_{name}\0");
            let text = |error: libloading::Error| error.to_string();
            let create: unsafe extern "C" fn() -> Object = *library.get(find("create").as_bytes()).map_err(text)?;
            let destroy: unsafe extern "C" fn(Object) = *library.get(find("destroy").as_bytes()).map_err(text)?;
            let options = create();
            let symbol = find(name);
            let title = match *helper {
                Helper::None => "no helper".to_owned(),
                Helper::Alone => {
                    library.get::<unsafe extern "C" fn(Object)>(symbol.as_bytes()).map_err(text)?(options);
                    (*name).to_owned()
                }
                Helper::Int(number) => {
                    library.get::<unsafe extern "C" fn(Object, c_int)>(symbol.as_bytes()).map_err(text)?(
                        options, number,
                    );
                    format!("{name}({number})")
                }
                Helper::Wide(number) => {
                    library.get::<unsafe extern "C" fn(Object, u64)>(symbol.as_bytes()).map_err(text)?(options, number);
                    format!("{name}({number})")
                }
            };
            let values: Outcome<serde_json::Map<String, Value>> = getters
                .iter()
                .map(|(kind, getter)| Ok((getter.clone(), json!(get(&library, options, kind, getter)?))))
                .collect();
            destroy(options);
            said.insert(title, Value::Object(values?));
        }
    }
    Ok(Value::Object(said))
}

/// Where the getters differ.
pub fn difference(theirs: &Value, ours: &Value) -> Option<String> {
    let mut differences = Vec::new();
    for (helper, values) in theirs.as_object().into_iter().flatten() {
        for (getter, value) in values.as_object().into_iter().flatten() {
            let other = &ours[helper][getter];
            if value != other {
                differences.push(format!("{getter} behind {helper}: RocksDB {value}, Ferrock {other}"));
            }
        }
    }
    (!differences.is_empty()).then(|| format!("helpers set different options:\n  {}", differences.join("\n  ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn getters_are_found_with_their_types() {
        let getters = getters();
        assert!(getters.len() >= LEAST_GETTERS, "{}", getters.len());
        for (kind, name) in
            [("int", "max_background_jobs"), ("size_t", "write_buffer_size"), ("double", "blob_gc_age_cutoff")]
        {
            assert!(getters.contains(&(kind.to_owned(), name.to_owned())), "{name}");
        }
    }

    #[test]
    fn a_difference_is_named() {
        let said = |number: &str| json!({"no helper": {"a": "1", "b": number}});
        assert_eq!(difference(&said("2"), &said("2")), None);
        assert!(difference(&said("2"), &said("3")).unwrap().contains("b behind no helper"));
    }
}
