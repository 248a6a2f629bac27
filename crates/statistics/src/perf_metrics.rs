//! What is counted of a thread.

use crate::measures::measures;

measures! {
    /// A sum of one thread: see [`PerfContext`](crate::PerfContext). Times are in nanoseconds.
    ///
    /// The order is that of RocksDB's report; its C interface has other numbers.
    PerfMetric {
        UserKeyComparisonCount "user_key_comparison_count" zero
            "searches compare words of keys, not keys, most of the time",
        BlockCacheHitCount "block_cache_hit_count" counts "Blocks that were found in the block cache.",
        BlockReadCount "block_read_count" counts "Blocks that were read.",
        BlockReadByte "block_read_byte" counts "Bytes of the blocks that were read, as they are stored.",
        BlockReadTime "block_read_time" counts "Nanoseconds of reading and decoding blocks.",
        BlockReadCpuTime "block_read_cpu_time" zero "not counted",
        BlockCacheIndexHitCount "block_cache_index_hit_count" counts
            "Index blocks that were found in the block cache.",
        BlockCacheStandaloneHandleCount "block_cache_standalone_handle_count" zero "there is no such cache",
        BlockCacheRealHandleCount "block_cache_real_handle_count" zero "there is no such cache",
        IndexBlockReadCount "index_block_read_count" counts "Index blocks that were read.",
        BlockCacheFilterHitCount "block_cache_filter_hit_count" counts
            "Filter blocks that were found in the block cache.",
        FilterBlockReadCount "filter_block_read_count" counts "Filter blocks that were read.",
        CompressionDictBlockReadCount "compression_dict_block_read_count" zero
            "a dictionary stays with its open table",
        BlockCacheIndexReadByte "block_cache_index_read_byte" zero "not counted",
        BlockCacheFilterReadByte "block_cache_filter_read_byte" zero "not counted",
        BlockCacheCompressionDictReadByte "block_cache_compression_dict_read_byte" zero
            "a dictionary stays with its open table",
        BlockCacheReadByte "block_cache_read_byte" counts
            "Bytes of memory of the blocks that were found in the block cache.",
        SecondaryCacheHitCount "secondary_cache_hit_count" zero "there is no such cache",
        CompressedSecCacheInsertRealCount "compressed_sec_cache_insert_real_count" zero
            "there is no such cache",
        CompressedSecCacheInsertDummyCount "compressed_sec_cache_insert_dummy_count" zero
            "there is no such cache",
        CompressedSecCacheUncompressedBytes "compressed_sec_cache_uncompressed_bytes" zero
            "there is no such cache",
        CompressedSecCacheCompressedBytes "compressed_sec_cache_compressed_bytes" zero "there is no such cache",
        BlockChecksumTime "block_checksum_time" zero "not counted",
        BlockDecompressTime "block_decompress_time" zero "not counted",
        BlockDecompressCount "block_decompress_count" counts "Blocks that were decompressed.",
        GetReadBytes "get_read_bytes" counts "Bytes of the values that lookups found.",
        MultigetReadBytes "multiget_read_bytes" counts "Bytes of the values that batches of lookups found.",
        IterReadBytes "iter_read_bytes" counts "Bytes of the keys and values that iterators came to.",
        BlobCacheHitCount "blob_cache_hit_count" zero "not counted",
        BlobCacheReadByte "blob_cache_read_byte" zero "not counted",
        BlobReadCount "blob_read_count" zero "not counted",
        BlobReadByte "blob_read_byte" zero "not counted",
        BlobReadTime "blob_read_time" zero "not counted",
        BlobChecksumTime "blob_checksum_time" zero "not counted",
        BlobDecompressTime "blob_decompress_time" zero "not counted",
        InternalKeySkippedCount "internal_key_skipped_count" counts
            "Entries that an iterator passed as older versions, or as deletions, of a key.",
        InternalDeleteSkippedCount "internal_delete_skipped_count" zero "not counted",
        InternalRecentSkippedCount "internal_recent_skipped_count" zero "not counted",
        InternalMergeCount "internal_merge_count" zero "not counted",
        InternalMergePointLookupCount "internal_merge_point_lookup_count" zero "not counted",
        InternalRangeDelReseekCount "internal_range_del_reseek_count" zero "not counted",
        GetSnapshotTime "get_snapshot_time" zero "not counted",
        GetFromMemtableTime "get_from_memtable_time" zero "not counted",
        GetFromMemtableCount "get_from_memtable_count" counts "Memtables that lookups asked.",
        GetPostProcessTime "get_post_process_time" zero
            "not counted",
        GetFromOutputFilesTime "get_from_output_files_time" zero "not counted",
        SeekOnMemtableTime "seek_on_memtable_time" zero "not counted",
        SeekOnMemtableCount "seek_on_memtable_count" zero "not counted",
        NextOnMemtableCount "next_on_memtable_count" zero "not counted",
        PrevOnMemtableCount "prev_on_memtable_count" zero "not counted",
        SeekChildSeekTime "seek_child_seek_time" zero "not counted",
        SeekChildSeekCount "seek_child_seek_count" zero "not counted",
        SeekMinHeapTime "seek_min_heap_time" zero "not counted",
        SeekMaxHeapTime "seek_max_heap_time" zero "not counted",
        SeekInternalSeekTime "seek_internal_seek_time" zero "not counted",
        FindNextUserEntryTime "find_next_user_entry_time" zero "not counted",
        WriteWalTime "write_wal_time" zero "not counted",
        WriteMemtableTime "write_memtable_time" zero "not counted",
        WriteDelayTime "write_delay_time" counts "Nanoseconds for which writes were slowed down or stopped.",
        WriteSchedulingFlushesCompactionsTime "write_scheduling_flushes_compactions_time" zero "not counted",
        WritePreAndPostProcessTime "write_pre_and_post_process_time" zero "not counted",
        WriteThreadWaitNanos "write_thread_wait_nanos" zero "not counted",
        DbMutexLockNanos "db_mutex_lock_nanos" zero "there is no mutex of the whole database",
        DbConditionWaitNanos "db_condition_wait_nanos" zero "there is no mutex of the whole database",
        MergeOperatorTimeNanos "merge_operator_time_nanos" zero "not counted",
        ReadIndexBlockNanos "read_index_block_nanos" zero "not counted",
        ReadFilterBlockNanos "read_filter_block_nanos" zero "not counted",
        NewTableBlockIterNanos "new_table_block_iter_nanos" zero "not counted",
        NewTableIteratorNanos "new_table_iterator_nanos" zero "not counted",
        BlockSeekNanos "block_seek_nanos" zero "not counted",
        FindTableNanos "find_table_nanos" zero "not counted",
        BloomMemtableHitCount "bloom_memtable_hit_count" zero "not counted",
        BloomMemtableMissCount "bloom_memtable_miss_count" zero "not counted",
        BloomSstHitCount "bloom_sst_hit_count" counts "Lookups in tables that a filter let pass.",
        BloomSstMissCount "bloom_sst_miss_count" counts "Lookups in tables that a filter ended.",
        KeyLockWaitTime "key_lock_wait_time" zero "there is no such thing",
        KeyLockWaitCount "key_lock_wait_count" zero "there is no such thing",
        EnvNewSequentialFileNanos "env_new_sequential_file_nanos" zero "there is no such thing",
        EnvNewRandomAccessFileNanos "env_new_random_access_file_nanos" zero "there is no such thing",
        EnvNewWritableFileNanos "env_new_writable_file_nanos" zero "there is no such thing",
        EnvReuseWritableFileNanos "env_reuse_writable_file_nanos" zero "there is no such thing",
        EnvNewRandomRwFileNanos "env_new_random_rw_file_nanos" zero "there is no such thing",
        EnvNewDirectoryNanos "env_new_directory_nanos" zero "there is no such thing",
        EnvFileExistsNanos "env_file_exists_nanos" zero "there is no such thing",
        EnvGetChildrenNanos "env_get_children_nanos" zero "there is no such thing",
        EnvGetChildrenFileAttributesNanos "env_get_children_file_attributes_nanos" zero
            "there is no such thing",
        EnvDeleteFileNanos "env_delete_file_nanos" zero "there is no such thing",
        EnvCreateDirNanos "env_create_dir_nanos" zero "there is no such thing",
        EnvCreateDirIfMissingNanos "env_create_dir_if_missing_nanos" zero "there is no such thing",
        EnvDeleteDirNanos "env_delete_dir_nanos" zero "there is no such thing",
        EnvGetFileSizeNanos "env_get_file_size_nanos" zero "there is no such thing",
        EnvGetFileModificationTimeNanos "env_get_file_modification_time_nanos" zero "there is no such thing",
        EnvRenameFileNanos "env_rename_file_nanos" zero "there is no such thing",
        EnvLinkFileNanos "env_link_file_nanos" zero "there is no such thing",
        EnvLockFileNanos "env_lock_file_nanos" zero "there is no such thing",
        EnvUnlockFileNanos "env_unlock_file_nanos" zero "there is no such thing",
        EnvNewLoggerNanos "env_new_logger_nanos" zero "there is no such thing",
        GetCpuNanos "get_cpu_nanos" zero "not counted",
        IterNextCpuNanos "iter_next_cpu_nanos" zero "not counted",
        IterPrevCpuNanos "iter_prev_cpu_nanos" zero "not counted",
        IterSeekCpuNanos "iter_seek_cpu_nanos" zero "not counted",
        IterNextCount "iter_next_count" counts "Steps of iterators to the next key.",
        IterPrevCount "iter_prev_count" counts "Steps of iterators to the key before.",
        IterSeekCount "iter_seek_count" counts "Seeks of iterators.",
        EncryptDataNanos "encrypt_data_nanos" zero "there is no such thing",
        DecryptDataNanos "decrypt_data_nanos" zero "there is no such thing",
        NumberAsyncSeek "number_async_seek" zero
            "reads of scans are made by other rules; the property `ferrock.io` counts them",
        FileIngestionNanos "file_ingestion_nanos" zero "not counted",
        FileIngestionBlockingLiveWritesNanos "file_ingestion_blocking_live_writes_nanos" zero "not counted",
        DataBlockReadByte "data_block_read_byte" counts
            "Bytes of the data blocks that were read, as they are stored.",
        IndexBlockReadByte "index_block_read_byte" counts
            "Bytes of the index blocks that were read, as they are stored.",
        FilterBlockReadByte "filter_block_read_byte" counts
            "Bytes of the filter blocks that were read, as they are stored.",
        CompressionDictBlockReadByte "compression_dict_block_read_byte" zero
            "a dictionary stays with its open table",
        MetadataBlockReadByte "metadata_block_read_byte" zero "not counted",
        MultiscanPrepareCount "multiscan_prepare_count" zero
            "reads of scans are made by other rules; the property `ferrock.io` counts them",
        MultiscanBlocksPrefetched "multiscan_blocks_prefetched" zero
            "reads of scans are made by other rules; the property `ferrock.io` counts them",
        MultiscanBlocksFromCache "multiscan_blocks_from_cache" zero
            "reads of scans are made by other rules; the property `ferrock.io` counts them",
        MultiscanPrefetchBytes "multiscan_prefetch_bytes" zero
            "reads of scans are made by other rules; the property `ferrock.io` counts them",
        MultiscanIoRequests "multiscan_io_requests" zero
            "reads of scans are made by other rules; the property `ferrock.io` counts them",
        MultiscanIoCoalescedNonadjacent "multiscan_io_coalesced_nonadjacent" zero
            "reads of scans are made by other rules; the property `ferrock.io` counts them",
    }
}
