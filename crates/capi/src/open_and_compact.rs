//! Compactions in other processes, on the side of the worker: running a job, and what the worker has of its own.
//!
//! An OPTIONS file has no code and no directories of tables. Overrides made of options have both; overrides made of
//! nothing get code from setters. Setters cannot fail: what they refuse is reported by the call that compacts.

use crate::compaction_control::{end_flag, new_flag, set_flag, share_flag};
use crate::compaction_filter::{rocksdb_compactionfilter_t, rocksdb_compactionfilterfactory_t};
use crate::comparator::rocksdb_comparator_t;
use crate::env::rocksdb_env_t;
use crate::file_checksum::rocksdb_file_checksum_gen_factory_t;
use crate::handle::{borrow, give, take};
use crate::memory::{bytes, new_bytes, null_handle, path, put, text};
use crate::merge_operator::rocksdb_mergeoperator_t;
use crate::options::rocksdb_options_t;
use crate::refused::Refused;
use crate::slice_transform::rocksdb_slicetransform_t;
use crate::sst_partitioner::rocksdb_sst_partitioner_factory_t;
use crate::table_options::rocksdb_block_based_table_options_t;
use ferrock::options::{Components, Logger};
use ferrock::{CompactionServiceOptionsOverride, OpenAndCompactOptions, Result, TableOverride, open_and_compact};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_uchar};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a worker has, in place of what the OPTIONS file of the database names.
#[derive(Default)]
pub struct rocksdb_compaction_service_options_override_t {
    overrides: CompactionServiceOptionsOverride,
    /// Options by name.
    texts: BTreeMap<String, String>,
    pub(crate) refused: Refused,
}

impl rocksdb_compaction_service_options_override_t {
    /// Everything that code or an environment is, and how tables are.
    fn of_options(options: &rocksdb_options_t) -> Self {
        let (db, family) = (&options.db, &options.family);
        let components = Components { block_cache: family.block_cache.clone(), ..db.components.clone() };
        let overrides = CompactionServiceOptionsOverride {
            components,
            comparator: Some(family.comparator.clone()),
            merge_operator: family.merge_operator.clone(),
            compaction_filter: family.compaction_filter.clone(),
            compaction_filter_factory: family.compaction_filter_factory.clone(),
            prefix_extractor: family.prefix_extractor.clone(),
            sst_partitioner_factory: family.sst_partitioner_factory.clone(),
            table_properties_collector_factories: family.table_properties_collector_factories.clone(),
            table: Some(TableOverride {
                table_factory: family.table_factory.clone(),
                table: family.table.clone(),
                filter_policy: family.filter_policy,
            }),
            db_paths: db.db_paths.clone(),
            cf_paths: family.cf_paths.clone(),
            options: String::new(),
        };
        let mut refused = options.refused.clone();
        refused.note("options", options.family_to_open().map(drop));
        Self { overrides, texts: BTreeMap::new(), refused }
    }

    pub(crate) fn set_info_log(&mut self, logger: Option<Arc<dyn Logger>>) {
        self.overrides.components.info_log = logger;
    }

    /// # Errors
    /// What a setter refused.
    fn to_compact(&self) -> Result<CompactionServiceOptionsOverride> {
        self.refused.check()?;
        let mut overrides = self.overrides.clone();
        for (name, value) in &self.texts {
            // A value of several fields is one value.
            let is_bare = value.contains(';') && !value.starts_with('{');
            let value = if is_bare { format!("{{{value}}}") } else { value.clone() };
            overrides.options.push_str(&format!("{name}={value};"));
        }
        Ok(overrides)
    }
}

/// Changes overrides, unless they are null; what goes wrong is kept for the call that compacts.
///
/// # Safety
/// The contract.
unsafe fn set(
    overrides: *mut rocksdb_compaction_service_options_override_t,
    option: &'static str,
    set: impl FnOnce(&mut rocksdb_compaction_service_options_override_t) -> Result<()>,
) {
    // SAFETY: as for this function.
    if let Some(overrides) = unsafe { overrides.as_mut() } {
        let outcome = set(overrides);
        overrides.refused.note(option, outcome);
    }
}

/// Sets one part of overrides, unless its handle was null.
///
/// # Safety
/// The contract.
unsafe fn set_part<T>(
    overrides: *mut rocksdb_compaction_service_options_override_t,
    option: &'static str,
    part: Option<Result<T>>,
    place: impl FnOnce(&mut CompactionServiceOptionsOverride) -> &mut Option<T>,
) {
    let Some(part) = part else { return };
    // SAFETY: as for this function.
    unsafe { set(overrides, option, |its| part.map(|part| *place(&mut its.overrides) = Some(part))) };
}

/// How a job is run.
#[derive(Default)]
pub struct rocksdb_open_and_compact_options_t {
    canceled: Option<Arc<AtomicBool>>,
    allow_resumption: bool,
}

impl rocksdb_open_and_compact_options_t {
    fn to_compact(&self) -> OpenAndCompactOptions {
        let canceled = self
            .canceled
            .clone()
            .map(|flag| -> Arc<dyn Fn() -> bool + Send + Sync> { Arc::new(move || flag.load(Ordering::Acquire)) });
        OpenAndCompactOptions { canceled, allow_resumption: self.allow_resumption }
    }
}

c_functions! {
    /// Overrides of nothing.
    fn rocksdb_compaction_service_options_override_create() -> *mut rocksdb_compaction_service_options_override_t {
        give(rocksdb_compaction_service_options_override_t::default())
    }

    /// Overrides that have what options have and no OPTIONS file; also the directories of tables. Null of null options.
    fn rocksdb_compaction_service_options_override_create_from_options(
        options: *mut rocksdb_options_t,
    ) -> *mut rocksdb_compaction_service_options_override_t {
        // SAFETY: the contract.
        match unsafe { options.as_ref() } {
            Some(options) => give(rocksdb_compaction_service_options_override_t::of_options(options)),
            None => std::ptr::null_mut(),
        }
    }

    /// Where files are; the handle stays the caller's. Null changes nothing, here and below.
    fn rocksdb_compaction_service_options_override_set_env(
        overrides: *mut rocksdb_compaction_service_options_override_t,
        env: *mut rocksdb_env_t,
    ) {
        // SAFETY: the contract.
        let (overrides, env) = unsafe { (overrides.as_mut(), env.as_ref()) };
        if let (Some(overrides), Some(env)) = (overrides, env) {
            let components = &mut overrides.overrides.components;
            components.file_system = env.file_system();
            components.thread_pools = Some(Arc::clone(env.pools()));
        }
    }

    /// The order of keys; the handle stays the caller's.
    fn rocksdb_compaction_service_options_override_set_comparator(
        overrides: *mut rocksdb_compaction_service_options_override_t,
        comparator: *mut rocksdb_comparator_t,
    ) {
        // SAFETY: the contract.
        let order = unsafe { comparator.as_ref() }.map(rocksdb_comparator_t::comparator);
        // SAFETY: the contract.
        unsafe { set_part(overrides, "comparator", order, |its| &mut its.comparator) };
    }

    /// The merge operator, which the overrides own from now on.
    fn rocksdb_compaction_service_options_override_set_merge_operator(
        overrides: *mut rocksdb_compaction_service_options_override_t,
        operator: *mut rocksdb_mergeoperator_t,
    ) {
        // SAFETY: the contract: the operator is handed over.
        let given = unsafe { take(operator) }.map(|operator| operator.into_operator());
        // SAFETY: the contract.
        unsafe { set_part(overrides, "merge_operator", given, |its| &mut its.merge_operator) };
    }

    /// The compaction filter; the handle stays the caller's.
    fn rocksdb_compaction_service_options_override_set_compaction_filter(
        overrides: *mut rocksdb_compaction_service_options_override_t,
        filter: *mut rocksdb_compactionfilter_t,
    ) {
        // SAFETY: the contract.
        let filter = unsafe { filter.as_ref() }.map(rocksdb_compactionfilter_t::filter);
        // SAFETY: the contract.
        unsafe { set_part(overrides, "compaction_filter", filter, |its| &mut its.compaction_filter) };
    }

    /// The factory of compaction filters, which the overrides own from now on.
    fn rocksdb_compaction_service_options_override_set_compaction_filter_factory(
        overrides: *mut rocksdb_compaction_service_options_override_t,
        factory: *mut rocksdb_compactionfilterfactory_t,
    ) {
        // SAFETY: the contract: the factory is handed over.
        let given = unsafe { take(factory) }.map(|factory| factory.into_factory());
        // SAFETY: the contract.
        unsafe { set_part(overrides, "compaction_filter_factory", given, |its| &mut its.compaction_filter_factory) };
    }

    /// The prefix extractor, which the overrides own from now on.
    fn rocksdb_compaction_service_options_override_set_prefix_extractor(
        overrides: *mut rocksdb_compaction_service_options_override_t,
        extractor: *mut rocksdb_slicetransform_t,
    ) {
        // SAFETY: the contract: the extractor is handed over.
        let given = unsafe { take(extractor) }.map(|extractor| extractor.into_extractor());
        // SAFETY: the contract.
        unsafe { set_part(overrides, "prefix_extractor", given, |its| &mut its.prefix_extractor) };
    }

    /// How tables are made; the table options are copied and stay the caller's.
    fn rocksdb_compaction_service_options_override_set_block_based_table_factory(
        overrides: *mut rocksdb_compaction_service_options_override_t,
        table: *mut rocksdb_block_based_table_options_t,
    ) {
        // SAFETY: the contract.
        let Some(table) = (unsafe { table.as_ref() }) else { return };
        let mut options = rocksdb_options_t::default();
        table.give_to(&mut options);
        // SAFETY: the contract.
        unsafe {
            set(overrides, "table_factory", |its| {
                let family = options.family_to_open()?;
                its.overrides.components.block_cache = family.block_cache;
                its.overrides.table = Some(TableOverride {
                    table_factory: family.table_factory,
                    table: family.table,
                    filter_policy: family.filter_policy,
                });
                Ok(())
            });
        }
    }

    /// The statistics of options. Nothing changes: those of this library count for their own database.
    fn rocksdb_compaction_service_options_override_set_statistics(
        _overrides: *mut rocksdb_compaction_service_options_override_t,
        _options: *mut rocksdb_options_t,
    ) {
    }

    /// An option of the database or of its family, by its name in the OPTIONS file. The call that compacts reports
    /// another name, and what is no value.
    fn rocksdb_compaction_service_options_override_set_option(
        overrides: *mut rocksdb_compaction_service_options_override_t,
        name: *const c_char,
        value: *const c_char,
    ) {
        if name.is_null() || value.is_null() {
            return;
        }
        // SAFETY: the contract.
        unsafe {
            set(overrides, "option", |its| {
                its.texts.insert(text(name, "option")?.to_owned(), text(value, "value")?.to_owned());
                Ok(())
            });
        }
    }

    /// Between which keys compaction ends a table; the handle stays the caller's.
    fn rocksdb_compaction_service_options_override_set_sst_partitioner_factory(
        overrides: *mut rocksdb_compaction_service_options_override_t,
        factory: *mut rocksdb_sst_partitioner_factory_t,
    ) {
        // SAFETY: the contract.
        let (overrides, factory) = unsafe { (overrides.as_mut(), factory.as_ref()) };
        if let (Some(overrides), Some(factory)) = (overrides, factory) {
            overrides.overrides.sst_partitioner_factory = Some(Arc::clone(&factory.0));
        }
    }

    /// Which checksum the outputs get; the handle stays the caller's, and null leaves what the OPTIONS file names.
    fn rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(
        overrides: *mut rocksdb_compaction_service_options_override_t,
        factory: *mut rocksdb_file_checksum_gen_factory_t,
    ) {
        // SAFETY: the contract.
        let (overrides, factory) = unsafe { (overrides.as_mut(), factory.as_ref()) };
        if let (Some(overrides), Some(factory)) = (overrides, factory) {
            overrides.overrides.components.file_checksum_gen_factory = Some(Arc::clone(&factory.0));
        }
    }

    /// A flag that ends calls which have it in their options.
    fn rocksdb_open_and_compact_canceled_create() -> *mut c_uchar {
        new_flag()
    }

    /// Ends a flag; options and calls that have it keep it.
    fn rocksdb_open_and_compact_canceled_destroy(canceled: *mut c_uchar) {
        // SAFETY: the contract: the flag is one of `rocksdb_open_and_compact_canceled_create`, and this its end.
        unsafe { end_flag(canceled) };
    }

    /// Sets a flag; other than 0 ends the calls.
    fn rocksdb_open_and_compact_canceled_set(canceled: *mut c_uchar, value: c_uchar) {
        // SAFETY: the contract: the flag is one of `rocksdb_open_and_compact_canceled_create`.
        unsafe { set_flag(canceled, value) };
    }

    /// Options at their defaults.
    fn rocksdb_open_and_compact_options_create() -> *mut rocksdb_open_and_compact_options_t {
        give(rocksdb_open_and_compact_options_t::default())
    }

    /// The flag that ends calls with the options. Null changes nothing.
    fn rocksdb_open_and_compact_options_set_canceled(
        options: *mut rocksdb_open_and_compact_options_t,
        canceled: *mut c_uchar,
    ) {
        // SAFETY: the contract: the flag is one of `rocksdb_open_and_compact_canceled_create` or null.
        let (options, flag) = unsafe { (options.as_mut(), share_flag(canceled)) };
        if let (Some(options), Some(flag)) = (options, flag) {
            options.canceled = Some(flag);
        }
    }
}

c_setters! {
    for rocksdb_open_and_compact_options_t:
    /// Whether the output directory may have files of an earlier run, which are removed.
    fn rocksdb_open_and_compact_options_set_allow_resumption(c_uchar) => allow_resumption;
}

c_getters! {
    for rocksdb_open_and_compact_options_t:
    /// What was set.
    fn rocksdb_open_and_compact_options_get_allow_resumption() -> c_uchar => allow_resumption;
}

c_destructors! {
    /// Ends overrides.
    fn rocksdb_compaction_service_options_override_destroy(rocksdb_compaction_service_options_override_t);

    /// Ends options of the worker.
    fn rocksdb_open_and_compact_options_destroy(rocksdb_open_and_compact_options_t);
}

/// A job as a caller has it.
struct Job {
    db_path: *const c_char,
    output_directory: *const c_char,
    input: *const c_char,
    input_length: usize,
    overrides: *const rocksdb_compaction_service_options_override_t,
}

/// Runs a job, and gives its result from `malloc`, with a zero behind it.
///
/// # Safety
/// The contract.
unsafe fn run(options: &OpenAndCompactOptions, job: &Job, output_length: *mut usize) -> Result<*mut c_char> {
    if job.input.is_null() {
        return Err(null_handle("input"));
    }
    // SAFETY: as for this function.
    let (db_path, directory, input, overrides) = unsafe {
        (
            path(job.db_path)?,
            path(job.output_directory)?,
            bytes(job.input, job.input_length),
            borrow(job.overrides, "overrides")?,
        )
    };
    let mut result = open_and_compact(options, db_path, directory, input, &overrides.to_compact()?)?;
    let length = result.len();
    result.push(0);
    let copy = new_bytes(&result);
    if !copy.is_null() {
        // SAFETY: as for this function.
        unsafe { put(output_length, length) };
    }
    Ok(copy)
}

c_fallible! {
    /// Runs a job that a database handed to its service. What it gives is the result for the callback `wait`.
    fn rocksdb_open_and_compact(
        db_path: *const c_char,
        output_directory: *const c_char,
        input: *const c_char,
        input_length: usize,
        output_length: *mut usize,
        overrides: *const rocksdb_compaction_service_options_override_t,
    ) -> *mut c_char {
        let job = Job { db_path, output_directory, input, input_length, overrides };
        // SAFETY: the contract.
        unsafe { run(&OpenAndCompactOptions::default(), &job, output_length) }
    }

    /// The same, with options of the worker.
    fn rocksdb_open_and_compact_with_options(
        options: *const rocksdb_open_and_compact_options_t,
        db_path: *const c_char,
        output_directory: *const c_char,
        input: *const c_char,
        input_length: usize,
        output_length: *mut usize,
        overrides: *const rocksdb_compaction_service_options_override_t,
    ) -> *mut c_char {
        // SAFETY: the contract.
        let options = unsafe { borrow(options, "options")? }.to_compact();
        let job = Job { db_path, output_directory, input, input_length, overrides };
        // SAFETY: the contract.
        unsafe { run(&options, &job, output_length) }
    }
}
