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
        BlockReadTime "block_read_time" counts
            "Nanoseconds of reading blocks; not those of reads that a batch makes together.",
        BlockReadCpuTime "block_read_cpu_time" counts "Nanoseconds of the processor of reading blocks.",
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
        BlockCacheIndexReadByte "block_cache_index_read_byte" counts
            "Bytes of memory of the index blocks that were found in the block cache.",
        BlockCacheFilterReadByte "block_cache_filter_read_byte" counts
            "Bytes of memory of the filter blocks that were found in the block cache.",
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
        BlockChecksumTime "block_checksum_time" counts "Nanoseconds of computing checksums of blocks.",
        BlockDecompressTime "block_decompress_time" counts "Nanoseconds of decompressing blocks.",
        BlockDecompressCount "block_decompress_count" counts "Blocks that were decompressed.",
        GetReadBytes "get_read_bytes" counts "Bytes of the values that lookups found.",
        MultigetReadBytes "multiget_read_bytes" counts "Bytes of the values that batches of lookups found.",
        IterReadBytes "iter_read_bytes" counts "Bytes of the keys and values that iterators came to.",
        BlobCacheHitCount "blob_cache_hit_count" counts "Values that were found in the blob cache.",
        BlobCacheReadByte "blob_cache_read_byte" counts "Bytes of the values that were found in the blob cache.",
        BlobReadCount "blob_read_count" counts "Reads of blob files for values.",
        BlobReadByte "blob_read_byte" counts "Bytes of these reads.",
        BlobReadTime "blob_read_time" counts
            "Nanoseconds of reading blob files; not those of reads that a future begins.",
        BlobChecksumTime "blob_checksum_time" counts "Nanoseconds of verifying the checksums of values in blob files.",
        BlobDecompressTime "blob_decompress_time" counts "Nanoseconds of decompressing values from blob files.",
        InternalKeySkippedCount "internal_key_skipped_count" counts
            "Older versions that an iterator passed going forward; deleted ones, too.",
        InternalDeleteSkippedCount "internal_delete_skipped_count" counts
            "Deletions that an iterator passed going forward, and what range deletions hide.",
        InternalRecentSkippedCount "internal_recent_skipped_count" counts
            "Entries that an iterator passed going forward as too new for what it sees.",
        InternalMergeCount "internal_merge_count" counts "Operands that iterators merged.",
        InternalMergePointLookupCount "internal_merge_point_lookup_count" counts "Operands that lookups merged.",
        InternalRangeDelReseekCount "internal_range_del_reseek_count" counts
            "Sources that iterators seeked to the end of a range deletion.",
        GetSnapshotTime "get_snapshot_time" counts "Nanoseconds until a lookup has what it reads from.",
        GetFromMemtableTime "get_from_memtable_time" counts "Nanoseconds of asking memtables, by lookups.",
        GetFromMemtableCount "get_from_memtable_count" counts "Memtables that lookups asked.",
        GetPostProcessTime "get_post_process_time" counts
            "Nanoseconds after a lookup has found its value: merges, and values in blob files.",
        GetFromOutputFilesTime "get_from_output_files_time" counts "Nanoseconds of asking tables, by lookups.",
        SeekOnMemtableTime "seek_on_memtable_time" counts "Nanoseconds of seeks of memtables, by iterators.",
        SeekOnMemtableCount "seek_on_memtable_count" counts "Seeks of memtables, by iterators.",
        NextOnMemtableCount "next_on_memtable_count" zero
            "a count would cost each step of a scan over memtables",
        PrevOnMemtableCount "prev_on_memtable_count" zero
            "a count would cost each step of a scan over memtables",
        SeekChildSeekTime "seek_child_seek_time" counts "Nanoseconds of seeks of all sources of iterators.",
        SeekChildSeekCount "seek_child_seek_count" counts "Seeks of sources of iterators.",
        SeekMinHeapTime "seek_min_heap_time" counts
            "Nanoseconds of ordering the sources of an iterator that was placed to go forward.",
        SeekMaxHeapTime "seek_max_heap_time" counts
            "Nanoseconds of ordering the sources of an iterator that was placed to go backward.",
        SeekInternalSeekTime "seek_internal_seek_time" counts
            "Nanoseconds of placing iterators on an entry, shown or not.",
        FindNextUserEntryTime "find_next_user_entry_time" counts
            "Nanoseconds from there to an entry that is shown, and of such searches in steps forward.",
        WriteWalTime "write_wal_time" counts "Nanoseconds of writing groups of batches to the log, by their leaders.",
        WriteMemtableTime "write_memtable_time" counts "Nanoseconds of putting batches into memtables.",
        WriteDelayTime "write_delay_time" counts "Nanoseconds for which writes were slowed down or stopped.",
        WriteSchedulingFlushesCompactionsTime "write_scheduling_flushes_compactions_time" counts
            "Nanoseconds of making room: changes of memtables and what they begin.",
        WritePreAndPostProcessTime "write_pre_and_post_process_time" counts
            "Nanoseconds of writes, by leaders, that are none of log, memtables and making room.",
        WriteThreadWaitNanos "write_thread_wait_nanos" counts
            "Nanoseconds of waiting to lead, or for the thread that leads.",
        DbMutexLockNanos "db_mutex_lock_nanos" zero "there is no mutex of the whole database",
        DbConditionWaitNanos "db_condition_wait_nanos" zero "there is no mutex of the whole database",
        MergeOperatorTimeNanos "merge_operator_time_nanos" counts "Nanoseconds of merge operators.",
        ReadIndexBlockNanos "read_index_block_nanos" counts "Nanoseconds of reading and decoding index blocks.",
        ReadFilterBlockNanos "read_filter_block_nanos" counts "Nanoseconds of reading and decoding filter blocks.",
        NewTableBlockIterNanos "new_table_block_iter_nanos" counts
            "Nanoseconds until a scan of a table has its next block, from the cache or the file.",
        NewTableIteratorNanos "new_table_iterator_nanos" counts
            "Nanoseconds until an iterator has one of a table, which is opened where it is not.",
        BlockSeekNanos "block_seek_nanos" counts "Nanoseconds of seeks in data blocks.",
        FindTableNanos "find_table_nanos" counts "Nanoseconds of finding tables that are open, and of opening others.",
        BloomMemtableHitCount "bloom_memtable_hit_count" counts "Lookups that the filter of a memtable let pass.",
        BloomMemtableMissCount "bloom_memtable_miss_count" counts "Lookups in a memtable that its filter ended.",
        BloomSstHitCount "bloom_sst_hit_count" counts "Lookups in tables that a filter let pass.",
        BloomSstMissCount "bloom_sst_miss_count" counts "Lookups in tables that a filter ended.",
        KeyLockWaitTime "key_lock_wait_time" zero "there are no transactions, whose locks these are",
        KeyLockWaitCount "key_lock_wait_count" zero "there are no transactions, whose locks these are",
        EnvNewSequentialFileNanos "env_new_sequential_file_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvNewRandomAccessFileNanos "env_new_random_access_file_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvNewWritableFileNanos "env_new_writable_file_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvReuseWritableFileNanos "env_reuse_writable_file_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvNewRandomRwFileNanos "env_new_random_rw_file_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvNewDirectoryNanos "env_new_directory_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvFileExistsNanos "env_file_exists_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvGetChildrenNanos "env_get_children_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvGetChildrenFileAttributesNanos "env_get_children_file_attributes_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvDeleteFileNanos "env_delete_file_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvCreateDirNanos "env_create_dir_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvCreateDirIfMissingNanos "env_create_dir_if_missing_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvDeleteDirNanos "env_delete_dir_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvGetFileSizeNanos "env_get_file_size_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvGetFileModificationTimeNanos "env_get_file_modification_time_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvRenameFileNanos "env_rename_file_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvLinkFileNanos "env_link_file_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvLockFileNanos "env_lock_file_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvUnlockFileNanos "env_unlock_file_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        EnvNewLoggerNanos "env_new_logger_nanos" zero
            "of an Env that times itself; `IoStatsContext` has times of files",
        GetCpuNanos "get_cpu_nanos" counts "Nanoseconds of the processor of lookups.",
        IterNextCpuNanos "iter_next_cpu_nanos" counts "Nanoseconds of the processor of steps forward.",
        IterPrevCpuNanos "iter_prev_cpu_nanos" counts "Nanoseconds of the processor of steps backward.",
        IterSeekCpuNanos "iter_seek_cpu_nanos" counts "Nanoseconds of the processor of seeks.",
        IterNextCount "iter_next_count" counts "Steps of iterators to the next key.",
        IterPrevCount "iter_prev_count" counts "Steps of iterators to the key before.",
        IterSeekCount "iter_seek_count" counts "Seeks of iterators.",
        EncryptDataNanos "encrypt_data_nanos" zero "files are not encrypted",
        DecryptDataNanos "decrypt_data_nanos" zero "files are not encrypted",
        NumberAsyncSeek "number_async_seek" zero
            "reads of scans are made by other rules; the property `ferrock.io` counts them",
        FileIngestionNanos "file_ingestion_nanos" counts "Nanoseconds of ingesting files.",
        FileIngestionBlockingLiveWritesNanos "file_ingestion_blocking_live_writes_nanos" counts
            "Nanoseconds of these for which writes waited.",
        DataBlockReadByte "data_block_read_byte" counts
            "Bytes of the data blocks that were read, as they are stored.",
        IndexBlockReadByte "index_block_read_byte" counts
            "Bytes of the index blocks that were read, as they are stored.",
        FilterBlockReadByte "filter_block_read_byte" counts
            "Bytes of the filter blocks that were read, as they are stored.",
        CompressionDictBlockReadByte "compression_dict_block_read_byte" zero
            "a dictionary stays with its open table",
        MetadataBlockReadByte "metadata_block_read_byte" counts
            "Bytes of the other blocks that were read: those of properties, and what leads to blocks.",
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
