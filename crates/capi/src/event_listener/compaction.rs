//! Getters of what is told of a compaction and its parts.

use super::Text;
use super::blob_files::{rocksdb_blob_file_addition_info_t, rocksdb_blob_file_garbage_info_t};
use super::int;
use super::job_stats::rocksdb_compaction_job_stats_t;
use super::table_properties::rocksdb_table_properties_t;
use crate::error::save;
use crate::handle::give;
use crate::memory::bytes;
use ferrock::{CompactionFileInfo, CompactionJobInfo, CompactionReason, Error, SubcompactionJobInfo};
use std::ffi::{c_char, c_int, c_uchar};

/// The number of a reason. What RocksDB has no number for is unknown in C.
fn reason(reason: CompactionReason) -> u32 {
    match reason {
        CompactionReason::RangeDeletion => CompactionReason::Unknown.number(),
        reason => reason.number(),
    }
}

/// A table of a compaction.
pub struct rocksdb_compaction_file_info_t(CompactionFileInfo);

/// A compaction that begins or ended; empty where a caller made it.
#[derive(Default)]
pub struct rocksdb_compactionjobinfo_t {
    info: Option<Box<CompactionJobInfo>>,
    name: Option<Text>,
    inputs: Vec<Text>,
    outputs: Vec<Text>,
    input_infos: Vec<rocksdb_compaction_file_info_t>,
    output_infos: Vec<rocksdb_compaction_file_info_t>,
    /// In the order of the paths.
    properties: Vec<(Text, rocksdb_table_properties_t)>,
    stats: Option<rocksdb_compaction_job_stats_t>,
    blob_files: Vec<rocksdb_blob_file_addition_info_t>,
    garbage: Vec<rocksdb_blob_file_garbage_info_t>,
}

impl rocksdb_compactionjobinfo_t {
    pub(crate) fn new(info: &CompactionJobInfo) -> Self {
        let infos =
            |infos: &[CompactionFileInfo]| infos.iter().map(|info| rocksdb_compaction_file_info_t(*info)).collect();
        let properties = info.table_properties.iter();
        Self {
            name: Some(Text::of_name(&info.column_family)),
            inputs: info.input_files.iter().map(|path| Text::of_path(path)).collect(),
            outputs: info.output_files.iter().map(|path| Text::of_path(path)).collect(),
            input_infos: infos(&info.input_file_infos),
            output_infos: infos(&info.output_file_infos),
            properties: properties
                .map(|(path, properties)| (Text::of_path(path), rocksdb_table_properties_t::new(properties)))
                .collect(),
            stats: Some(rocksdb_compaction_job_stats_t::new(&info.stats)),
            blob_files: rocksdb_blob_file_addition_info_t::all(&info.blob_file_addition_infos),
            garbage: rocksdb_blob_file_garbage_info_t::all(&info.blob_file_garbage_infos),
            info: Some(Box::new(info.clone())),
        }
    }

    /// A number of the info; 0 of an empty one.
    fn number<T: Default>(&self, of: impl FnOnce(&CompactionJobInfo) -> T) -> T {
        self.info.as_deref().map(of).unwrap_or_default()
    }
}

/// A level as C has it.
fn level(level: usize) -> c_int {
    c_int::try_from(level).unwrap_or(c_int::MAX)
}

c_functions! {
    /// An empty info.
    fn rocksdb_compactionjobinfo_create() -> *mut rocksdb_compactionjobinfo_t {
        give(rocksdb_compactionjobinfo_t::default())
    }

    /// The error with which the compaction ended, if it failed.
    fn rocksdb_compactionjobinfo_status(info: *const rocksdb_compactionjobinfo_t, errptr: *mut *mut c_char) {
        // SAFETY: the contract.
        let info = unsafe { info.as_ref() }.and_then(|info| info.info.as_deref());
        // SAFETY: the contract about `errptr`.
        unsafe { save_status(info.and_then(|info| info.status.as_ref().err()), errptr) };
    }

    /// The error with which the part ended, if it failed.
    fn rocksdb_subcompactionjobinfo_status(info: *const rocksdb_subcompactionjobinfo_t, errptr: *mut *mut c_char) {
        // SAFETY: the contract.
        let info = unsafe { info.as_ref() };
        // SAFETY: the contract about `errptr`.
        unsafe { save_status(info.and_then(|info| info.info.status.as_ref().err()), errptr) };
    }

    /// The properties of a table, by its path; null for one that is none of the compaction's, or was not read.
    fn rocksdb_compactionjobinfo_table_properties_for_file(
        info: *const rocksdb_compactionjobinfo_t,
        file_name: *const c_char,
        file_name_len: usize,
    ) -> *const rocksdb_table_properties_t {
        // SAFETY: the contract.
        let (info, wanted) = unsafe { (info.as_ref(), bytes(file_name, file_name_len)) };
        let found = info.and_then(|info| info.properties.iter().find(|(path, _)| path.bytes() == wanted));
        found.map_or(std::ptr::null(), |(_, properties)| std::ptr::from_ref(properties))
    }

    /// The properties of the table at a place in the order of the paths.
    fn rocksdb_compactionjobinfo_table_properties_value_at(
        info: *const rocksdb_compactionjobinfo_t,
        pos: usize,
    ) -> *const rocksdb_table_properties_t {
        // SAFETY: the contract.
        let found = unsafe { info.as_ref() }.and_then(|info| info.properties.get(pos));
        found.map_or(std::ptr::null(), |(_, properties)| std::ptr::from_ref(properties))
    }

    /// The counts of the compaction; null of an empty info.
    fn rocksdb_compactionjobinfo_stats(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> *const rocksdb_compaction_job_stats_t {
        // SAFETY: the contract.
        let stats = unsafe { info.as_ref() }.and_then(|info| info.stats.as_ref());
        stats.map_or(std::ptr::null(), std::ptr::from_ref)
    }
}

c_destructors! {
    /// Ends an info that `rocksdb_compactionjobinfo_create` made.
    fn rocksdb_compactionjobinfo_destroy(rocksdb_compactionjobinfo_t);
}

/// # Safety
/// `errptr` as the contract says.
unsafe fn save_status(error: Option<&Error>, errptr: *mut *mut c_char) {
    if let Some(error) = error {
        // SAFETY: as for this function.
        unsafe { save(errptr, error) };
    }
}

info_texts! {
    for rocksdb_compactionjobinfo_t:
    /// The name of the column family.
    fn rocksdb_compactionjobinfo_cf_name = |info| info.name.as_ref().unwrap_or(Text::EMPTY);
}

info_text_elements! {
    for rocksdb_compactionjobinfo_t:
    /// One of the tables read.
    fn rocksdb_compactionjobinfo_input_file_at = |info, pos| info.inputs.get(pos);
    /// One of the tables written.
    fn rocksdb_compactionjobinfo_output_file_at = |info, pos| info.outputs.get(pos);
    /// The path of a table with properties.
    fn rocksdb_compactionjobinfo_table_properties_key_at = |info, pos| info.properties.get(pos).map(|(path, _)| path);
}

info_elements! {
    for rocksdb_compactionjobinfo_t:
    /// One of the tables read.
    fn rocksdb_compactionjobinfo_input_file_info_at -> rocksdb_compaction_file_info_t = |info| &info.input_infos;
    /// One of the tables written.
    fn rocksdb_compactionjobinfo_output_file_info_at -> rocksdb_compaction_file_info_t = |info| &info.output_infos;
    /// One of the blob files written.
    fn rocksdb_compactionjobinfo_blob_file_addition_info_at -> rocksdb_blob_file_addition_info_t = |info| {
        &info.blob_files
    };
    /// The garbage in one of the blob files.
    fn rocksdb_compactionjobinfo_blob_file_garbage_info_at -> rocksdb_blob_file_garbage_info_t = |info| &info.garbage;
}

info_numbers! {
    for rocksdb_compactionjobinfo_t:
    /// The number of the column family.
    fn rocksdb_compactionjobinfo_cf_id -> u32 = |info| info.number(|info| info.column_family_id);
    /// The thread that compacts.
    fn rocksdb_compactionjobinfo_thread_id -> u64 = |info| info.number(|info| info.thread_id);
    /// The number of the job.
    fn rocksdb_compactionjobinfo_job_id -> c_int = |info| info.number(|info| int(info.job_id));
    /// Tables in level 0.
    fn rocksdb_compactionjobinfo_num_l0_files -> c_int = |info| info.number(|info| level(info.num_l0_files));
    /// The first level read.
    fn rocksdb_compactionjobinfo_base_input_level -> c_int = |info| info.number(|info| level(info.base_input_level));
    /// The level written.
    fn rocksdb_compactionjobinfo_output_level -> c_int = |info| info.number(|info| level(info.output_level));
    /// Why, as a number of RocksDB's.
    fn rocksdb_compactionjobinfo_compaction_reason -> u32 = |info| {
        info.number(|info| reason(info.compaction_reason))
    };
    /// How the outputs are compressed.
    fn rocksdb_compactionjobinfo_compression -> u32 = |info| info.number(|info| info.compression as u32);
    /// How values in blob files are compressed.
    fn rocksdb_compactionjobinfo_blob_compression_type -> u32 = |info| {
        info.number(|info| info.blob_compression_type as u32)
    };
    /// Whether a call or the end of the database stopped it.
    fn rocksdb_compactionjobinfo_aborted -> c_uchar = |info| info.number(|info| info.aborted.into());
    /// Tables read.
    fn rocksdb_compactionjobinfo_input_files_count -> usize = |info| info.inputs.len();
    /// Tables written.
    fn rocksdb_compactionjobinfo_output_files_count -> usize = |info| info.outputs.len();
    /// Tables read, with their levels.
    fn rocksdb_compactionjobinfo_input_file_infos_count -> usize = |info| info.input_infos.len();
    /// Tables written, with their levels.
    fn rocksdb_compactionjobinfo_output_file_infos_count -> usize = |info| info.output_infos.len();
    /// Tables whose properties are known.
    fn rocksdb_compactionjobinfo_table_properties_count -> usize = |info| info.properties.len();
    /// Blob files written.
    fn rocksdb_compactionjobinfo_blob_file_addition_infos_count -> usize = |info| info.blob_files.len();
    /// Blob files with garbage.
    fn rocksdb_compactionjobinfo_blob_file_garbage_infos_count -> usize = |info| info.garbage.len();
    /// How long it took, in microseconds.
    fn rocksdb_compactionjobinfo_elapsed_micros -> u64 = |info| info.number(|info| info.stats.elapsed_us);
    /// Keys that could not be read: none.
    fn rocksdb_compactionjobinfo_num_corrupt_keys -> u64 = |info| info.number(|info| info.stats.num_corrupt_keys);
    /// Entries read.
    fn rocksdb_compactionjobinfo_input_records -> u64 = |info| info.number(|info| info.stats.num_input_records);
    /// Entries written.
    fn rocksdb_compactionjobinfo_output_records -> u64 = |info| info.number(|info| info.stats.num_output_records);
    /// Bytes of the tables read.
    fn rocksdb_compactionjobinfo_total_input_bytes -> u64 = |info| info.number(|info| info.stats.total_input_bytes);
    /// Bytes of the tables written.
    fn rocksdb_compactionjobinfo_total_output_bytes -> u64 = |info| info.number(|info| info.stats.total_output_bytes);
    /// Tables read, moved or dropped.
    fn rocksdb_compactionjobinfo_num_input_files -> usize = |info| {
        info.number(|info| usize::try_from(info.stats.num_input_files).unwrap_or(usize::MAX))
    };
    /// Of these, those on the output level.
    fn rocksdb_compactionjobinfo_num_input_files_at_output_level -> usize = |info| {
        info.number(|info| usize::try_from(info.stats.num_input_files_at_output_level).unwrap_or(usize::MAX))
    };
}

info_numbers! {
    for rocksdb_compaction_file_info_t:
    /// The level of the table.
    fn rocksdb_compaction_file_info_level -> c_int = |info| level(info.0.level);
    /// Its number.
    fn rocksdb_compaction_file_info_file_number -> u64 = |info| info.0.file_number.0;
    /// The oldest blob file that it refers to; 0 without one.
    fn rocksdb_compaction_file_info_oldest_blob_file_number -> u64 = |info| {
        info.0.oldest_blob_file_number.unwrap_or_default().0
    };
}

/// A part of a compaction that begins or ended.
pub struct rocksdb_subcompactionjobinfo_t {
    info: SubcompactionJobInfo,
    name: Text,
    stats: rocksdb_compaction_job_stats_t,
}

impl rocksdb_subcompactionjobinfo_t {
    pub(super) fn new(info: &SubcompactionJobInfo) -> Self {
        let (name, stats) = (Text::of_name(&info.column_family), rocksdb_compaction_job_stats_t::new(&info.stats));
        Self { info: info.clone(), name, stats }
    }
}

info_texts! {
    for rocksdb_subcompactionjobinfo_t:
    /// The name of the column family.
    fn rocksdb_subcompactionjobinfo_cf_name = |info| &info.name;
}

info_parts! {
    for rocksdb_subcompactionjobinfo_t:
    /// The counts of the part.
    fn rocksdb_subcompactionjobinfo_stats -> rocksdb_compaction_job_stats_t = |info| &info.stats;
}

info_numbers! {
    for rocksdb_subcompactionjobinfo_t:
    /// The number of the column family.
    fn rocksdb_subcompactionjobinfo_cf_id -> u32 = |info| info.info.column_family_id;
    /// The thread of the part.
    fn rocksdb_subcompactionjobinfo_thread_id -> u64 = |info| info.info.thread_id;
    /// The number of the compaction.
    fn rocksdb_subcompactionjobinfo_job_id -> c_int = |info| int(info.info.job_id);
    /// The number of the part within it.
    fn rocksdb_subcompactionjobinfo_subcompaction_job_id -> c_int = |info| level(info.info.subcompaction_job_id);
    /// The first level read.
    fn rocksdb_subcompactionjobinfo_base_input_level -> c_int = |info| level(info.info.base_input_level);
    /// The level written.
    fn rocksdb_subcompactionjobinfo_output_level -> c_int = |info| level(info.info.output_level);
    /// Why, as a number of RocksDB's.
    fn rocksdb_subcompactionjobinfo_compaction_reason -> u32 = |info| reason(info.info.compaction_reason);
    /// How the outputs are compressed.
    fn rocksdb_subcompactionjobinfo_compression -> u32 = |info| info.info.compression as u32;
    /// How values in blob files are compressed.
    fn rocksdb_subcompactionjobinfo_blob_compression_type -> u32 = |info| info.info.blob_compression_type as u32;
}
