//! Makes the calls of a seed to one library, and says what it answered.

use crate::answers::library::{More, changed};
use crate::answers::script::{Call, Opening, Place, Record, SETTERS, SLOTS, calls};
use crate::c_engine::made;
use crate::engine::Outcome;
use ferrock_c_library::{Functions, Object, Owned, borrowed, c_text, chars};
use serde_json::json;
use std::ffi::{CStr, CString, c_char};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

/// What a library said: a name for what it is about, and a text.
pub type Answers = Vec<(String, String)>;

/// An open database.
struct Open {
    db: Object,
    options: Owned,
    handles: [Object; SLOTS],
    is_read_only: bool,
}

struct Player {
    f: &'static Functions,
    more: More,
    directory: PathBuf,
    options: Owned,
    read: Owned,
    write: Owned,
    flush: Owned,
    open: Option<Open>,
}

/// Plays a seed in a directory; each call is a line of JSON on standard output, printed when it is answered.
pub fn play(seed: u64, directory: &Path, library: &Path) -> Outcome<()> {
    let f = Functions::load(library)?;
    let mut player = Player {
        f,
        more: More::load(library)?,
        directory: directory.to_owned(),
        options: made(f.options_create, f.options_destroy),
        read: made(f.readoptions_create, f.readoptions_destroy),
        write: made(f.writeoptions_create, f.writeoptions_destroy),
        flush: made(f.flushoptions_create, f.flushoptions_destroy),
        open: None,
    };
    for call in calls(seed) {
        println!("{}", json!({"begins": format!("{call:?}")}));
        let answers = player.call(&call)?;
        println!("{}", json!({"call": format!("{call:?}"), "answers": answers}));
    }
    player.close();
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn one(label: &str, text: impl Into<String>) -> Answers {
    vec![(label.to_owned(), text.into())]
}

/// Of a call that only succeeds or fails.
fn status(label: &str, outcome: Outcome<()>) -> Answers {
    one(label, outcome.map_or_else(|error| format!("error: {error}"), |()| "done".to_owned()))
}

fn text_of(outcome: Outcome<String>) -> String {
    outcome.unwrap_or_else(|error| format!("error: {error}"))
}

impl Player {
    fn path(&self, place: Place) -> Outcome<CString> {
        let path = match place {
            Place::Database => self.directory.join("db"),
            Place::Empty => self.directory.join("empty"),
            Place::Missing => self.directory.join("missing"),
        };
        c_text(&path.display().to_string())
    }

    fn call(&mut self, call: &Call) -> Outcome<Answers> {
        Ok(match call {
            Call::Defaults => self.defaults()?,
            Call::Open(opening) => self.open(opening)?,
            Call::Text(text) => self.text(text)?,
            Call::Set(setter, value) => {
                let setter = &SETTERS[*setter];
                let number = setter.values[*value];
                let options = made(self.f.options_create, self.f.options_destroy);
                let mut answers =
                    one(&format!("setter {}", setter.name), self.more.set(options.object(), setter, number)?);
                let enable = self.f.options_enable_statistics.ok_or("the library has no statistics")?;
                // SAFETY: live options.
                unsafe { enable(options.object()) };
                let label = format!("setter {} with statistics", setter.name);
                answers.push((label, self.more.set(options.object(), setter, number)?));
                answers
            }
            Call::Load(place) => self.load(*place)?,
            Call::List => {
                one("list of families", self.list()?.map_or_else(|error| error, |names| format!("{names:?}")))
            }
            Call::OptionsFile => options_file(&self.directory.join("db")),
            Call::Log if self.open.is_some() => log_head(&self.directory.join("db")),
            Call::Log => one("LOG", "not open"),
            _ => match &self.open {
                None => one("call", "not open"),
                Some(_) => self.call_open(call)?,
            },
        })
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        for handle in open.handles.into_iter().filter(|handle| !handle.is_null()) {
            // SAFETY: a live handle, given back once, before its database.
            unsafe { (self.f.column_family_handle_destroy)(handle) };
        }
        // SAFETY: open, and closed once.
        unsafe { (self.f.close)(open.db) };
        drop(open.options);
    }

    /// Names of the families of the database, which is closed or open.
    fn list(&self) -> Outcome<Result<Vec<CString>, String>> {
        let (path, mut count) = (self.path(Place::Database)?, 0);
        // SAFETY: options, a text and a place for a number.
        let listed = self.f.checked(|error| unsafe {
            (self.more.list_column_families)(self.options.object(), path.as_ptr(), &mut count, error)
        });
        Ok(listed.map_err(|error| format!("error: {error}")).map(|list| {
            // SAFETY: the library gave `count` texts, which end with a zero.
            let name = |at| unsafe { CStr::from_ptr(*list.add(at)) }.to_owned();
            let names = (0..count).map(name).collect();
            // SAFETY: given back as it came.
            unsafe { (self.more.list_column_families_destroy)(list, count) };
            names
        }))
    }

    fn open(&mut self, opening: &Opening) -> Outcome<Answers> {
        self.close();
        let f = self.f;
        let base = made(f.options_create, f.options_destroy);
        let options = made(f.options_create, f.options_destroy);
        changed(f, base.object(), base.object(), "create_if_missing=true;disable_auto_compactions=true")?;
        if let Err(error) = changed(f, base.object(), options.object(), &opening.text) {
            return Ok(one("open", format!("error: {error}")));
        }
        for (setter, value) in &opening.setters {
            let setter = &SETTERS[*setter];
            self.more.set(options.object(), setter, setter.values[*value])?;
        }
        let default = vec![CString::from(c"default")];
        let names = if opening.default_only { default } else { self.list()?.unwrap_or(default) };
        let outcome = self.open_with(&options, &names, opening.is_read_only)?;
        Ok(match outcome {
            Ok((db, all)) => {
                let mut handles = [null_mut(); SLOTS];
                let mut numbers = String::new();
                for (at, handle) in all.into_iter().enumerate() {
                    // SAFETY: a live handle.
                    let _ = write!(numbers, " {}", unsafe { (self.more.column_family_handle_get_id)(handle) });
                    match handles.get_mut(at) {
                        Some(slot) => *slot = handle,
                        // SAFETY: as above; given back once.
                        None => unsafe { (f.column_family_handle_destroy)(handle) },
                    }
                }
                self.open = Some(Open { db, options, handles, is_read_only: opening.is_read_only });
                one("open", format!("families{numbers}, sequence {}", self.sequence()))
            }
            Err(error) => one("open", format!("error: {error}")),
        })
    }

    #[allow(clippy::type_complexity, reason = "a database and its handles, or an error")]
    fn open_with(
        &self,
        options: &Owned,
        names: &[CString],
        is_read_only: bool,
    ) -> Outcome<Result<(Object, Vec<Object>), String>> {
        let path = self.path(Place::Database)?;
        let pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let families = vec![options.object(); names.len()];
        let mut handles = vec![null_mut(); names.len()];
        let count = i32::try_from(names.len()).map_err(|error| error.to_string())?;
        // SAFETY: arrays of `count` members, which outlive the call.
        let db = self.f.checked(|error| unsafe {
            let (path, names, families) = (path.as_ptr(), pointers.as_ptr(), families.as_ptr());
            let (options, handles) = (options.object(), handles.as_mut_ptr());
            if is_read_only {
                (self.f.open_for_read_only_column_families)(options, path, count, names, families, handles, 0, error)
            } else {
                (self.f.open_column_families)(options, path, count, names, families, handles, error)
            }
        });
        Ok(db.map(|db| (db, handles)))
    }

    fn defaults(&self) -> Outcome<Answers> {
        let f = self.f;
        let options = made(f.options_create, f.options_destroy);
        changed(f, options.object(), options.object(), "create_if_missing=true")?;
        let directory = self.directory.join("defaults");
        let path = c_text(&directory.display().to_string())?;
        let (names, families, mut handle) = ([c"default".as_ptr()], [options.object()], null_mut());
        // SAFETY: arrays of one member, which outlive the call; the handle and the database are given back once.
        unsafe {
            let (names, families) = (names.as_ptr(), families.as_ptr());
            let db = f.checked(|error| {
                (f.open_column_families)(options.object(), path.as_ptr(), 1, names, families, &mut handle, error)
            })?;
            (f.column_family_handle_destroy)(handle);
            (f.close)(db);
        }
        Ok(options_file(&directory))
    }

    fn sequence(&self) -> u64 {
        // SAFETY: an open database.
        self.open.as_ref().map_or(0, |open| unsafe { (self.more.get_latest_sequence_number)(open.db) })
    }

    fn call_open(&mut self, call: &Call) -> Outcome<Answers> {
        let Some(open) = &mut self.open else { return Ok(Vec::new()) };
        let (f, more, db) = (self.f, &self.more, open.db);
        let read = self.read.object();
        let slot = match call {
            Call::Drop(slot) | Call::Forget(slot) | Call::Get(slot, _) | Call::Scan(slot) => *slot,
            Call::Flush(slot) | Call::Compact(slot) | Call::Property(slot, ..) | Call::Change(slot, ..) => *slot,
            _ => 0,
        };
        let handle = open.handles[slot];
        if handle.is_null() {
            return Ok(one("call", "no handle"));
        }
        // SAFETY (of all calls here): the database is open, handles are live, keys and texts outlive the call.
        Ok(match call {
            Call::Create(slot, name) => {
                if !open.handles[*slot].is_null() {
                    return Ok(one("call", "the slot is taken"));
                }
                let name = CString::new(*name).map_err(|error| error.to_string())?;
                // SAFETY: see above.
                let made = f.checked(|error| unsafe {
                    (more.create_column_family)(db, open.options.object(), name.as_ptr(), error)
                });
                let made = made.map(|handle| {
                    open.handles[*slot] = handle;
                    let mut length = 0;
                    // SAFETY: a handle that was just made, and a text that is given back.
                    unsafe {
                        let name = (more.column_family_handle_get_name)(handle, &mut length);
                        let text = hex(borrowed(name, length));
                        (f.free)(name.cast());
                        format!("number {}, name {text}", (more.column_family_handle_get_id)(handle))
                    }
                });
                one("create a family", text_of(made))
            }
            Call::Drop(_) => {
                // SAFETY: see above.
                status("drop a family", f.checked(|error| unsafe { (more.drop_column_family)(db, handle, error) }))
            }
            Call::Forget(slot) => {
                // SAFETY: see above; given back once.
                unsafe { (f.column_family_handle_destroy)(handle) };
                open.handles[*slot] = null_mut();
                one("forget", "done")
            }
            Call::Write(record) => self.write_one(record),
            Call::Batch(records) => self.batch(records),
            Call::Get(_, key) => {
                let mut length = 0;
                // SAFETY: see above.
                let value = f.checked(|error| unsafe {
                    (more.get_cf)(db, read, handle, chars(key), key.len(), &mut length, error)
                });
                one(
                    "get",
                    text_of(value.map(|value| {
                        if value.is_null() {
                            return format!("null, {length}");
                        }
                        // SAFETY: from the library, copied, then given back once.
                        let text = unsafe { hex(borrowed(value, length)) };
                        // SAFETY: as above.
                        unsafe { (f.free)(value.cast()) };
                        text
                    })),
                )
            }
            Call::Scan(_) => one("scan", self.scan(handle)),
            Call::Flush(_) => {
                let flush = self.flush.object();
                // SAFETY: see above.
                status("flush", f.checked(|error| unsafe { (f.flush_cf)(db, flush, handle, error) }))
            }
            Call::Compact(_) => {
                // SAFETY: see above; a null key is no bound.
                unsafe { (f.compact_range_cf)(db, handle, null(), 0, null(), 0) };
                one("compact", "done")
            }
            Call::Property(_, name, is_exact) => self.property(handle, name, *is_exact)?,
            Call::Change(_, name, value) => {
                let (n, v) = (c_text(name)?, c_text(value)?);
                let (names, values) = ([n.as_ptr()], [v.as_ptr()]);
                // SAFETY: see above.
                let changed = f.checked(|error| unsafe {
                    (more.set_options_cf)(db, handle, 1, names.as_ptr(), values.as_ptr(), error)
                });
                status(&format!("change {name}={value}"), changed)
            }
            Call::ChangeDb(name, value) => {
                let (n, v) = (c_text(name)?, c_text(value)?);
                let (names, values) = ([n.as_ptr()], [v.as_ptr()]);
                // SAFETY: see above.
                let changed =
                    f.checked(|error| unsafe { (more.set_db_options)(db, 1, names.as_ptr(), values.as_ptr(), error) });
                status(&format!("change of the database {name}={value}"), changed)
            }
            Call::OpenAgain | Call::Destroy if open.is_read_only => one("call", "nothing is locked"),
            Call::OpenAgain => {
                let options = made(f.options_create, f.options_destroy);
                let names = self.list()?.unwrap_or_else(|_| vec![CString::from(c"default")]);
                let again = self.open_with(&options, &names, false)?;
                status("open again", again.map(|_| ()))
            }
            Call::Destroy => {
                let path = self.path(Place::Database)?;
                // SAFETY: see above.
                status(
                    "destroy",
                    f.checked(|error| unsafe { (more.destroy_db)(self.options.object(), path.as_ptr(), error) }),
                )
            }
            Call::Defaults | Call::Open(_) | Call::Text(_) | Call::Set(..) | Call::Load(_) => Vec::new(),
            Call::List | Call::OptionsFile | Call::Log => Vec::new(),
        })
    }

    fn write_one(&self, record: &Record) -> Answers {
        let Some(open) = &self.open else { return Vec::new() };
        let (f, more, db, write) = (self.f, &self.more, open.db, self.write.object());
        let handle = open.handles[record.slot()];
        if handle.is_null() {
            return one("call", "no handle");
        }
        // SAFETY: the database is open, the handle is live, keys and values outlive the call.
        let outcome = f.checked(|error| unsafe {
            match record {
                Record::Put(_, key, value) => {
                    (more.put_cf)(db, write, handle, chars(key), key.len(), chars(value), value.len(), error);
                }
                Record::Merge(_, key, value) => {
                    (more.merge_cf)(db, write, handle, chars(key), key.len(), chars(value), value.len(), error);
                }
                Record::Delete(_, key) => (more.delete_cf)(db, write, handle, chars(key), key.len(), error),
                Record::SingleDelete(_, key) => (f.singledelete_cf)(db, write, handle, chars(key), key.len(), error),
                Record::DeleteRange(_, first, last) => {
                    (more.delete_range_cf)(
                        db,
                        write,
                        handle,
                        chars(first),
                        first.len(),
                        chars(last),
                        last.len(),
                        error,
                    );
                }
            }
        });
        let mut answers = status(record.name(), outcome);
        answers.push(("sequence".to_owned(), self.sequence().to_string()));
        answers
    }

    /// A batch, its bytes before and after it was written.
    fn batch(&self, records: &[Record]) -> Answers {
        let Some(open) = &self.open else { return Vec::new() };
        let (f, more) = (self.f, &self.more);
        let batch = made(f.writebatch_create, f.writebatch_destroy);
        for record in records {
            let handle = open.handles[record.slot()];
            if handle.is_null() {
                continue;
            }
            // SAFETY: the batch and the handle are live, keys and values outlive the call.
            unsafe {
                match record {
                    Record::Put(_, key, value) => {
                        (f.writebatch_put_cf)(batch.object(), handle, chars(key), key.len(), chars(value), value.len());
                    }
                    Record::Merge(_, key, value) => {
                        (f.writebatch_merge_cf)(
                            batch.object(),
                            handle,
                            chars(key),
                            key.len(),
                            chars(value),
                            value.len(),
                        );
                    }
                    Record::Delete(_, key) | Record::SingleDelete(_, key) => {
                        (f.writebatch_delete_cf)(batch.object(), handle, chars(key), key.len());
                    }
                    Record::DeleteRange(_, first, last) => {
                        let (length, last_length) = (first.len(), last.len());
                        (f.writebatch_delete_range_cf)(
                            batch.object(),
                            handle,
                            chars(first),
                            length,
                            chars(last),
                            last_length,
                        );
                    }
                }
            }
        }
        let data = || {
            let mut length = 0;
            // SAFETY: the batch is live; its bytes are copied before the next call.
            unsafe {
                let bytes = (more.writebatch_data)(batch.object(), &mut length);
                hex(borrowed(bytes, length))
            }
        };
        // SAFETY: as above.
        let count = unsafe { (more.writebatch_count)(batch.object()) };
        let mut answers = vec![("batch count".to_owned(), count.to_string()), ("batch bytes".to_owned(), data())];
        // SAFETY: the database is open, and the batch is live.
        let written = f.checked(|error| unsafe { (f.write)(open.db, self.write.object(), batch.object(), error) });
        answers.extend(status("batch", written));
        answers.push(("batch bytes afterwards".to_owned(), data()));
        answers.push(("sequence".to_owned(), self.sequence().to_string()));
        answers
    }

    fn scan(&self, handle: Object) -> String {
        let Some(open) = &self.open else { return String::new() };
        let f = self.f;
        // SAFETY: the database is open; the iterator is given back before it; bytes are copied before the next call.
        unsafe {
            let iterator = (f.create_iterator_cf)(open.db, self.read.object(), handle);
            let mut text = String::new();
            (f.iter_seek_to_first)(iterator);
            while (f.iter_valid)(iterator) != 0 {
                let (mut key_length, mut value_length) = (0, 0);
                let key = (f.iter_key)(iterator, &mut key_length);
                let value = (f.iter_value)(iterator, &mut value_length);
                let _ = write!(text, "{}={} ", hex(borrowed(key, key_length)), hex(borrowed(value, value_length)));
                (f.iter_next)(iterator);
            }
            let end = f.checked(|error| (f.iter_get_error)(iterator, error));
            (f.iter_destroy)(iterator);
            // An error's text stands alone, so that it is compared as one.
            end.map_or_else(|error| format!("error: {error}"), |()| text)
        }
    }

    fn property(&self, handle: Object, name: &str, is_exact: bool) -> Outcome<Answers> {
        let Some(open) = &self.open else { return Ok(Vec::new()) };
        let f = self.f;
        let c = c_text(name)?;
        let mut number = 0;
        // SAFETY: the database is open, the handle live, the text ends with a zero; a text that is given is freed.
        let (text, is_number) = unsafe {
            let text = (f.property_value_cf)(open.db, handle, c.as_ptr());
            let text = (!text.is_null()).then(|| f.take_text(text));
            (text, (self.more.property_int_cf)(open.db, handle, c.as_ptr(), &mut number))
        };
        let label = format!("property {name}");
        let shown = |is_there: bool, text: String| match (is_there, is_exact) {
            (false, _) => "none".to_owned(),
            (true, false) => "there".to_owned(),
            (true, true) => text,
        };
        Ok(vec![
            (label.clone(), shown(text.is_some(), text.unwrap_or_default())),
            (format!("{label} as a number"), shown(is_number == 0, number.to_string())),
        ])
    }

    /// Options changed by a text: an error, or what getters say of them then.
    fn text(&self, text: &str) -> Outcome<Answers> {
        let f = self.f;
        let (base, options) = (made(f.options_create, f.options_destroy), made(f.options_create, f.options_destroy));
        let label = format!("options text {text:?}");
        Ok(status(&label, changed(f, base.object(), options.object(), text)))
    }

    /// Loads the newest OPTIONS file; the places for results hold something else before.
    fn load(&self, place: Place) -> Outcome<Answers> {
        let f = self.f;
        let create_env = f.create_default_env.ok_or("the library has no rocksdb_create_default_env")?;
        let destroy_env = f.env_destroy.ok_or("the library has no rocksdb_env_destroy")?;
        let path = self.path(place)?;
        let env = made(create_env, destroy_env);
        // SAFETY: a cache, and the function that ends caches.
        let cache = unsafe { Owned::new((f.cache_create_lru)(1 << 20), f.cache_destroy) };
        let mut unset: u8 = 0;
        let elsewhere: *mut u8 = &mut unset;
        let (mut options, mut count) = (elsewhere.cast(), 77);
        let (mut names, mut families) = (elsewhere.cast(), elsewhere.cast());
        // SAFETY: live objects, and places for results.
        let loaded = f.checked(|error| unsafe {
            (f.load_latest_options)(
                path.as_ptr(),
                env.object(),
                0,
                cache.object(),
                &mut options,
                &mut count,
                &mut names,
                &mut families,
                error,
            )
        });
        let label = format!("load options {place:?}");
        if let Err(error) = loaded {
            let are_null = [options.is_null(), names.is_null(), families.is_null()];
            return Ok(vec![
                (label.clone(), format!("error: {error}")),
                (format!("{label}, places"), format!("null {are_null:?}, {count} families")),
            ]);
        }
        // SAFETY: the library gave `count` texts; everything is given back as it came.
        let found: Vec<String> =
            (0..count).map(|at| hex(unsafe { CStr::from_ptr(*names.add(at)) }.to_bytes())).collect();
        // SAFETY: as above.
        unsafe { (f.load_latest_options_destroy)(options, names, families, count) };
        Ok(one(&label, format!("{found:?}")))
    }
}

/// The newest file of a directory whose name begins so.
fn newest(directory: &Path, prefix: &str) -> Option<String> {
    let names =
        std::fs::read_dir(directory).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let newest = names.filter(|name| name.starts_with(prefix) && !name.ends_with(".dbtmp")).max()?;
    let bytes = std::fs::read(directory.join(newest)).ok()?;
    // Every byte is shown, whatever it is.
    Some(bytes.iter().map(|&byte| char::from(byte)).collect())
}

/// Every option of the newest OPTIONS file, and the members of those that have some.
fn options_file(directory: &Path) -> Answers {
    let Some(text) = newest(directory, "OPTIONS-") else { return one("OPTIONS file", "none") };
    let (mut section, mut answers) = (String::new(), Answers::new());
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if line.starts_with('[') {
            section = line.to_owned();
            answers.push((format!("OPTIONS {section}"), "there".to_owned()));
        } else if let Some((name, value)) = line.split_once('=') {
            let label = format!("OPTIONS {section} {name}");
            match value.strip_prefix('{').and_then(|members| members.strip_suffix('}')) {
                Some(members) => {
                    let members = members.split(';').filter_map(|member| member.split_once('='));
                    answers.extend(members.map(|(name, value)| (format!("{label}.{name}"), value.to_owned())));
                }
                None => answers.push((label, value.to_owned())),
            }
        }
    }
    answers
}

/// Options that tools look for in a LOG.
const LOGGED: [&str; 16] = [
    "error_if_exists",
    "paranoid_checks",
    "max_open_files",
    "max_background_jobs",
    "wal_recovery_mode",
    "atomic_flush",
    "enable_pipelined_write",
    "comparator",
    "merge_operator",
    "compression",
    "write_buffer_size",
    "max_write_buffer_number",
    "num_levels",
    "level0_file_num_compaction_trigger",
    "target_file_size_base",
    "max_bytes_for_level_base",
];

/// The first line of the LOG, and the first value that it has of each option. Options of tables stand in a block of
/// RocksDB's.
fn log_head(directory: &Path) -> Answers {
    let Ok(text) = std::fs::read(directory.join("LOG")) else { return one("LOG", "none") };
    let text = String::from_utf8_lossy(&text);
    let mut answers = Answers::new();
    for (number, line) in text.lines().enumerate() {
        // A time, and at RocksDB's a thread, are in front.
        let said = line.split_once(' ').map_or("", |(_, said)| said);
        let said = said.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
        if number == 0 {
            answers.push(("LOG, first line".to_owned(), said.to_owned()));
        }
        let option = said.split_once(':').filter(|(name, _)| LOGGED.contains(&name.trim_start_matches("Options.")));
        if let Some((name, value)) = option {
            let label = format!("LOG {}", name.trim());
            if answers.iter().all(|(other, _)| *other != label) {
                answers.push((label, value.trim().to_owned()));
            }
        }
    }
    answers
}
