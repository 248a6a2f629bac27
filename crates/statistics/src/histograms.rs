//! Histograms: how times and sizes are distributed.

use crate::measures::measures;

measures! {
    /// A distribution of times or sizes; the unit is part of its name.
    ///
    /// ```
    /// use ferrock_statistics::Histogram;
    ///
    /// assert_eq!(Histogram::DbGet.name(), "rocksdb.db.get.micros");
    /// assert_eq!(Histogram::from_number(1), Some(Histogram::DbWrite));
    /// ```
    Histogram {
        DbGet "rocksdb.db.get.micros" counts "Microseconds of a lookup.",
        DbWrite "rocksdb.db.write.micros" counts "Microseconds of a write.",
        CompactionTime "rocksdb.compaction.times.micros" counts "Microseconds of a compaction.",
        CompactionCpuTime "rocksdb.compaction.times.cpu_micros" counts
            "Microseconds of the processor that a compaction took.",
        SubcompactionSetupTime "rocksdb.subcompaction.setup.times.micros" zero "not counted",
        TableSyncMicros "rocksdb.table.sync.micros" counts "Microseconds of a sync of a table of a flush.",
        CompactionOutfileSyncMicros "rocksdb.compaction.outfile.sync.micros" counts "Microseconds of a sync of a table of a compaction.",
        WalFileSyncMicros "rocksdb.wal.file.sync.micros" counts "Microseconds of a sync of the log.",
        ManifestFileSyncMicros "rocksdb.manifest.file.sync.micros" counts "Microseconds of a sync of the MANIFEST.",
        TableOpenIoMicros "rocksdb.table.open.io.micros" counts "Microseconds of opening a table.",
        DbMultiget "rocksdb.db.multiget.micros" counts "Microseconds of a batch of lookups.",
        ReadBlockCompactionMicros "rocksdb.read.block.compaction.micros" counts
            "Microseconds of reading and decoding a block for a compaction, or of finding it in what was read ahead.",
        ReadBlockGetMicros "rocksdb.read.block.get.micros" counts
            "Microseconds of reading and decoding a block for a reader.",
        WriteRawBlockMicros "rocksdb.write.raw.block.micros" counts "Microseconds of writing a block of a table.",
        NumFilesInSingleCompaction "rocksdb.numfiles.in.singlecompaction" counts "Tables that a compaction read.",
        DbSeek "rocksdb.db.seek.micros" counts "Microseconds of a seek.",
        WriteStall "rocksdb.db.write.stall" counts "Microseconds of a delay or a stop of writers.",
        SstReadMicros "rocksdb.sst.read.micros" counts "Microseconds of a read of a table.",
        FileReadFlushMicros "rocksdb.file.read.flush.micros" counts "Microseconds of a read of a table that a flush checks.",
        FileReadCompactionMicros "rocksdb.file.read.compaction.micros" counts "Microseconds of a read of a table by a compaction.",
        FileReadDbOpenMicros "rocksdb.file.read.db.open.micros" counts
            "Microseconds of a read of a table that is opened with its database.",
        FileReadGetMicros "rocksdb.file.read.get.micros" counts "Microseconds of a read of a table by a lookup.",
        FileReadMultigetMicros "rocksdb.file.read.multiget.micros" zero
            "the reads of a batch are made together: `rocksdb.multiget.io.batch.size` counts them",
        FileReadDbIteratorMicros "rocksdb.file.read.db.iterator.micros" counts "Microseconds of a read of a table by a scan.",
        FileReadVerifyDbChecksumMicros "rocksdb.file.read.verify.db.checksum.micros" counts
            "Microseconds of a read of a table whose blocks are verified.",
        FileReadVerifyFileChecksumsMicros "rocksdb.file.read.verify.file.checksums.micros" zero
            "there is no such function",
        SstWriteMicros "rocksdb.sst.write.micros" counts "Microseconds of a write into a table.",
        FileWriteFlushMicros "rocksdb.file.write.flush.micros" counts "Microseconds of a write into a table or blob file by a flush.",
        FileWriteCompactionMicros "rocksdb.file.write.compaction.micros" counts "Microseconds of a write into a table or blob file by a compaction.",
        FileWriteDbOpenMicros "rocksdb.file.write.db.open.micros" zero "not counted",
        NumSubcompactionsScheduled "rocksdb.num.subcompactions.scheduled" counts
            "Parts of a compaction that ran at the same time.",
        BytesPerRead "rocksdb.bytes.per.read" counts "Bytes of the value of a lookup; 0 without one.",
        BytesPerWrite "rocksdb.bytes.per.write" counts "Bytes of a batch.",
        BytesPerMultiget "rocksdb.bytes.per.multiget" counts "Bytes of all values of a batch of lookups.",
        CompressionTimesNanos "rocksdb.compression.times.nanos" counts "Nanoseconds of compressing a block of a table.",
        DecompressionTimesNanos "rocksdb.decompression.times.nanos" counts
            "Nanoseconds of decompressing a block of a table.",
        ReadNumMergeOperands "rocksdb.read.num.merge_operands" counts "Operands that a lookup merged.",
        BlobDbKeySize "rocksdb.blobdb.key.size" zero "of the stacked BlobDB, which blob files replace",
        BlobDbValueSize "rocksdb.blobdb.value.size" zero "of the stacked BlobDB, which blob files replace",
        BlobDbWriteMicros "rocksdb.blobdb.write.micros" zero "of the stacked BlobDB, which blob files replace",
        BlobDbGetMicros "rocksdb.blobdb.get.micros" zero "of the stacked BlobDB, which blob files replace",
        BlobDbMultigetMicros "rocksdb.blobdb.multiget.micros" zero
            "of the stacked BlobDB, which blob files replace",
        BlobDbSeekMicros "rocksdb.blobdb.seek.micros" zero "of the stacked BlobDB, which blob files replace",
        BlobDbNextMicros "rocksdb.blobdb.next.micros" zero "of the stacked BlobDB, which blob files replace",
        BlobDbPrevMicros "rocksdb.blobdb.prev.micros" zero "of the stacked BlobDB, which blob files replace",
        BlobDbBlobFileWriteMicros "rocksdb.blobdb.blob.file.write.micros" counts "Microseconds of a write into a blob file by a job.",
        BlobDbBlobFileReadMicros "rocksdb.blobdb.blob.file.read.micros" counts "Microseconds of a read of a blob file for a value.",
        BlobDbBlobFileSyncMicros "rocksdb.blobdb.blob.file.sync.micros" counts "Microseconds of a sync of a blob file by a job.",
        BlobDbCompressionMicros "rocksdb.blobdb.compression.micros" counts
            "Microseconds of compressing a value for a blob file, by a job.",
        BlobDbDecompressionMicros "rocksdb.blobdb.decompression.micros" counts
            "Microseconds of decompressing a value of a blob file.",
        FlushTime "rocksdb.db.flush.micros" counts "Microseconds of a flush.",
        SstBatchSize "rocksdb.sst.batch.size" zero
            "keys of a batch go through their tables one by one, in rounds of reads",
        MultigetIoBatchSize "rocksdb.multiget.io.batch.size" counts "Blocks that a batch of lookups reads at once.",
        NumIndexAndFilterBlocksReadPerLevel "rocksdb.num.index.and.filter.blocks.read.per.level" zero
            "keys of a batch go through their tables one by one, in rounds of reads",
        NumSstReadPerLevel "rocksdb.num.sst.read.per.level" zero
            "keys of a batch go through their tables one by one, in rounds of reads",
        NumLevelReadPerMultiget "rocksdb.num.level.read.per.multiget" zero
            "keys of a batch go through their tables one by one, in rounds of reads",
        ErrorHandlerAutoresumeRetryCount "rocksdb.error.handler.autoresume.retry.count" counts "Attempts until a background error was left.",
        AsyncReadBytes "rocksdb.async.read.bytes" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        PollWaitMicros "rocksdb.poll.wait.micros" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        CompactionPrefetchBytes "rocksdb.compaction.prefetch.bytes" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        PrefetchedBytesDiscarded "rocksdb.prefetched.bytes.discarded" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        AsyncPrefetchAbortMicros "rocksdb.async.prefetch.abort.micros" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        TableOpenPrefetchTailReadBytes "rocksdb.table.open.prefetch.tail.read.bytes" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        NumOpPerTransaction "rocksdb.num.op.per.transaction" zero
            "there are no transactions and no user timestamps",
        MultiscanPrepareIterators "rocksdb.multiscan.op.prepare.iterators.micros" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        MultiscanPrepareMicros "rocksdb.multiscan.prepare.micros" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        MultiscanBlocksPerPrepare "rocksdb.multiscan.blocks.per.prepare" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        IoDispatcherAsyncReadObservedCompletionMicros
            "rocksdb.iodispatcher.async.read.observed.completion.micros" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        IoDispatcherAsyncReadPollWaitMicros "rocksdb.iodispatcher.async.read.poll.wait.micros" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        IoDispatcherAsyncReadPrefetchLeadMicros "rocksdb.iodispatcher.async.read.prefetch.lead.micros" zero
            "reads of scans and batches are made by other rules; the property `ferrock.io` counts them",
        BlockKeyDistributionCv "rocksdb.block.key.distribution.cv" zero "not counted",
        IngestExternalFilePrepareTime "rocksdb.ingest.external.file.prepare.micros" counts
            "Microseconds to read files from outside and to bring them into the database.",
        IngestExternalFileRunTime "rocksdb.ingest.external.file.run.micros" counts
            "Microseconds to make files from outside part of the tree.",
        RateLimiterWaitMicrosRead "rocksdb.rate.limiter.wait.micros.read" counts
            "Microseconds of a read that waited for the rate limiter.",
        RateLimiterWaitMicrosWrite "rocksdb.rate.limiter.wait.micros.write" counts
            "Microseconds of a write that waited for the rate limiter.",
        FlushMemtableMemoryBytes "rocksdb.flush.memtable.memory.bytes" counts "Memory of the memtables of a flush.",
        FlushMemtableTotalDataSize "rocksdb.flush.memtable.total.data.size.bytes" counts
            "Bytes of keys and values of the memtables of a flush.",
        FlushWriteBufferFullMemtableMemoryBytes "rocksdb.flush.write_buffer_full.memtable.memory.bytes" counts
            "Memory of the memtables of a flush for a full write buffer.",
        FlushWriteBufferManagerMemtableMemoryBytes "rocksdb.flush.write_buffer_manager.memtable.memory.bytes" counts
            "Memory of the memtables of a flush that a write buffer manager asked for.",
        OpenAndCompactDbOpenMicros "rocksdb.open.and.compact.db.open.micros" zero "not counted",
    }
}
