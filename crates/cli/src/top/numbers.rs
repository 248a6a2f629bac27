//! The numbers of a database, read from the JSON that an inspector serves under `/api/metrics`.
//!
//! Every number keeps the name and the meaning that it has there, which are those of `Db::metrics`. A field that is
//! missing, or of another kind, is an error that names it: the server is another program, or another version of
//! this one.

use serde_json::{Map, Value};

/// What an inspector tells of a database at one moment. Units are in the names.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    pub(crate) name: String,
    /// The process that answers has the database open, so its counters go on.
    pub(crate) is_live: bool,
    pub(crate) as_of_us: u64,
    pub(crate) uptime_us: u64,
    pub(crate) sequence: u64,
    pub(crate) debt_bytes: u64,
    pub(crate) writes: Writes,
    pub(crate) stalls: Stalls,
    pub(crate) background: Background,
    pub(crate) snapshots: Snapshots,
    pub(crate) memory: Memory,
    pub(crate) block_cache: Cache,
    pub(crate) io: Io,
    pub(crate) families: Vec<Family>,
    pub(crate) statistics: Option<Statistics>,
}

#[derive(Clone, Debug)]
pub(crate) struct Writes {
    pub(crate) batches: u64,
    pub(crate) keys: u64,
    pub(crate) bytes: u64,
    pub(crate) wal_bytes: u64,
    pub(crate) wal_syncs: u64,
    pub(crate) stall_us: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Stalls {
    /// `normal`, `delayed` or `stopped`.
    pub(crate) condition: String,
    pub(crate) delayed_write_rate: u64,
    pub(crate) waits: Vec<Waits>,
}

/// Writers that one cause held back.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    pub(crate) cause: String,
    pub(crate) delays: u64,
    pub(crate) delay_us: u64,
    pub(crate) stops: u64,
    pub(crate) stop_us: u64,
}

/// A flush or a compaction that runs.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) kind: String,
    pub(crate) family: String,
    /// `None` of a flush.
    pub(crate) start_level: Option<u64>,
    pub(crate) output_level: u64,
    pub(crate) inputs: u64,
    pub(crate) input_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) elapsed_us: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Background {
    pub(crate) running_flushes: u64,
    pub(crate) running_compactions: u64,
    pub(crate) running_sorted_runs: u64,
    pub(crate) jobs: Vec<Job>,
    /// The one for which writes are stopped.
    pub(crate) error: Option<String>,
    pub(crate) write_stall_proximity_pct: u64,
    pub(crate) flushes: u64,
    pub(crate) flush_bytes: u64,
    pub(crate) compactions: u64,
    pub(crate) trivial_moves: u64,
    pub(crate) compaction_read_bytes: u64,
    pub(crate) compaction_write_bytes: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Snapshots {
    pub(crate) count: u64,
    pub(crate) oldest_age_seconds: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) budget_bytes: Option<u64>,
    pub(crate) holders: Vec<(String, u64)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub(crate) capacity_bytes: u64,
    pub(crate) usage_bytes: u64,
    pub(crate) pinned_bytes: u64,
    pub(crate) kinds: Vec<CacheKind>,
}

#[derive(Clone, Debug)]
pub(crate) struct CacheKind {
    pub(crate) kind: String,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) usage_bytes: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Io {
    pub(crate) read_bytes: u64,
    pub(crate) append_bytes: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) is_flush_pending: bool,
    pub(crate) is_compaction_pending: bool,
    pub(crate) pending_compaction_bytes: u64,
    pub(crate) estimated_keys: u64,
    /// Active and waiting to be flushed.
    pub(crate) memtables: u64,
    pub(crate) memtable_bytes: u64,
    pub(crate) table_files: u64,
    pub(crate) table_bytes: u64,
    pub(crate) blob_files: u64,
    pub(crate) blob_bytes: u64,
    pub(crate) levels: Vec<Level>,
}

#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) level: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) files_compacting: u64,
    /// From 1 on a compaction is due.
    pub(crate) score: f64,
    pub(crate) target_bytes: Option<u64>,
}

/// What `Components::statistics` counted.
#[derive(Clone, Debug)]
pub(crate) struct Statistics {
    /// Those that are not zero.
    tickers: Map<String, Value>,
    pub(crate) histograms: Vec<Histogram>,
}

/// Times, in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    pub(crate) name: String,
    pub(crate) count: u64,
    pub(crate) sum: u64,
    pub(crate) average: f64,
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) max: u64,
}

impl Statistics {
    pub(crate) fn ticker(&self, name: &str) -> u64 {
        self.tickers.get(name).and_then(Value::as_u64).unwrap_or(0)
    }
}

type Result<T> = std::result::Result<T, String>;

/// A part of the answer, with its place in it.
struct Part<'a> {
    value: &'a Value,
    place: String,
}

impl<'a> Part<'a> {
    fn at(&self, name: &str) -> Result<Self> {
        let place = if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) };
        match self.value.get(name) {
            Some(value) => Ok(Self { value, place }),
            None => Err(format!("{place} is missing from its answer; it may be another version of Ferrock")),
        }
    }

    fn is<T>(&self, name: &str, kind: &str, read: impl FnOnce(&'a Value) -> Option<T>) -> Result<T> {
        let part = self.at(name)?;
        read(part.value)
            .ok_or_else(|| format!("{} is not {kind} in its answer; it may be another version of Ferrock", part.place))
    }

    fn u64(&self, name: &str) -> Result<u64> {
        self.is(name, "a number from 0 on", Value::as_u64)
    }

    fn f64(&self, name: &str) -> Result<f64> {
        self.is(name, "a number", Value::as_f64)
    }

    fn bool(&self, name: &str) -> Result<bool> {
        self.is(name, "true or false", Value::as_bool)
    }

    fn text(&self, name: &str) -> Result<String> {
        self.is(name, "a text", |value| value.as_str().map(str::to_owned))
    }

    fn optional(&self, name: &str) -> Result<Option<Self>> {
        self.at(name).map(|part| (!part.value.is_null()).then_some(part))
    }

    fn optional_u64(&self, name: &str) -> Result<Option<u64>> {
        self.optional(name)?.map(|_| self.u64(name)).transpose()
    }

    fn list<T>(&self, name: &str, read: impl Fn(&Self) -> Result<T>) -> Result<Vec<T>> {
        let part = self.at(name)?;
        let values = self.is(name, "a list", Value::as_array)?;
        let each = values.iter().enumerate();
        each.map(|(index, value)| read(&Self { value, place: format!("{}[{index}]", part.place) })).collect()
    }
}

impl Numbers {
    /// Reads the answer.
    pub(crate) fn parse(value: &Value) -> Result<Self> {
        let all = Part { value, place: String::new() };
        Ok(Self {
            name: all.text("name")?,
            is_live: all.bool("is_live")?,
            as_of_us: all.u64("as_of_us")?,
            uptime_us: all.u64("uptime_us")?,
            sequence: all.u64("sequence")?,
            debt_bytes: all.u64("debt_bytes")?,
            writes: writes(&all.at("writes")?)?,
            stalls: stalls(&all.at("stalls")?)?,
            background: background(&all.at("background")?)?,
            snapshots: snapshots(&all.at("snapshots")?)?,
            memory: memory(&all.at("memory")?)?,
            block_cache: cache(&all.at("block_cache")?)?,
            io: io(&all.at("io")?)?,
            families: all.list("families", family)?,
            statistics: all.optional("statistics")?.map(|part| statistics(&part)).transpose()?,
        })
    }

    /// The sum over all families.
    pub(crate) fn sum(&self, read: impl Fn(&Family) -> u64) -> u64 {
        self.families.iter().fold(0, |sum, family| sum.saturating_add(read(family)))
    }
}

fn writes(of: &Part) -> Result<Writes> {
    Ok(Writes {
        batches: of.u64("batches")?,
        keys: of.u64("keys")?,
        bytes: of.u64("bytes")?,
        wal_bytes: of.u64("wal_bytes")?,
        wal_syncs: of.u64("wal_syncs")?,
        stall_us: of.u64("stall_us")?,
    })
}

fn stalls(of: &Part) -> Result<Stalls> {
    let waits = |of: &Part| {
        Ok(Waits {
            cause: of.text("cause")?,
            delays: of.u64("delays")?,
            delay_us: of.u64("delay_us")?,
            stops: of.u64("stops")?,
            stop_us: of.u64("stop_us")?,
        })
    };
    Ok(Stalls {
        condition: of.text("condition")?,
        delayed_write_rate: of.u64("delayed_write_rate")?,
        waits: of.list("waits", waits)?,
    })
}

fn job(of: &Part) -> Result<Job> {
    Ok(Job {
        kind: of.text("kind")?,
        family: of.text("family")?,
        start_level: of.optional_u64("start_level")?,
        output_level: of.u64("output_level")?,
        inputs: of.u64("inputs")?,
        input_bytes: of.u64("input_bytes")?,
        written_bytes: of.u64("written_bytes")?,
        elapsed_us: of.u64("elapsed_us")?,
    })
}

fn background(of: &Part) -> Result<Background> {
    let totals = of.at("totals")?;
    Ok(Background {
        running_flushes: of.u64("running_flushes")?,
        running_compactions: of.u64("running_compactions")?,
        running_sorted_runs: of.u64("running_sorted_runs")?,
        jobs: of.list("jobs", job)?,
        error: of.optional("error")?.map(|error| error.text("message")).transpose()?,
        write_stall_proximity_pct: of.u64("write_stall_proximity_pct")?,
        flushes: totals.u64("flushes")?,
        flush_bytes: totals.u64("flush_bytes")?,
        compactions: totals.u64("compactions")?,
        trivial_moves: totals.u64("trivial_moves")?,
        compaction_read_bytes: totals.u64("compaction_read_bytes")?,
        compaction_write_bytes: totals.u64("compaction_write_bytes")?,
    })
}

fn snapshots(of: &Part) -> Result<Snapshots> {
    Ok(Snapshots { count: of.u64("count")?, oldest_age_seconds: of.u64("oldest_age_seconds")? })
}

fn memory(of: &Part) -> Result<Memory> {
    Ok(Memory {
        budget_bytes: of.optional_u64("budget_bytes")?,
        holders: of.list("holders", |of| Ok((of.text("name")?, of.u64("bytes")?)))?,
    })
}

fn cache(of: &Part) -> Result<Cache> {
    let kind = |of: &Part| {
        Ok(CacheKind {
            kind: of.text("kind")?,
            hits: of.u64("hits")?,
            misses: of.u64("misses")?,
            usage_bytes: of.u64("usage_bytes")?,
        })
    };
    Ok(Cache {
        capacity_bytes: of.u64("capacity_bytes")?,
        usage_bytes: of.u64("usage_bytes")?,
        pinned_bytes: of.u64("pinned_bytes")?,
        kinds: of.list("kinds", kind)?,
    })
}

fn io(of: &Part) -> Result<Io> {
    Ok(Io { read_bytes: of.u64("read_bytes")?, append_bytes: of.u64("append_bytes")? })
}

fn family(of: &Part) -> Result<Family> {
    let (memtables, tables, blobs) = (of.at("memtables")?, of.at("tables")?, of.at("blobs")?);
    Ok(Family {
        name: of.text("name")?,
        is_flush_pending: of.bool("is_flush_pending")?,
        is_compaction_pending: of.bool("is_compaction_pending")?,
        pending_compaction_bytes: of.u64("pending_compaction_bytes")?,
        estimated_keys: of.u64("estimated_keys")?,
        memtables: memtables.u64("immutable_count")?.saturating_add(1),
        memtable_bytes: memtables.u64("active_bytes")?.saturating_add(memtables.u64("immutable_bytes")?),
        table_files: tables.u64("files")?,
        table_bytes: tables.u64("bytes")?,
        blob_files: blobs.u64("files")?,
        blob_bytes: blobs.u64("bytes")?,
        levels: of.list("levels", level)?,
    })
}

fn level(of: &Part) -> Result<Level> {
    Ok(Level {
        level: of.u64("level")?,
        files: of.u64("files")?,
        bytes: of.u64("bytes")?,
        files_compacting: of.u64("files_compacting")?,
        // JSON has no infinite numbers: such a score is null.
        score: of.optional("score")?.map_or(Ok(f64::INFINITY), |_| of.f64("score"))?,
        target_bytes: of.optional_u64("target_bytes")?,
    })
}

fn statistics(of: &Part) -> Result<Statistics> {
    let tickers = of.is("tickers", "an object", Value::as_object)?.clone();
    let all = of.at("histograms")?;
    let names = of.is("histograms", "an object", Value::as_object)?.keys();
    let times = names.filter(|name| name.ends_with(".micros"));
    let histograms = times.map(|name| {
        let of = all.at(name)?;
        Ok(Histogram {
            name: name.clone(),
            count: of.u64("count")?,
            sum: of.u64("sum")?,
            average: of.f64("average")?,
            p50: of.f64("p50")?,
            p95: of.f64("p95")?,
            p99: of.f64("p99")?,
            max: of.u64("max")?,
        })
    });
    Ok(Statistics { tickers, histograms: histograms.collect::<Result<_>>()? })
}
