//! The benchmark `ferrock fast-forward` on RocksDB: its driver, the same files, the same checks of rows.
//!
//! Requests and bytes are those of /proc/self/io, hits and misses RocksDB's own tickers. RocksDB keeps data out of its
//! cache only together with the index, so between the runs the partitions of the index that the last one used are read
//! again, unmeasured.

use crate::c_engine::made;
use ferrock_bench::fast_forward::{
    Bounds, CacheCounters, ClassCounters, Counters, Cursor, Database, Engine, Key, Opening, Visit,
};
use ferrock_c_library::{Functions, Object, Owned, borrowed, c_text, chars};
use ferrock_console::failure::{Failure, Result};
use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::null_mut;

/// Tickers without histograms and timers.
const TICKERS_ONLY: c_int = 1;
/// Everything is kept.
const PIN_ALL: c_int = 3;

/// RocksDB in a library.
pub struct RocksDb {
    functions: &'static Functions,
    name: String,
}

impl RocksDb {
    /// Loads the library; `name` is what the results are called after.
    pub fn load(path: &Path, name: &str) -> std::result::Result<Self, String> {
        Ok(Self { functions: Functions::load(path)?, name: name.to_owned() })
    }
}

fn not_done(message: String) -> Failure {
    Failure::NotDone(message)
}

fn needed<T>(function: Option<T>, name: &str) -> Result<T> {
    function.ok_or_else(|| not_done(format!("the library has no rocksdb_{name}")))
}

impl Engine for RocksDb {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn open(&self, directory: &Path, how: &Opening) -> Result<Box<dyn Database>> {
        let f = self.functions;
        let process = Process::new()?;
        let before = process.counters()?;
        let options = made(f.options_create, f.options_destroy);
        // SAFETY: a cache, and the function that ends caches.
        let cache = unsafe { Owned::new((f.cache_create_lru)(how.cache_bytes), f.cache_destroy) };
        let text =
            format!("prefix_extractor=fixed:{};use_direct_reads={};max_open_files=-1", how.prefix_bytes, how.direct);
        let opened = made(f.options_create, f.options_destroy);
        let c = c_text(&text).map_err(not_done)?;
        // SAFETY: both are options, the text ends with a zero.
        f.checked(|error| unsafe { (f.get_options_from_string)(options.object(), c.as_ptr(), opened.object(), error) })
            .map_err(not_done)?;
        set_table_options(f, opened.object(), cache.object())?;
        let (path, name) = (directory.to_str().unwrap_or_default(), c_text("default").map_err(not_done)?);
        let path = c_text(path).map_err(not_done)?;
        let (names, families, mut handle) = ([name.as_ptr()], [opened.object()], null_mut());
        // SAFETY: lists of one member each, which outlive the call.
        let db = f.checked(|error| unsafe {
            let (names, families) = (names.as_ptr(), families.as_ptr());
            (f.open_for_read_only_column_families)(
                opened.object(),
                path.as_ptr(),
                1,
                names,
                families,
                &mut handle,
                0,
                error,
            )
        });
        let db = db.map_err(not_done)?;
        Ok(Box::new(RocksDatabase {
            functions: f,
            db,
            family: handle,
            options: opened,
            cache,
            how: *how,
            process,
            before,
        }))
    }
}

fn set_table_options(f: &Functions, options: Object, cache: Object) -> Result<()> {
    let create = needed(f.block_based_options_create, "block_based_options_create")?;
    let destroy = needed(f.block_based_options_destroy, "block_based_options_destroy")?;
    let set_cache = needed(f.block_based_options_set_block_cache, "block_based_options_set_block_cache")?;
    let set_filter = needed(f.block_based_options_set_filter_policy, "block_based_options_set_filter_policy")?;
    let bloom = needed(f.filterpolicy_create_bloom_full, "filterpolicy_create_bloom_full")?;
    let cached = needed(f.block_based_options_set_cache_index_and_filter_blocks, "..._cache_index_and_filter_blocks")?;
    let pin_top =
        needed(f.block_based_options_set_pin_top_level_index_and_filter, "..._pin_top_level_index_and_filter")?;
    let pin_whole = needed(f.block_based_options_set_unpartitioned_pinning_tier, "..._unpartitioned_pinning_tier")?;
    let set_factory = needed(f.options_set_block_based_table_factory, "options_set_block_based_table_factory")?;
    let enable = needed(f.options_enable_statistics, "options_enable_statistics")?;
    let set_level = needed(f.options_set_statistics_level, "options_set_statistics_level")?;
    let table = made(create, destroy);
    // SAFETY: options and cache exist; the table options take over the filter policy, and the options copy them.
    unsafe {
        set_cache(table.object(), cache);
        set_filter(table.object(), bloom(10.0));
        cached(table.object(), 1);
        pin_top(table.object(), 1);
        pin_whole(table.object(), PIN_ALL);
        set_factory(options, table.object());
        enable(options);
        set_level(options, TICKERS_ONLY);
    }
    Ok(())
}

/// What the system counted of this process, without the calls that asking takes.
struct Process {
    file: File,
    asked: Cell<u64>,
}

impl Process {
    fn new() -> Result<Self> {
        let file = File::open("/proc/self/io").map_err(|error| not_done(format!("/proc/self/io: {error}")))?;
        Ok(Self { file, asked: Cell::new(0) })
    }

    fn counters(&self) -> Result<ClassCounters> {
        let mut text = [0; 512];
        let length = self.file.read_at(&mut text, 0).map_err(|error| not_done(format!("/proc/self/io: {error}")))?;
        // The file tells of the calls before this one.
        let asked = self.asked.replace(self.asked.get() + 1);
        let text = String::from_utf8_lossy(&text[..length]).into_owned();
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
            value.ok_or_else(|| not_done(format!("/proc/self/io has no {name}")))
        };
        Ok(ClassCounters { requests: field("syscr:")?.saturating_sub(asked), bytes: field("read_bytes:")? })
    }
}

struct RocksDatabase {
    functions: &'static Functions,
    db: Object,
    family: Object,
    options: Owned,
    cache: Owned,
    how: Opening,
    process: Process,
    before: ClassCounters,
}

impl Drop for RocksDatabase {
    fn drop(&mut self) {
        let f = self.functions;
        // SAFETY: the family is of this database; both are given back once, and cursors borrow the database.
        unsafe {
            (f.column_family_handle_destroy)(self.family);
            (f.close)(self.db);
        }
    }
}

impl RocksDatabase {
    fn read_options(&self) -> Result<Owned> {
        let f = self.functions;
        let set_fill = needed(f.readoptions_set_fill_cache, "readoptions_set_fill_cache")?;
        let options = made(f.readoptions_create, f.readoptions_destroy);
        // SAFETY: options that exist.
        unsafe {
            set_fill(options.object(), self.how.caches_data.into());
            (f.readoptions_set_total_order_seek)(options.object(), 1);
        }
        Ok(options)
    }

    fn tickers(&self) -> Result<String> {
        let get = needed(self.functions.options_statistics_get_string, "options_statistics_get_string")?;
        // SAFETY: the options exist and keep statistics.
        let text = unsafe { get(self.options.object()) };
        // SAFETY: a text that the call above allocated for us.
        Ok(if text.is_null() { String::new() } else { unsafe { self.functions.take_text(text) } })
    }
}

fn ticker(text: &str, name: &str) -> u64 {
    let of_line = |line: &str| line.strip_prefix(name)?.strip_prefix(" COUNT : ")?.trim().parse().ok();
    text.lines().find_map(of_line).unwrap_or(0)
}

impl Database for RocksDatabase {
    fn get(&self, key: &[u8], visit: Visit<'_>) -> Result<()> {
        let f = self.functions;
        let options = self.read_options()?;
        // SAFETY: database, family and options exist.
        let found = f.checked(|error| unsafe {
            (f.get_pinned_cf)(self.db, options.object(), self.family, chars(key), key.len(), error)
        });
        let found = found.map_err(not_done)?;
        if found.is_null() {
            return Ok(());
        }
        let mut length = 0;
        // SAFETY: a value that was found; it is given back once, after the last use.
        let value = unsafe { borrowed((f.pinnableslice_value)(found, &mut length), length) };
        let result = visit(key, value);
        // SAFETY: as above.
        unsafe { (f.pinnableslice_destroy)(found) };
        result
    }

    fn cursor(&self, bounds: &Bounds, _limit: Option<u64>) -> Result<Box<dyn Cursor + '_>> {
        let mut cursor = RocksCursor {
            functions: self.functions,
            options: self.read_options()?,
            iter: null_mut(),
            lower: Vec::new(),
            upper: Vec::new(),
            db: self,
        };
        cursor.set_bounds(bounds);
        // SAFETY: database, family and options exist, and outlive the iterator.
        cursor.iter = unsafe { (self.functions.create_iterator_cf)(self.db, cursor.options.object(), self.family) };
        Ok(Box::new(cursor))
    }

    fn ranges(&self, ranges: &mut dyn Iterator<Item = Bounds>, visit: Visit<'_>) -> Result<()> {
        let mut cursor = self.cursor(&Bounds::default(), None)?;
        for bounds in ranges {
            cursor.fast_forward(&bounds)?;
            cursor.read(u64::MAX, visit)?;
        }
        Ok(())
    }

    fn counters(&self) -> Result<Counters> {
        let text = self.tickers()?;
        let of = |class: &str| {
            let ticker = |event: &str| ticker(&text, &format!("rocksdb.block.cache.{class}.{event}"));
            CacheCounters { hits: ticker("hit"), misses: ticker("miss"), inserts: Some(ticker("add")) }
        };
        let total = self.process.counters()?;
        let since = |now: u64, before: u64| now.saturating_sub(before);
        Ok(Counters {
            total: ClassCounters {
                requests: since(total.requests, self.before.requests),
                bytes: since(total.bytes, self.before.bytes),
            },
            index_cache: of("index"),
            filter_cache: of("filter"),
            data_cache: of("data"),
            ..Counters::default()
        })
    }

    fn clear_cache(&self) -> Result<()> {
        let set_capacity = needed(self.functions.cache_set_capacity, "cache_set_capacity")?;
        // SAFETY: the cache exists.
        unsafe {
            set_capacity(self.cache.object(), 0);
            set_capacity(self.cache.object(), self.how.cache_bytes);
        }
        Ok(())
    }

    fn after_run(&self, keys: &mut dyn Iterator<Item = Key>) -> Result<()> {
        if self.how.caches_data {
            return Ok(());
        }
        let f = self.functions;
        let sizes = needed(f.approximate_sizes_cf, "approximate_sizes_cf")?;
        for key in keys {
            let behind = key.successor();
            let (starts, limits) = ([chars(&key)], [chars(&behind)]);
            let (start_lengths, limit_lengths, mut size) = ([key.len()], [behind.len()], 0);
            // SAFETY: lists of one range, and a place for one size.
            f.checked(|error| unsafe {
                let (starts, limits) = (starts.as_ptr(), limits.as_ptr());
                let (from, to) = (start_lengths.as_ptr(), limit_lengths.as_ptr());
                sizes(self.db, self.family, 1, starts, from, limits, to, &mut size, error);
            })
            .map_err(not_done)?;
        }
        Ok(())
    }

    fn request_interface(&self) -> Option<String> {
        None
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// An iterator whose bounds are in its read options, which RocksDB looks at whenever it is positioned.
struct RocksCursor<'a> {
    functions: &'static Functions,
    options: Owned,
    iter: Object,
    lower: Vec<u8>,
    upper: Vec<u8>,
    db: &'a RocksDatabase,
}

impl Drop for RocksCursor<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the library, given back once, before its options.
        unsafe { (self.functions.iter_destroy)(self.iter) };
    }
}

impl RocksCursor<'_> {
    fn set_bounds(&mut self, bounds: &Bounds) {
        let f = self.functions;
        self.lower = bounds.lower.map(|key| key.to_vec()).unwrap_or_default();
        self.upper = bounds.upper.map(|key| key.to_vec()).unwrap_or_default();
        // SAFETY: the options exist; the bytes live in this cursor, as long as the iterator, and change only here,
        // where it is positioned anew afterwards. A null key is no bound.
        unsafe {
            let (lower, upper) = (&self.lower, &self.upper);
            let upper_pointer = if bounds.upper.is_some() { chars(upper) } else { std::ptr::null::<c_char>() };
            (f.readoptions_set_iterate_upper_bound)(self.options.object(), upper_pointer, upper.len());
            let lower_pointer = if bounds.lower.is_some() { chars(lower) } else { std::ptr::null::<c_char>() };
            (f.readoptions_set_iterate_lower_bound)(self.options.object(), lower_pointer, lower.len());
        }
    }

    fn status(&self) -> Result<()> {
        let f = self.functions;
        // SAFETY: the iterator exists.
        f.checked(|error| unsafe { (f.iter_get_error)(self.iter, error) }).map_err(not_done)
    }

    fn show(&mut self, limit: u64, visit: Visit<'_>, step: unsafe extern "C" fn(Object)) -> Result<()> {
        let f = self.functions;
        let mut rows = 0;
        // SAFETY: the iterator exists; key and value are asked for only where it is valid, and used before it moves.
        while rows < limit && unsafe { (f.iter_valid)(self.iter) } != 0 {
            let (mut key_length, mut value_length) = (0, 0);
            // SAFETY: as above.
            let (key, value) = unsafe {
                let (key, value) =
                    ((f.iter_key)(self.iter, &mut key_length), (f.iter_value)(self.iter, &mut value_length));
                (borrowed(key, key_length), borrowed(value, value_length))
            };
            visit(key, value)?;
            rows += 1;
            if rows < limit {
                // SAFETY: as above.
                unsafe { step(self.iter) };
            }
        }
        self.status()
    }
}

impl Cursor for RocksCursor<'_> {
    fn to_first(&mut self) -> Result<()> {
        // SAFETY: the iterator exists.
        unsafe { (self.functions.iter_seek_to_first)(self.iter) };
        self.status()
    }

    fn to_last(&mut self) -> Result<()> {
        // SAFETY: the iterator exists.
        unsafe { (self.functions.iter_seek_to_last)(self.iter) };
        self.status()
    }

    fn fast_forward(&mut self, bounds: &Bounds) -> Result<()> {
        // An upper bound that was not there when the iterator was made is not looked at later.
        let was_unbounded = self.upper.is_empty() || bounds.upper.is_none();
        self.set_bounds(bounds);
        if was_unbounded {
            let db = self.db;
            // SAFETY: the old iterator is given back once; database, family and options exist.
            unsafe {
                (self.functions.iter_destroy)(self.iter);
                self.iter = (self.functions.create_iterator_cf)(db.db, self.options.object(), db.family);
            }
        }
        self.to_first()
    }

    fn read(&mut self, limit: u64, visit: Visit<'_>) -> Result<()> {
        self.show(limit, visit, self.functions.iter_next)
    }

    fn read_back(&mut self, limit: u64, visit: Visit<'_>) -> Result<()> {
        self.show(limit, visit, self.functions.iter_prev)
    }
}
