//! Compaction in other processes.

use super::events::{rocksdb_eventlistener_t, rocksdb_table_properties_collector_factory_t};
use super::files::{rocksdb_file_checksum_gen_factory_t, rocksdb_logger_t};
use super::other::rocksdb_cuckoo_table_options_t;
use super::{not_built, unbuilt_types};
use crate::callback::Destructor;
use crate::compaction_filter::{rocksdb_compactionfilter_t, rocksdb_compactionfilterfactory_t};
use crate::comparator::rocksdb_comparator_t;
use crate::env::rocksdb_env_t;
use crate::kept::kept_options;
use crate::merge_operator::rocksdb_mergeoperator_t;
use crate::options::rocksdb_options_t;
use crate::slice_transform::rocksdb_slicetransform_t;
use crate::sst_partitioner::rocksdb_sst_partitioner_factory_t;
use crate::table_options::rocksdb_block_based_table_options_t;
use std::ffi::{c_char, c_int, c_uchar, c_void};

unbuilt_types! {
    rocksdb_compaction_service_options_override_t, rocksdb_compactionservice_jobinfo_t,
    rocksdb_compactionservice_scheduleresponse_t, rocksdb_compactionservice_t, rocksdb_open_and_compact_options_t,
}

kept_options! {
    for rocksdb_open_and_compact_options_t:
    asks allow_resumption: c_uchar = 0,
        rocksdb_open_and_compact_options_set_allow_resumption
        / rocksdb_open_and_compact_options_get_allow_resumption;
}

not_built! {
    fn rocksdb_compactionservice_scheduleresponse_create(
        scheduled_job_id: *const c_char, status: c_int,
    ) -> *mut rocksdb_compactionservice_scheduleresponse_t = error;
    fn rocksdb_compactionservice_scheduleresponse_create_with_status(
        status: c_int,
    ) -> *mut rocksdb_compactionservice_scheduleresponse_t = error;
    fn rocksdb_compactionservice_scheduleresponse_getstatus(
        response: *const rocksdb_compactionservice_scheduleresponse_t,
    ) -> c_int = neutral;
    fn rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(
        response: *const rocksdb_compactionservice_scheduleresponse_t, len: *mut usize,
    ) -> *const c_char = neutral(len);
    fn rocksdb_compactionservice_scheduleresponse_t_destroy(
        response: *mut rocksdb_compactionservice_scheduleresponse_t,
    ) = destroy;
    fn rocksdb_compactionservice_jobinfo_t_get_db_name(
        info: *const rocksdb_compactionservice_jobinfo_t, len: *mut usize,
    ) -> *const c_char = neutral(len);
    fn rocksdb_compactionservice_jobinfo_t_get_db_id(
        info: *const rocksdb_compactionservice_jobinfo_t, len: *mut usize,
    ) -> *const c_char = neutral(len);
    fn rocksdb_compactionservice_jobinfo_t_get_db_session_id(
        info: *const rocksdb_compactionservice_jobinfo_t, len: *mut usize,
    ) -> *const c_char = neutral(len);
    fn rocksdb_compactionservice_jobinfo_t_get_cf_name(
        info: *const rocksdb_compactionservice_jobinfo_t, len: *mut usize,
    ) -> *const c_char = neutral(len);
    fn rocksdb_compactionservice_jobinfo_t_get_cf_id(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> u32 = neutral;
    fn rocksdb_compactionservice_jobinfo_t_get_job_id(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> u64 = neutral;
    fn rocksdb_compactionservice_jobinfo_t_get_priority(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_int = neutral;
    fn rocksdb_compactionservice_jobinfo_t_get_compaction_reason(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_int = neutral;
    fn rocksdb_compactionservice_jobinfo_t_get_base_input_level(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_int = neutral;
    fn rocksdb_compactionservice_jobinfo_t_get_output_level(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_int = neutral;
    fn rocksdb_compactionservice_jobinfo_t_is_full_compaction(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_uchar = neutral;
    fn rocksdb_compactionservice_jobinfo_t_is_manual_compaction(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_uchar = neutral;
    fn rocksdb_compactionservice_jobinfo_t_is_bottommost_level(
        info: *const rocksdb_compactionservice_jobinfo_t,
    ) -> c_uchar = neutral;
    fn rocksdb_compactionservice_create(
        state: *mut c_void, destructor: Destructor, schedule: *const c_void, name: *const c_char,
        wait: *const c_void, cancel_awaiting_jobs: *const c_void, on_installation: *const c_void,
    ) -> *mut rocksdb_compactionservice_t = handle(state, destructor);
    fn rocksdb_options_set_compaction_service(
        options: *mut rocksdb_options_t, service: *mut rocksdb_compactionservice_t,
    ) = refuse(service);
    fn rocksdb_compaction_service_options_override_create(
        ,
    ) -> *mut rocksdb_compaction_service_options_override_t = handle;
    fn rocksdb_compaction_service_options_override_create_from_options(
        option: *mut rocksdb_options_t,
    ) -> *mut rocksdb_compaction_service_options_override_t = handle;
    fn rocksdb_compaction_service_options_override_destroy(
        override_options: *mut rocksdb_compaction_service_options_override_t,
    ) = destroy;
    fn rocksdb_compaction_service_options_override_set_env(
        override_options: *mut rocksdb_compaction_service_options_override_t, env: *mut rocksdb_env_t,
    ) = neutral;
    fn rocksdb_compaction_service_options_override_set_comparator(
        override_options: *mut rocksdb_compaction_service_options_override_t, comparator: *mut rocksdb_comparator_t,
    ) = neutral;
    fn rocksdb_compaction_service_options_override_set_merge_operator(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        merge_operator: *mut rocksdb_mergeoperator_t,
    ) = ends(merge_operator);
    fn rocksdb_compaction_service_options_override_set_compaction_filter(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        compaction_filter: *mut rocksdb_compactionfilter_t,
    ) = neutral;
    fn rocksdb_compaction_service_options_override_set_compaction_filter_factory(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        compaction_filter_factory: *mut rocksdb_compactionfilterfactory_t,
    ) = ends(compaction_filter_factory);
    fn rocksdb_compaction_service_options_override_set_prefix_extractor(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        prefix_extractor: *mut rocksdb_slicetransform_t,
    ) = ends(prefix_extractor);
    fn rocksdb_compaction_service_options_override_set_block_based_table_factory(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        table_options: *mut rocksdb_block_based_table_options_t,
    ) = neutral;
    fn rocksdb_compaction_service_options_override_set_cuckoo_table_factory(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        table_options: *mut rocksdb_cuckoo_table_options_t,
    ) = neutral;
    fn rocksdb_compaction_service_options_override_add_event_listener(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        event_listener: *mut rocksdb_eventlistener_t,
    ) = ends(event_listener);
    fn rocksdb_compaction_service_options_override_set_statistics(
        override_options: *mut rocksdb_compaction_service_options_override_t, options: *mut rocksdb_options_t,
    ) = neutral;
    fn rocksdb_compaction_service_options_override_set_info_log(
        override_options: *mut rocksdb_compaction_service_options_override_t, logger: *mut rocksdb_logger_t,
    ) = neutral;
    fn rocksdb_compaction_service_options_override_set_option(
        override_options: *mut rocksdb_compaction_service_options_override_t, key: *const c_char,
        value: *const c_char,
    ) = neutral;
    fn rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        factory: *mut rocksdb_file_checksum_gen_factory_t,
    ) = neutral;
    fn rocksdb_compaction_service_options_override_set_sst_partitioner_factory(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        factory: *mut rocksdb_sst_partitioner_factory_t,
    ) = neutral;
    fn rocksdb_compaction_service_options_override_add_table_properties_collector_factory(
        override_options: *mut rocksdb_compaction_service_options_override_t,
        factory: *mut rocksdb_table_properties_collector_factory_t,
    ) = neutral;
    fn rocksdb_open_and_compact_canceled_create() -> *mut c_uchar = neutral;
    fn rocksdb_open_and_compact_canceled_destroy(canceled: *mut c_uchar) = neutral;
    fn rocksdb_open_and_compact_canceled_set(canceled: *mut c_uchar, value: c_uchar) = neutral;
    fn rocksdb_open_and_compact_options_create() -> *mut rocksdb_open_and_compact_options_t = handle;
    fn rocksdb_open_and_compact_options_destroy(options: *mut rocksdb_open_and_compact_options_t) = destroy;
    fn rocksdb_open_and_compact_options_set_canceled(
        options: *mut rocksdb_open_and_compact_options_t, canceled: *mut c_uchar,
    ) = neutral;
    fn rocksdb_open_and_compact(
        db_path: *const c_char, output_directory: *const c_char, input: *const c_char, input_len: usize,
        output_len: *mut usize, override_options: *const rocksdb_compaction_service_options_override_t,
    ) -> *mut c_char = error(output_len);
    fn rocksdb_open_and_compact_with_options(
        options: *const rocksdb_open_and_compact_options_t, db_path: *const c_char, output_directory: *const c_char,
        input: *const c_char, input_len: usize, output_len: *mut usize,
        override_options: *const rocksdb_compaction_service_options_override_t,
    ) -> *mut c_char = error(output_len);
}
