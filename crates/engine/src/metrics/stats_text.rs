//! `cfstats` and `dbstats`, in RocksDB's form: as texts and as maps.

use super::cache::kilobytes;
use super::counters::WriteMetrics;
use super::levels::{FamilyJobs, JobMetrics, ratio};
use super::report::LevelMetrics;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const GIB: f64 = 1_073_741_824.0;
const MIB: f64 = 1_048_576.0;

/// A level, or a sum of levels, as a row has it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LevelRow {
    pub(crate) files: usize,
    /// Files that are inputs of running compactions.
    pub(crate) compacting: usize,
    pub(crate) size_bytes: u64,
    pub(crate) score: f64,
}

impl From<&LevelMetrics> for LevelRow {
    fn from(level: &LevelMetrics) -> Self {
        let LevelMetrics { files, files_compacting, bytes, score, .. } = *level;
        Self { files, compacting: files_compacting, size_bytes: bytes, score }
    }
}

/// What `cfstats` is made of.
#[derive(Debug)]
pub(crate) struct FamilyStats<'a> {
    pub(crate) name: &'a str,
    /// All levels.
    pub(crate) rows: Vec<LevelRow>,
    pub(crate) jobs: FamilyJobs,
    /// What was told last.
    pub(crate) before: FamilyJobs,
    pub(crate) uptime_us: u64,
    pub(crate) interval_us: u64,
    pub(crate) blob_files: u64,
    pub(crate) blob_bytes: u64,
    pub(crate) blob_garbage_bytes: u64,
    pub(crate) pending_compaction_bytes: u64,
    /// The line of stalls.
    pub(crate) stalls: String,
    /// Lines about the block cache.
    pub(crate) cache: String,
}

const COLUMNS: &str = "Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) WPreComp(GB) Wnew(GB) Moved(GB) W-Amp \
                       Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop Rblob(GB) \
                       Wblob(GB)";

fn gib(bytes: u64) -> f64 {
    bytes as f64 / GIB
}

/// Numbers from 10,000 on in thousands, and so forth.
fn human_number(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{}K", number / 1_000),
        10_000_000..10_000_000_000 => format!("{}M", number / 1_000_000),
        _ => format!("{}G", number / 1_000_000_000),
    }
}

/// The names of the columns in maps.
const NAMES: [&str; 22] = [
    "NumFiles",
    "CompactedFiles",
    "SizeBytes",
    "Score",
    "ReadGB",
    "RnGB",
    "Rnp1GB",
    "WriteGB",
    "WPreCompGB",
    "WnewGB",
    "MovedGB",
    "WriteAmp",
    "ReadMBps",
    "WriteMBps",
    "CompSec",
    "CompMergeCPU",
    "CompCount",
    "AvgSec",
    "KeyIn",
    "KeyDrop",
    "RblobGB",
    "WblobGB",
];

/// What a row has, by column. `ingested`: what the bytes written are compared with. `seconds`: those that the rates are
/// of.
fn columns(level: LevelRow, counts: JobMetrics, ingested: u64, seconds: f64) -> [f64; NAMES.len()] {
    let own_seconds = counts.us as f64 / 1e6;
    let new = counts.written_bytes as f64 - counts.read_there_bytes as f64;
    [
        level.files as f64,
        level.compacting as f64,
        level.size_bytes as f64,
        level.score,
        gib(counts.read_bytes()),
        gib(counts.read_above_bytes),
        gib(counts.read_there_bytes),
        gib(counts.written_bytes),
        gib(counts.uncompressed_bytes),
        new / GIB,
        gib(counts.moved_bytes),
        counts.write_amplification(ingested),
        ratio(counts.read_bytes() as f64 / MIB, seconds),
        ratio(counts.all_written_bytes() as f64 / MIB, seconds),
        own_seconds,
        counts.cpu_us as f64 / 1e6,
        counts.jobs as f64,
        ratio(own_seconds, counts.jobs as f64),
        counts.entries as f64,
        counts.dropped as f64,
        gib(counts.blob_read_bytes),
        gib(counts.blob_written_bytes),
    ]
}

fn write_row(out: &mut String, name: &str, columns: [f64; NAMES.len()]) {
    let [
        files,
        compacting,
        size,
        score,
        read,
        above,
        there,
        written,
        uncompressed,
        new,
        moved,
        amplification,
        read_rate,
        write_rate,
        seconds,
        cpu_seconds,
        jobs,
        seconds_each,
        entries,
        dropped,
        blobs_read,
        blobs_written,
    ] = columns;
    let (size, entries) = (kilobytes(size as u64), human_number(entries as u64));
    let dropped = human_number(dropped as u64);
    let _ = writeln!(
        out,
        "{name:>4} {files:>6}/{compacting:<3} {size:>10} {score:>5.1} {read:>8.1} {above:>7.1} {there:>8.1} \
         {written:>9.1} {uncompressed:>9.1} {new:>8.1} {moved:>9.1} {amplification:>5.1} {read_rate:>8.1} \
         {write_rate:>8.1} {seconds:>9.2} {cpu_seconds:>17.2} {jobs:>9} {seconds_each:>8.3} {entries:>7} {dropped:>6} \
         {blobs_read:>9.1} {blobs_written:>9.1}",
    );
}

fn seconds(counts: JobMetrics) -> f64 {
    counts.us as f64 / 1e6
}

/// The rows of levels that have something to tell, and that of their sum, by name.
fn level_rows(rows: &[LevelRow], jobs: &FamilyJobs) -> Vec<(String, [f64; NAMES.len()])> {
    let mut named = Vec::new();
    for (level, row) in rows.iter().enumerate() {
        let counts = jobs.levels.get(level).copied().unwrap_or_default();
        if row.files > 0 || counts != JobMetrics::default() {
            named.push((format!("L{level}"), columns(*row, counts, jobs.bytes_into(level), seconds(counts))));
        }
    }
    let sum = rows.iter().fold(LevelRow::default(), |sum, row| LevelRow {
        files: sum.files + row.files,
        compacting: sum.compacting + row.compacting,
        size_bytes: sum.size_bytes + row.size_bytes,
        score: 0.0,
    });
    let all = jobs.all();
    named.push(("Sum".to_owned(), columns(sum, all, jobs.ingested_bytes(), seconds(all))));
    named
}

/// The map form of `cfstats` without stalls.
pub(crate) fn family_map(rows: &[LevelRow], jobs: &FamilyJobs) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    for (row, columns) in level_rows(rows, jobs) {
        for (name, value) in NAMES.into_iter().zip(columns) {
            map.insert(format!("compaction.{row}.{name}"), format!("{value:.6}"));
        }
    }
    map
}

fn write_head(out: &mut String, name: &str, first: &str) {
    let columns = format!("{first:<8} {COLUMNS}");
    let _ = writeln!(out, "\n** Compaction Stats [{name}] **\n{columns}\n{}", "-".repeat(columns.len()));
}

/// The text of `cfstats` without histograms.
pub(crate) fn family(stats: &FamilyStats<'_>) -> String {
    let mut out = String::new();
    write_head(&mut out, stats.name, "Level");
    for (name, columns) in level_rows(&stats.rows, &stats.jobs) {
        write_row(&mut out, &name, columns);
    }
    let all = stats.jobs.all();
    let interval = all.since(stats.before.all());
    let ingested_since = stats.jobs.ingested_bytes().saturating_sub(stats.before.ingested_bytes());
    write_row(&mut out, "Int", columns(LevelRow::default(), interval, ingested_since, seconds(interval)));
    write_head(&mut out, stats.name, "Priority");
    let by_priority = [("Low", stats.jobs.compactions), ("High", stats.jobs.flushes), ("User", stats.jobs.ingestions)];
    for (name, counts) in by_priority {
        if counts.jobs > 0 {
            write_row(&mut out, name, columns(LevelRow::default(), counts, 0, seconds(counts)));
        }
    }
    let used = stats.blob_bytes.saturating_sub(stats.blob_garbage_bytes);
    let _ = writeln!(
        out,
        "\nBlob file count: {}, total size: {:.1} GB, garbage size: {:.1} GB, space amp: {:.1}\n",
        stats.blob_files,
        gib(stats.blob_bytes),
        gib(stats.blob_garbage_bytes),
        ratio(stats.blob_bytes as f64, used as f64),
    );
    let (up, since) = (stats.uptime_us as f64 / 1e6, stats.interval_us as f64 / 1e6);
    let _ = writeln!(out, "Uptime(secs): {up:.1} total, {since:.1} interval");
    let flushed = stats.jobs.flushed_bytes();
    let flushed_since = flushed.saturating_sub(stats.before.flushed_bytes());
    let _ = writeln!(out, "Flush(GB): cumulative {:.3}, interval {:.3}", gib(flushed), gib(flushed_since));
    let (added, before) = (stats.jobs.ingested, stats.before.ingested);
    let added_since = added.bytes.saturating_sub(before.bytes);
    let _ = writeln!(out, "AddFile(GB): cumulative {:.3}, interval {:.3}", gib(added.bytes), gib(added_since));
    for (what, added, before) in [
        ("Total Files", added.files, before.files),
        ("L0 Files", added.level_0_files, before.level_0_files),
        ("Keys", added.keys, before.keys),
    ] {
        let _ = writeln!(out, "AddFile({what}): cumulative {added}, interval {}", added.saturating_sub(before));
    }
    for (name, counts, within) in [("Cumulative", all, up), ("Interval", interval, since)] {
        let (read, written) = (counts.read_bytes(), counts.all_written_bytes());
        let _ = writeln!(
            out,
            "{name} compaction: {:.2} GB write, {:.2} MB/s write, {:.2} GB read, {:.2} MB/s read, {:.1} seconds",
            gib(written),
            ratio(written as f64 / MIB, within),
            gib(read),
            ratio(read as f64 / MIB, within),
            seconds(counts),
        );
    }
    let _ = writeln!(out, "Estimated pending compaction bytes: {}", stats.pending_compaction_bytes);
    out.push_str(&stats.stalls);
    out.push_str(&stats.cache);
    out
}

/// The text of `dbstats`: since the open, and since it was told last.
pub(crate) fn database(
    all: WriteMetrics,
    before: WriteMetrics,
    uptime_us: u64,
    interval_us: u64,
    stalls: &str,
) -> String {
    let mut out = String::from("\n** DB Stats **\n");
    let (up, since) = (uptime_us as f64 / 1e6, interval_us as f64 / 1e6);
    let _ = writeln!(out, "Uptime(secs): {up:.1} total, {since:.1} interval");
    let interval = all.since(before);
    for (name, counts, within) in [("Cumulative", all, up), ("Interval", interval, since)] {
        let ingested = if name == "Interval" {
            format!("{:.2} MB", counts.bytes as f64 / MIB)
        } else {
            format!("{:.2} GB", gib(counts.bytes))
        };
        let _ = writeln!(
            out,
            "{name} writes: {} writes, {} keys, {} commit groups, {:.1} writes per commit group, ingest: {ingested}, \
             {:.2} MB/s",
            human_number(counts.batches),
            human_number(counts.keys),
            human_number(counts.groups),
            ratio(counts.batches as f64, counts.groups as f64),
            ratio(counts.bytes as f64 / MIB, within),
        );
        let _ = writeln!(
            out,
            "{name} WAL: {} writes, {} syncs, {:.2} writes per sync, written: {:.2} GB, {:.2} MB/s",
            human_number(counts.logged_batches()),
            human_number(counts.wal_syncs),
            counts.logged_batches() as f64 / counts.wal_syncs.max(1) as f64,
            gib(counts.wal_bytes),
            ratio(counts.wal_bytes as f64 / MIB, within),
        );
        let (seconds, part) = (counts.stall_us / 1_000_000, counts.stall_us % 1_000_000);
        let _ = writeln!(
            out,
            "{name} stall: {:02}:{:02}:{}.{:03} H:M:S, {:.1} percent",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            part / 1000,
            100.0 * ratio(counts.stall_us as f64 / 1e6, within),
        );
    }
    out.push_str(stalls);
    out
}

/// The map form of `dbstats` without stalls.
pub(crate) fn database_map(writes: WriteMetrics, uptime_us: u64) -> BTreeMap<String, String> {
    let numbers = [
        ("db.wal_bytes_written", writes.wal_bytes),
        ("db.wal_syncs", writes.wal_syncs),
        ("db.user_bytes_written", writes.bytes),
        ("db.user_keys_written", writes.keys),
        ("db.user_writes_by_other", writes.batches.saturating_sub(writes.groups)),
        ("db.user_writes_by_self", writes.groups),
        ("db.user_writes_with_wal", writes.logged_batches()),
        ("db.user_write_stall_micros", writes.stall_us),
    ];
    let mut map: BTreeMap<_, _> = numbers.map(|(name, number)| (name.to_owned(), number.to_string())).into();
    map.insert("db.uptime".to_owned(), format!("{:.6}", uptime_us as f64 / 1e6));
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flush by RocksDB 11.8.1, as it told of it.
    #[test]
    fn rows_are_rocksdbs() {
        let mut out = String::new();
        let level = LevelRow { files: 1, compacting: 0, size_bytes: 11_368, score: 0.2 };
        let counts = JobMetrics { jobs: 1, written_bytes: 11_484, entries: 1000, us: 1957, ..JobMetrics::default() };
        write_row(&mut out, "L0", columns(level, counts, 11_484, 1957.0 / 1e6));
        let expected = "  L0      1/0     11.10 KB   0.2      0.0     0.0      0.0       0.0       0.0      0.0       0.0   \
                        1.0      0.0      5.6      0.00              0.00         1    0.002    1000      0       0.0       \
                        0.0\n";
        assert_eq!(out, expected);
        let mut head = String::new();
        write_head(&mut head, "default", "Level");
        let expected = "\n** Compaction Stats [default] **\n\
                        Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) WPreComp(GB) Wnew(GB) \
                        Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop \
                        Rblob(GB) Wblob(GB)\n";
        assert!(head.starts_with(expected), "{head}");
        assert_eq!(head.lines().last().map(str::len), head.lines().nth_back(1).map(str::len));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0, 9999, 10_000, 12_345_678].map(human_number), ["0", "9999", "10K", "12M"]);
        assert_eq!([0, 11_368, 5 << 30].map(kilobytes), ["0.00 KB", "11.10 KB", "5.00 GB"]);
    }

    #[test]
    fn a_database_is_told_since_its_open_and_since_the_last_time() {
        let all = WriteMetrics {
            batches: 1000,
            keys: 1000,
            groups: 1000,
            bytes: 48_400,
            wal_bytes: 48_400,
            stall_us: 3_661_002_000,
            ..WriteMetrics::default()
        };
        let text = database(all, WriteMetrics { batches: 350, ..WriteMetrics::default() }, 26_500, 13_000, "stalls\n");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "Uptime(secs): 0.0 total, 0.0 interval");
        assert_eq!(
            lines[3],
            "Cumulative writes: 1000 writes, 1000 keys, 1000 commit groups, 1.0 writes per commit group, ingest: 0.00 \
             GB, 1.74 MB/s"
        );
        assert_eq!(
            lines[4],
            "Cumulative WAL: 1000 writes, 0 syncs, 1000.00 writes per sync, written: 0.00 GB, 1.74 MB/s"
        );
        assert!(lines[5].starts_with("Cumulative stall: 01:01:1.002 H:M:S, "), "{}", lines[5]);
        assert!(lines[6].starts_with("Interval writes: 650 writes, "), "{}", lines[6]);
        assert_eq!(lines[9], "stalls");
    }
}
