//! Tickers: sums since the statistics were made, or reset.

use crate::measures::measures;

measures! {
    /// A sum.
    ///
    /// ```
    /// use ferrock_statistics::Ticker;
    ///
    /// assert_eq!(Ticker::BlockCacheMiss.name(), "rocksdb.block.cache.miss");
    /// assert_eq!(Ticker::from_number(0), Some(Ticker::BlockCacheMiss));
    /// assert_eq!(Ticker::from_name("rocksdb.number.keys.read"), Some(Ticker::NumberKeysRead));
    /// assert!(!Ticker::RowCacheHit.is_counted());
    /// ```
    Ticker {
        BlockCacheMiss "rocksdb.block.cache.miss" counts
            "Blocks that were looked for in the block cache and not there.",
        BlockCacheHit "rocksdb.block.cache.hit" counts "Blocks that were found in the block cache.",
        BlockCacheAdd "rocksdb.block.cache.add" counts "Blocks that were put into the block cache.",
        BlockCacheAddFailures "rocksdb.block.cache.add.failures" counts
            "Blocks that a block cache with a strict limit refused.",
        BlockCacheIndexMiss "rocksdb.block.cache.index.miss" counts "Index blocks among the misses.",
        BlockCacheIndexHit "rocksdb.block.cache.index.hit" counts "Index blocks among the hits.",
        BlockCacheIndexAdd "rocksdb.block.cache.index.add" counts "Index blocks among those that were put in.",
        BlockCacheIndexBytesInsert "rocksdb.block.cache.index.bytes.insert" counts
            "Bytes of memory of those index blocks.",
        BlockCacheFilterMiss "rocksdb.block.cache.filter.miss" counts "Filter blocks among the misses.",
        BlockCacheFilterHit "rocksdb.block.cache.filter.hit" counts "Filter blocks among the hits.",
        BlockCacheFilterAdd "rocksdb.block.cache.filter.add" counts "Filter blocks among those that were put in.",
        BlockCacheFilterBytesInsert "rocksdb.block.cache.filter.bytes.insert" counts
            "Bytes of memory of those filter blocks.",
        BlockCacheDataMiss "rocksdb.block.cache.data.miss" counts "Data blocks among the misses.",
        BlockCacheDataHit "rocksdb.block.cache.data.hit" counts "Data blocks among the hits.",
        BlockCacheDataAdd "rocksdb.block.cache.data.add" counts "Data blocks among those that were put in.",
        BlockCacheDataBytesInsert "rocksdb.block.cache.data.bytes.insert" counts
            "Bytes of memory of those data blocks.",
        BlockCacheBytesRead "rocksdb.block.cache.bytes.read" counts
            "Bytes of memory of the blocks that were found.",
        BlockCacheBytesWrite "rocksdb.block.cache.bytes.write" counts
            "Bytes of memory of the blocks that were put in.",
        BlockCacheCompressionDictMiss "rocksdb.block.cache.compression.dict.miss" zero
            "a dictionary stays with its open table, and threads that miss the same block share one load",
        BlockCacheCompressionDictHit "rocksdb.block.cache.compression.dict.hit" zero
            "a dictionary stays with its open table, and threads that miss the same block share one load",
        BlockCacheCompressionDictAdd "rocksdb.block.cache.compression.dict.add" zero
            "a dictionary stays with its open table, and threads that miss the same block share one load",
        BlockCacheCompressionDictBytesInsert "rocksdb.block.cache.compression.dict.bytes.insert" zero
            "a dictionary stays with its open table, and threads that miss the same block share one load",
        BlockCacheAddRedundant "rocksdb.block.cache.add.redundant" zero
            "a dictionary stays with its open table, and threads that miss the same block share one load",
        BlockCacheIndexAddRedundant "rocksdb.block.cache.index.add.redundant" zero
            "a dictionary stays with its open table, and threads that miss the same block share one load",
        BlockCacheFilterAddRedundant "rocksdb.block.cache.filter.add.redundant" zero
            "a dictionary stays with its open table, and threads that miss the same block share one load",
        BlockCacheDataAddRedundant "rocksdb.block.cache.data.add.redundant" zero
            "a dictionary stays with its open table, and threads that miss the same block share one load",
        BlockCacheCompressionDictAddRedundant "rocksdb.block.cache.compression.dict.add.redundant" zero
            "a dictionary stays with its open table, and threads that miss the same block share one load",
        SecondaryCacheHits "rocksdb.secondary.cache.hits" zero "there is no such cache",
        SecondaryCacheFilterHits "rocksdb.secondary.cache.filter.hits" zero "there is no such cache",
        SecondaryCacheIndexHits "rocksdb.secondary.cache.index.hits" zero "there is no such cache",
        SecondaryCacheDataHits "rocksdb.secondary.cache.data.hits" zero "there is no such cache",
        CompressedSecondaryCacheDummyHits "rocksdb.compressed.secondary.cache.dummy.hits" zero
            "there is no such cache",
        CompressedSecondaryCacheHits "rocksdb.compressed.secondary.cache.hits" zero "there is no such cache",
        CompressedSecondaryCachePromotions "rocksdb.compressed.secondary.cache.promotions" zero
            "there is no such cache",
        CompressedSecondaryCachePromotionSkips "rocksdb.compressed.secondary.cache.promotion.skips" zero
            "there is no such cache",
        BloomFilterUseful "rocksdb.bloom.filter.useful" counts
            "Lookups in a table that its filter of whole keys ended.",
        BloomFilterFullPositive "rocksdb.bloom.filter.full.positive" counts
            "Lookups in a table that its filter of whole keys let pass.",
        BloomFilterFullTruePositive "rocksdb.bloom.filter.full.true.positive" counts
            "Those whose key the table had.",
        BloomFilterPrefixChecked "rocksdb.bloom.filter.prefix.checked" counts
            "Lookups and seeks in a table for which its filter of prefixes was asked.",
        BloomFilterPrefixUseful "rocksdb.bloom.filter.prefix.useful" counts "Those that the filter ended.",
        BloomFilterPrefixTruePositive "rocksdb.bloom.filter.prefix.true.positive" counts
            "Lookups whose key a table had, after a filter of prefixes had let it pass.",
        PersistentCacheHit "rocksdb.persistent.cache.hit" zero "there is no such cache",
        PersistentCacheMiss "rocksdb.persistent.cache.miss" zero "there is no such cache",
        SimBlockCacheHit "rocksdb.sim.block.cache.hit" zero "there is no such cache",
        SimBlockCacheMiss "rocksdb.sim.block.cache.miss" zero "there is no such cache",
        MemtableHit "rocksdb.memtable.hit" counts "Lookups that ended in a memtable.",
        MemtableMiss "rocksdb.memtable.miss" counts "Lookups that went on to tables.",
        GetHitL0 "rocksdb.l0.hit" counts "Lookups that ended in level 0.",
        GetHitL1 "rocksdb.l1.hit" counts "Lookups that ended in level 1.",
        GetHitL2AndUp "rocksdb.l2andup.hit" counts "Lookups that ended in a deeper level.",
        CompactionKeyDropNewerEntry "rocksdb.compaction.key.drop.new" counts
            "Entries that a compaction dropped for a newer one of their key.",
        CompactionKeyDropObsolete "rocksdb.compaction.key.drop.obsolete" counts
            "Deletions that a compaction dropped, as nothing was left for them to hide.",
        CompactionKeyDropRangeDel "rocksdb.compaction.key.drop.range_del" counts
            "Entries that a compaction dropped under a range deletion.",
        CompactionKeyDropUser "rocksdb.compaction.key.drop.user" counts "Entries that a compaction filter removed.",
        CompactionRangeDelDropObsolete "rocksdb.compaction.range_del.drop.obsolete" counts
            "Range deletions that a compaction dropped, as nothing was left for them to delete.",
        CompactionOptimizedDelDropObsolete "rocksdb.compaction.optimized.del.drop.obsolete" zero
            "a deletion that goes counts as `rocksdb.compaction.key.drop.obsolete`",
        CompactionCancelled "rocksdb.compaction.cancelled" counts "Compactions that were told to end.",
        CompactionAborted "rocksdb.compaction.aborted" counts "Compactions that `abort_all_compactions` ended.",
        NumberKeysWritten "rocksdb.number.keys.written" counts "Records of batches that were written.",
        NumberKeysRead "rocksdb.number.keys.read" counts "Keys that were looked up.",
        NumberKeysUpdated "rocksdb.number.keys.updated" counts
            "Values that were written over where they lay in a memtable (`inplace_update_support`).",
        BytesWritten "rocksdb.bytes.written" counts "Bytes of batches that were written.",
        BytesRead "rocksdb.bytes.read" counts "Bytes of values that lookups found.",
        NumberDbSeek "rocksdb.number.db.seek" counts "Seeks of iterators.",
        NumberDbNext "rocksdb.number.db.next" counts "Steps of iterators to the next key.",
        NumberDbPrev "rocksdb.number.db.prev" counts "Steps of iterators to the key before.",
        NumberDbSeekFound "rocksdb.number.db.seek.found" counts "Seeks that came to a key.",
        NumberDbNextFound "rocksdb.number.db.next.found" counts "Steps forward that came to a key.",
        NumberDbPrevFound "rocksdb.number.db.prev.found" counts "Steps backward that came to a key.",
        IterBytesRead "rocksdb.db.iter.bytes.read" counts "Bytes of the keys and values that iterators came to.",
        NumberIterSkip "rocksdb.number.iter.skip" counts "Hidden entries that iterators passed.",
        NumberOfReseeksInIteration "rocksdb.number.reseeks.iteration" counts
            "Seeks of iterators past many versions of a key.",
        NoIteratorCreated "rocksdb.num.iterator.created" counts "Iterators that were made.",
        NoIteratorDeleted "rocksdb.num.iterator.deleted" counts "Iterators that were dropped.",
        NoFileOpens "rocksdb.no.file.opens" counts "Tables that were opened.",
        NoFileErrors "rocksdb.no.file.errors" counts "Tables that could not be opened.",
        StallMicros "rocksdb.stall.micros" counts "Microseconds for which writers were slowed down or stopped.",
        DbMutexWaitMicros "rocksdb.db.mutex.wait.micros" zero "there is no mutex of the whole database",
        NumberMultigetCalls "rocksdb.number.multiget.get" counts "Batches of keys that were looked up.",
        NumberMultigetKeysRead "rocksdb.number.multiget.keys.read" counts "Keys of these batches.",
        NumberMultigetBytesRead "rocksdb.number.multiget.bytes.read" counts "Bytes of the values that they found.",
        NumberMultigetKeysFound "rocksdb.number.multiget.keys.found" counts
            "Keys of these batches that have a value.",
        NumberMergeFailures "rocksdb.number.merge.failures" counts "Merges that their operator refused.",
        GetUpdatesSinceCalls "rocksdb.getupdatessince.calls" counts "Readers of the log that were made.",
        WalFileSynced "rocksdb.wal.synced" counts "Syncs of the log.",
        WalFileBytes "rocksdb.wal.bytes" counts "Bytes of batches that went to the log.",
        WalPrecreateHit "rocksdb.wal.precreate.hit" zero "logs are not made before they are needed",
        WalPrecreateMiss "rocksdb.wal.precreate.miss" zero "logs are not made before they are needed",
        WalPrecreateWaited "rocksdb.wal.precreate.waited" zero "logs are not made before they are needed",
        WalPrecreateWaitMicros "rocksdb.wal.precreate.wait.micros" zero "logs are not made before they are needed",
        WalPrecreateFailed "rocksdb.wal.precreate.failed" zero "logs are not made before they are needed",
        WriteDoneBySelf "rocksdb.write.self" counts "Batches whose thread led its group.",
        WriteDoneByOther "rocksdb.write.other" counts "Batches that another thread wrote.",
        WriteWithWal "rocksdb.write.wal" counts "Batches that went to the log.",
        CompactReadBytes "rocksdb.compact.read.bytes" counts "Bytes of tables and blobs that compactions read.",
        CompactWriteBytes "rocksdb.compact.write.bytes" counts "Bytes of tables and blobs that compactions wrote.",
        FlushWriteBytes "rocksdb.flush.write.bytes" counts "Bytes of tables and blobs that flushes wrote.",
        CompactReadBytesMarked "rocksdb.compact.read.marked.bytes" counts
            "Bytes read by compactions of marked files.",
        CompactReadBytesPeriodic "rocksdb.compact.read.periodic.bytes" counts
            "Bytes read by compactions that were due by `periodic_compaction_seconds`.",
        CompactReadBytesTtl "rocksdb.compact.read.ttl.bytes" counts
            "Bytes read by compactions that were due by `ttl`.",
        CompactWriteBytesMarked "rocksdb.compact.write.marked.bytes" counts
            "Bytes written by compactions of marked files.",
        CompactWriteBytesPeriodic "rocksdb.compact.write.periodic.bytes" counts
            "Bytes written by compactions that were due by `periodic_compaction_seconds`.",
        CompactWriteBytesTtl "rocksdb.compact.write.ttl.bytes" counts
            "Bytes written by compactions that were due by `ttl`.",
        NumberDirectLoadTableProperties "rocksdb.number.direct.load.table.properties" zero
            "properties are those of open tables",
        NumberSuperversionAcquires "rocksdb.number.superversion_acquires" zero
            "a read takes the reference of its thread",
        NumberSuperversionReleases "rocksdb.number.superversion_releases" zero
            "a read takes the reference of its thread",
        NumberSuperversionCleanups "rocksdb.number.superversion_cleanups" zero
            "a read takes the reference of its thread",
        NumberBlockCompressed "rocksdb.number.block.compressed" counts
            "Blocks of tables that were stored compressed.",
        NumberBlockDecompressed "rocksdb.number.block.decompressed" counts
            "Blocks of tables that were decompressed.",
        BytesCompressedFrom "rocksdb.bytes.compressed.from" counts
            "Bytes of the blocks that were stored compressed, before it.",
        BytesCompressedTo "rocksdb.bytes.compressed.to" counts "Bytes of the same blocks, after it.",
        BytesCompressionBypassed "rocksdb.bytes.compression_bypassed" counts "Bytes of blocks of families without compression.",
        BytesCompressionRejected "rocksdb.bytes.compression.rejected" counts
            "Bytes of blocks that did not become smaller.",
        NumberBlockCompressionBypassed "rocksdb.number.block_compression_bypassed" counts "Blocks of families without compression.",
        NumberBlockCompressionRejected "rocksdb.number.block_compression_rejected" counts
            "Blocks that did not become smaller.",
        BytesDecompressedFrom "rocksdb.bytes.decompressed.from" counts
            "Bytes of the blocks that were decompressed, before it.",
        BytesDecompressedTo "rocksdb.bytes.decompressed.to" counts "Bytes of the same blocks, after it.",
        MergeOperationTotalTime "rocksdb.merge.operation.time.nanos" counts "Nanoseconds of merge operators.",
        FilterOperationTotalTime "rocksdb.filter.operation.time.nanos" counts "Nanoseconds of compaction filters.",
        CompactionCpuTotalTime "rocksdb.compaction.total.time.cpu_micros" counts
            "Microseconds of the processor that compactions took.",
        RowCacheHit "rocksdb.row.cache.hit" zero "there is no such cache",
        RowCacheMiss "rocksdb.row.cache.miss" zero "there is no such cache",
        ReadAmpEstimateUsefulBytes "rocksdb.read.amp.estimate.useful.bytes" zero
            "of `read_amp_bytes_per_bit`, which has no effect",
        ReadAmpTotalReadBytes "rocksdb.read.amp.total.read.bytes" zero
            "of `read_amp_bytes_per_bit`, which has no effect",
        NumberRateLimiterDrains "rocksdb.number.rate_limiter.drains" counts
            "Times a request found too few bytes in the rate limiter.",
        RateLimiterBytesRead "rocksdb.rate.limiter.bytes.read" counts
            "Bytes of reads for which the rate limiter was asked.",
        RateLimiterBytesWrite "rocksdb.rate.limiter.bytes.write" counts
            "Bytes of writes for which the rate limiter was asked.",
        RateLimiterRequestsRead "rocksdb.rate.limiter.requests.read" counts "Requests of reads to the rate limiter.",
        RateLimiterRequestsWrite "rocksdb.rate.limiter.requests.write" counts "Requests of writes to the rate limiter.",
        RateLimiterDelayedRequestsRead "rocksdb.rate.limiter.delayed.requests.read" counts "Those that waited.",
        RateLimiterDelayedRequestsWrite "rocksdb.rate.limiter.delayed.requests.write" counts "Those that waited.",
        RateLimiterTotalWaitMicrosRead "rocksdb.rate.limiter.total.wait.micros.read" counts
            "Microseconds for which they waited.",
        RateLimiterTotalWaitMicrosWrite "rocksdb.rate.limiter.total.wait.micros.write" counts
            "Microseconds for which they waited.",
        BlobDbNumPut "rocksdb.blobdb.num.put" zero "of the stacked BlobDB, which blob files replace",
        BlobDbNumWrite "rocksdb.blobdb.num.write" zero "of the stacked BlobDB, which blob files replace",
        BlobDbNumGet "rocksdb.blobdb.num.get" zero "of the stacked BlobDB, which blob files replace",
        BlobDbNumMultiget "rocksdb.blobdb.num.multiget" zero "of the stacked BlobDB, which blob files replace",
        BlobDbNumSeek "rocksdb.blobdb.num.seek" zero "of the stacked BlobDB, which blob files replace",
        BlobDbNumNext "rocksdb.blobdb.num.next" zero "of the stacked BlobDB, which blob files replace",
        BlobDbNumPrev "rocksdb.blobdb.num.prev" zero "of the stacked BlobDB, which blob files replace",
        BlobDbNumKeysWritten "rocksdb.blobdb.num.keys.written" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbNumKeysRead "rocksdb.blobdb.num.keys.read" zero "of the stacked BlobDB, which blob files replace",
        BlobDbBytesWritten "rocksdb.blobdb.bytes.written" zero "of the stacked BlobDB, which blob files replace",
        BlobDbBytesRead "rocksdb.blobdb.bytes.read" zero "of the stacked BlobDB, which blob files replace",
        BlobDbWriteInlinedDeprecated "rocksdb.blobdb.write.inlined" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbWriteInlinedTtlDeprecated "rocksdb.blobdb.write.inlined.ttl" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbWriteBlob "rocksdb.blobdb.write.blob" zero "of the stacked BlobDB, which blob files replace",
        BlobDbWriteBlobTtl "rocksdb.blobdb.write.blob.ttl" zero "of the stacked BlobDB, which blob files replace",
        BlobDbBlobFileBytesWritten "rocksdb.blobdb.blob.file.bytes.written" counts "Bytes that jobs wrote into blob files.",
        BlobDbBlobFileBytesRead "rocksdb.blobdb.blob.file.bytes.read" counts "Bytes of blob files that were read for values.",
        BlobDbBlobFileSynced "rocksdb.blobdb.blob.file.synced" counts "Syncs of blob files by jobs.",
        BlobDbBlobIndexExpiredCount "rocksdb.blobdb.blob.index.expired.count" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbBlobIndexExpiredSize "rocksdb.blobdb.blob.index.expired.size" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbBlobIndexEvictedCount "rocksdb.blobdb.blob.index.evicted.count" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbBlobIndexEvictedSize "rocksdb.blobdb.blob.index.evicted.size" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbGcNumFiles "rocksdb.blobdb.gc.num.files" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbGcNumNewFiles "rocksdb.blobdb.gc.num.new.files" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbGcFailures "rocksdb.blobdb.gc.failures" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbGcNumKeysRelocated "rocksdb.blobdb.gc.num.keys.relocated" counts
            "Values that compactions took from blob files that they collect.",
        BlobDbGcBytesRelocated "rocksdb.blobdb.gc.bytes.relocated" counts
            "Their bytes as those files store them.",
        BlobDbFifoNumFilesEvicted "rocksdb.blobdb.fifo.num.files.evicted" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbFifoNumKeysEvicted "rocksdb.blobdb.fifo.num.keys.evicted" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbFifoBytesEvicted "rocksdb.blobdb.fifo.bytes.evicted" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbCacheMiss "rocksdb.blobdb.cache.miss" counts
            "Values of blob files that were looked for in the blob cache and not there.",
        BlobDbCacheHit "rocksdb.blobdb.cache.hit" counts "Values that were found in the blob cache.",
        BlobDbCacheAdd "rocksdb.blobdb.cache.add" counts "Values that were put into the blob cache.",
        BlobDbCacheAddFailures "rocksdb.blobdb.cache.add.failures" counts
            "Values that a blob cache with a strict limit refused.",
        BlobDbCacheBytesRead "rocksdb.blobdb.cache.bytes.read" counts "Bytes of the values that were found.",
        BlobDbCacheBytesWrite "rocksdb.blobdb.cache.bytes.write" counts "Bytes of the values that were put in.",
        TxnPrepareMutexOverhead "rocksdb.txn.overhead.mutex.prepare" zero
            "there are no transactions and no user timestamps",
        TxnOldCommitMapMutexOverhead "rocksdb.txn.overhead.mutex.old.commit.map" zero
            "there are no transactions and no user timestamps",
        TxnDuplicateKeyOverhead "rocksdb.txn.overhead.duplicate.key" zero
            "there are no transactions and no user timestamps",
        TxnSnapshotMutexOverhead "rocksdb.txn.overhead.mutex.snapshot" zero
            "there are no transactions and no user timestamps",
        TxnGetTryAgain "rocksdb.txn.get.tryagain" zero "there are no transactions and no user timestamps",
        FilesMarkedTrash "rocksdb.files.marked.trash" counts "Files that became trash, to be removed at a rate.",
        FilesDeletedFromTrashQueue "rocksdb.files.marked.trash.deleted" counts "Those that were removed.",
        FilesDeletedImmediately "rocksdb.files.deleted.immediately" counts "Files that were removed without pacing.",
        ErrorHandlerBgErrorCount "rocksdb.error.handler.bg.error.count" counts "Background errors.",
        ErrorHandlerBgIoErrorCount "rocksdb.error.handler.bg.io.error.count" counts
            "Background errors of reading and writing.",
        ErrorHandlerBgRetryableIoErrorCount "rocksdb.error.handler.bg.retryable.io.error.count" counts
            "Those of a file system whose cause may pass.",
        ErrorHandlerAutoresumeCount "rocksdb.error.handler.autoresume.count" counts "Background errors that a thread began to leave.",
        ErrorHandlerAutoresumeRetryTotalCount "rocksdb.error.handler.autoresume.retry.total.count" counts
            "Attempts to leave them.",
        ErrorHandlerAutoresumeSuccessCount "rocksdb.error.handler.autoresume.success.count" counts "Attempts that succeeded.",
        MemtablePayloadBytesAtFlush "rocksdb.memtable.payload.bytes.at.flush" counts
            "Bytes of keys and values of the memtables of flushes.",
        MemtableGarbageBytesAtFlush "rocksdb.memtable.garbage.bytes.at.flush" counts
            "Those that no table got: hidden ones, and values in blob files.",
        VerifyChecksumReadBytes "rocksdb.verify_checksum.read.bytes" counts "Bytes of tables that `verify_checksum` read.",
        BackupReadBytes "rocksdb.backup.read.bytes" counts "Bytes of the database that backups read.",
        BackupWriteBytes "rocksdb.backup.write.bytes" counts "Bytes that backups wrote.",
        RemoteCompactReadBytes "rocksdb.remote.compact.read.bytes" counts
            "Bytes that compactions in other processes read.",
        RemoteCompactWriteBytes "rocksdb.remote.compact.write.bytes" counts
            "Bytes that compactions in other processes wrote.",
        RemoteCompactResumedBytes "rocksdb.remote.compact.resumed.bytes" zero "not counted",
        HotFileReadBytes "rocksdb.hot.file.read.bytes" counts "Bytes read of tables of temperature `kHot`.",
        WarmFileReadBytes "rocksdb.warm.file.read.bytes" counts "Bytes read of tables of temperature `kWarm`.",
        CoolFileReadBytes "rocksdb.cool.file.read.bytes" counts "Bytes read of tables of temperature `kCool`.",
        ColdFileReadBytes "rocksdb.cold.file.read.bytes" counts "Bytes read of tables of temperature `kCold`.",
        IceFileReadBytes "rocksdb.ice.file.read.bytes" counts "Bytes read of tables of temperature `kIce`.",
        HotFileReadCount "rocksdb.hot.file.read.count" counts "Reads of tables of temperature `kHot`.",
        WarmFileReadCount "rocksdb.warm.file.read.count" counts "Reads of tables of temperature `kWarm`.",
        CoolFileReadCount "rocksdb.cool.file.read.count" counts "Reads of tables of temperature `kCool`.",
        ColdFileReadCount "rocksdb.cold.file.read.count" counts "Reads of tables of temperature `kCold`.",
        IceFileReadCount "rocksdb.ice.file.read.count" counts "Reads of tables of temperature `kIce`.",
        LastLevelReadBytes "rocksdb.last.level.read.bytes" counts "Bytes read of tables of the last level.",
        LastLevelReadCount "rocksdb.last.level.read.count" counts "Reads of tables of the last level.",
        NonLastLevelReadBytes "rocksdb.non.last.level.read.bytes" counts "Bytes read of tables of other levels.",
        NonLastLevelReadCount "rocksdb.non.last.level.read.count" counts "Reads of tables of other levels.",
        LastLevelSeekFiltered "rocksdb.last.level.seek.filtered" zero "not counted",
        LastLevelSeekFilterMatch "rocksdb.last.level.seek.filter.match" zero "not counted",
        LastLevelSeekData "rocksdb.last.level.seek.data" zero "not counted",
        LastLevelSeekDataUsefulNoFilter "rocksdb.last.level.seek.data.useful.no.filter" zero "not counted",
        LastLevelSeekDataUsefulFilterMatch "rocksdb.last.level.seek.data.useful.filter.match" zero "not counted",
        NonLastLevelSeekFiltered "rocksdb.non.last.level.seek.filtered" zero "not counted",
        NonLastLevelSeekFilterMatch "rocksdb.non.last.level.seek.filter.match" zero "not counted",
        NonLastLevelSeekData "rocksdb.non.last.level.seek.data" zero "not counted",
        NonLastLevelSeekDataUsefulNoFilter "rocksdb.non.last.level.seek.data.useful.no.filter" zero "not counted",
        NonLastLevelSeekDataUsefulFilterMatch "rocksdb.non.last.level.seek.data.useful.filter.match" zero
            "not counted",
        BlockChecksumComputeCount "rocksdb.block.checksum.compute.count" counts
            "Checksums of blocks that were computed.",
        BlockChecksumMismatchCount "rocksdb.block.checksum.mismatch.count" counts
            "Those that differed from the stored one.",
        MultigetCoroutineCount "rocksdb.multiget.coroutine.count" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        ReadAsyncMicros "rocksdb.read.async.micros" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        AsyncReadErrorCount "rocksdb.async.read.error.count" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        TableOpenPrefetchTailMiss "rocksdb.table.open.prefetch.tail.miss" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        TableOpenPrefetchTailHit "rocksdb.table.open.prefetch.tail.hit" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        TimestampFilterTableChecked "rocksdb.timestamp.filter.table.checked" zero
            "there are no transactions and no user timestamps",
        TimestampFilterTableFiltered "rocksdb.timestamp.filter.table.filtered" zero
            "there are no transactions and no user timestamps",
        ReadaheadTrimmed "rocksdb.readahead.trimmed" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        FifoMaxSizeCompactions "rocksdb.fifo.max.size.compactions" counts
            "Compactions that dropped tables for the size of a queue.",
        FifoTtlCompactions "rocksdb.fifo.ttl.compactions" counts "Compactions that dropped tables for their age.",
        FifoChangeTemperatureCompactions "rocksdb.fifo.change_temperature.compactions" counts
            "Compactions that gave tables of a queue another temperature.",
        PrefetchBytes "rocksdb.prefetch.bytes" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        PrefetchBytesUseful "rocksdb.prefetch.bytes.useful" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        PrefetchHits "rocksdb.prefetch.hits" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        SstFooterCorruptionCount "rocksdb.footer.corruption.count" counts
            "Tables whose footer is damaged, each time that one is opened.",
        FileReadCorruptionRetryCount "rocksdb.file.read.corruption.retry.count" zero
            "a read that brings damaged bytes is not made again",
        FileReadCorruptionRetrySuccessCount "rocksdb.file.read.corruption.retry.success.count" zero
            "a read that brings damaged bytes is not made again",
        NumberWbwiIngest "rocksdb.number.wbwi.ingest" zero "there are no transactions and no user timestamps",
        SstUserDefinedIndexLoadFailCount "rocksdb.sst.user.defined.index.load.fail.count" zero
            "tables have no index of another kind",
        MultiscanPrepareCalls "rocksdb.multiscan.prepare.calls" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        MultiscanPrepareErrors "rocksdb.multiscan.prepare.errors" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        MultiscanBlocksPrefetched "rocksdb.multiscan.blocks.prefetched" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        MultiscanBlocksFromCache "rocksdb.multiscan.blocks.from.cache" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        MultiscanPrefetchBytes "rocksdb.multiscan.prefetch.bytes" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        MultiscanPrefetchBlocksWasted "rocksdb.multiscan.prefetch.blocks.wasted" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        MultiscanIoRequests "rocksdb.multiscan.io.requests" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        MultiscanIoCoalescedNonadjacent "rocksdb.multiscan.io.coalesced.nonadjacent" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        MultiscanSeekErrors "rocksdb.multiscan.seek.errors" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        PrefetchMemoryBytesGranted "rocksdb.prefetch.memory.bytes.granted" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        PrefetchMemoryBytesReleased "rocksdb.prefetch.memory.bytes.released" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        PrefetchMemoryRequestsBlocked "rocksdb.prefetch.memory.requests.blocked" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        ReadPathRangeTombstonesInserted "rocksdb.read.path.range.tombstones.inserted" zero
            "scans remember deleted runs beside the memtable, not as range deletions in it",
        ReadPathRangeTombstonesDiscarded "rocksdb.read.path.range.tombstones.discarded" zero
            "scans remember deleted runs beside the memtable, not as range deletions in it",
        FileOpenMetadataRetrieved "rocksdb.file.open.metadata.retrieved" zero "not counted",
        FileOpenMetadataPassed "rocksdb.file.open.metadata.passed" zero "not counted",
        ManifestValidationFailureCount "rocksdb.manifest.validation.failure.count" zero "not counted",
        FlushReasonWriteBufferFull "rocksdb.flush.reason.write_buffer_full" counts "Flushes of full memtables.",
        FlushReasonWriteBufferManager "rocksdb.flush.reason.write_buffer_manager" counts
            "Flushes for the memory of all memtables.",
        FlushReasonMemtableMaxRangeDeletions "rocksdb.flush.reason.memtable_max_range_deletions" counts "Flushes of memtables with `memtable_max_range_deletions`.",
        AtomicFlushRequestReasonWriteBufferFull "rocksdb.atomic_flush.request.reason.write_buffer_full" zero
            "requests are not counted, flushes are",
        AtomicFlushRequestReasonWriteBufferManager "rocksdb.atomic_flush.request.reason.write_buffer_manager" zero
            "requests are not counted, flushes are",
        AtomicFlushRequestReasonMemtableMaxRangeDeletions
            "rocksdb.atomic_flush.request.reason.memtable_max_range_deletions" zero
            "requests are not counted, flushes are",
        AtomicFlushRequestReasonOther "rocksdb.atomic_flush.request.reason.other" zero
            "requests are not counted, flushes are",
        CheckpointReadBytes "rocksdb.checkpoint.read.bytes" counts
            "Bytes that checkpoints read of files that they copy.",
        CheckpointWriteBytes "rocksdb.checkpoint.write.bytes" counts "Bytes that checkpoints wrote.",
        FileSubmitAsyncReadFallback "rocksdb.file.submit.async.read.fallback" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
    }
}
