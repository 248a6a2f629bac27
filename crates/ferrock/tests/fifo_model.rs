//! Random histories of FIFO families against a model: what is there is what a replay without the oldest tables gives.
//!
//! The model has every write with its number in the history, and where each flush ended. After each operation, and the
//! work that it started, the database must show the replay of all writes from some flush on, never from an earlier one
//! than before; what is in no table yet is always part of it. Beside that: the tables are within the limit, without
//! merges they are exactly those that the rules leave, and nothing that is too old for `ttl` stays at the end.
//!
//! `FERROCK_FIFO_HISTORIES=n` sets how many histories there are, `FERROCK_MODEL_SEED=n` from which seed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

#[path = "common/quiet.rs"]
mod quiet;

use ferrock::options::{CompactionStyle, FileTemperatureAge, Temperature};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions, WriteOptions};
use ferrock_base::clock::{Clock as _, ManualClock};
use ferrock_base::random::Random;
use ferrock_vfs::MemoryFileSystem;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone)]
enum Write {
    Put(u8, Vec<u8>),
    Delete(u8),
    DeleteRange(u8, u8),
}

type Contents = BTreeMap<u8, Vec<u8>>;

/// A table that the rules without merges know.
#[derive(Clone, Debug, PartialEq)]
struct Table {
    number: u64,
    bytes: u64,
    newest_secs: u64,
}

struct History {
    file_system: MemoryFileSystem,
    clock: Arc<ManualClock>,
    family: ColumnFamilyOptions,
    db: Option<Db>,
    writes: Vec<Write>,
    /// Where replays may begin: 0 and the ends of flushes.
    flushes: Vec<usize>,
    /// The first of `flushes` that the contents can be of.
    kept_from: usize,
    /// A table was written since the last look.
    has_flushed: bool,
    /// Newest first.
    tables: Vec<Table>,
}

fn limit(options: &ColumnFamilyOptions) -> u64 {
    options.compaction_options_fifo.limit_bytes()
}

impl History {
    fn new(numbers: &mut Random) -> Self {
        let mut family = ColumnFamilyOptions::default();
        family.compaction_style = CompactionStyle::Fifo;
        family.num_levels = [1, 7][numbers.below(2) as usize];
        family.level0_file_num_compaction_trigger = [1, 2, 3, 5][numbers.below(4) as usize];
        family.ttl = [0, 50, 200][numbers.below(3) as usize];
        let bytes = 2000 + numbers.below(20_000);
        let merges = numbers.below(2) == 1;
        let tiers = numbers.below(2) == 1;
        let ages =
            [Vec::new(), vec![(Temperature::Warm, 30), (Temperature::Cold, 90)]][numbers.below(2) as usize].clone();
        let copies = numbers.below(2) == 1;
        let fifo = &mut family.settings.compaction_options_fifo;
        // Temperatures are for queues of one level.
        if family.settings.num_levels == 1 {
            fifo.file_temperature_age_thresholds =
                ages.into_iter().map(|(temperature, age)| FileTemperatureAge { temperature, age }).collect();
            fifo.allow_trivial_copy_when_change_temperature = copies;
        }
        fifo.max_table_files_size = bytes;
        fifo.allow_compaction = merges;
        if tiers {
            fifo.use_kv_ratio_compaction = true;
            fifo.max_data_files_size = bytes;
            family.settings.max_compaction_bytes = 1500 + numbers.below(9000);
        }
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        let mut history = Self {
            file_system: MemoryFileSystem::new(),
            clock,
            family,
            db: None,
            writes: Vec::new(),
            flushes: vec![0],
            kept_from: 0,
            has_flushed: false,
            tables: Vec::new(),
        };
        history.open();
        history
    }

    fn open(&mut self) {
        self.db = None;
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.avoid_flush_during_recovery = true;
        options.components.file_system = Some(Arc::new(self.file_system.clone()));
        options.components.clock = Some(Arc::clone(&self.clock) as _);
        options.components.spawner = Some(quiet::NoWakeups::shared());
        let families = vec![("default".to_owned(), self.family.clone())];
        self.db = Some(Db::open_cf("/db", options, families).unwrap().0);
    }

    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    /// Tables get other numbers: they are merged, or change their temperatures.
    fn renumbers(&self) -> bool {
        let fifo = &self.family.compaction_options_fifo;
        fifo.allow_compaction || !fifo.file_temperature_age_thresholds.is_empty()
    }

    fn replay(&self, from: usize) -> Contents {
        let mut contents = Contents::new();
        for write in &self.writes[from..] {
            match write {
                Write::Put(key, value) => drop(contents.insert(*key, value.clone())),
                Write::Delete(key) => drop(contents.remove(key)),
                Write::DeleteRange(begin, end) => contents.retain(|key, _| !(begin..end).contains(&key)),
            }
        }
        contents
    }

    fn contents(&self) -> Contents {
        let mut iter = self.db().iter(&ReadOptions::default());
        iter.seek_to_first();
        let mut contents = Contents::new();
        while iter.valid() {
            contents.insert(iter.key()[0], iter.value().to_vec());
            iter.next();
        }
        iter.status().unwrap();
        contents
    }

    fn write(&mut self, numbers: &mut Random) {
        let key = numbers.below(40) as u8;
        let write = match numbers.below(12) {
            0 | 1 => Write::Delete(key),
            2 => Write::DeleteRange(key, key + 1 + numbers.below(12) as u8),
            _ => Write::Put(key, (0..numbers.below(300)).map(|_| numbers.below(256) as u8).collect()),
        };
        let db = self.db();
        match &write {
            Write::Put(key, value) => db.put(&[*key], value).unwrap(),
            Write::Delete(key) => db.delete(&[*key]).unwrap(),
            Write::DeleteRange(begin, end) => {
                let family = db.default_column_family().unwrap();
                db.delete_range_cf(&family, &[*begin], &[*end], &WriteOptions::default()).unwrap();
            }
        }
        self.writes.push(write);
    }

    fn flush(&mut self) {
        self.db().flush().unwrap();
        if self.flushes.last() != Some(&self.writes.len()) {
            self.flushes.push(self.writes.len());
            self.has_flushed = true;
        }
    }

    /// The rules without merges.
    fn drop_by_the_rules(&mut self, now_secs: u64) {
        let (limit, ttl) = (limit(&self.family), self.family.ttl);
        let is_old = |table: &Table| ttl > 0 && table.newest_secs < now_secs - ttl;
        let mut young = self.tables.len();
        while young > 0 && is_old(&self.tables[young - 1]) {
            young -= 1;
        }
        let bytes = |tables: &[Table]| tables.iter().map(|table| table.bytes).sum::<u64>();
        if bytes(&self.tables[..young]) <= limit {
            self.tables.truncate(young);
        }
        if self.family.compaction_options_fifo.max_data_files_size > 0 {
            // Each table counts for the same share.
            let mut size = bytes(&self.tables);
            let share = (size / (self.tables.len() as u64).max(1)).max(1);
            while size > limit {
                size = size.saturating_sub(share);
                if self.tables.pop().is_none() {
                    break;
                }
            }
            // And what is left is looked at once more.
            if bytes(&self.tables) > limit {
                self.drop_by_the_rules(now_secs);
            }
            return;
        }
        while bytes(&self.tables) > limit {
            self.tables.pop();
        }
    }

    /// Compares once nothing runs any more; `is_picked`: the operation has the picker look.
    fn check(&mut self, is_picked: bool) {
        self.db().wait_for_background_work().unwrap();
        let contents = self.contents();
        let first = (self.kept_from..self.flushes.len()).find(|&index| self.replay(self.flushes[index]) == contents);
        self.kept_from = first.unwrap_or_else(|| {
            panic!(
                "of {} flushes, from {} on, none leads to the keys {:?}",
                self.flushes.len(),
                self.kept_from,
                contents.keys()
            )
        });
        let now_secs = self.clock.unix_seconds();
        let mut live = self.db().live_files();
        assert!(live.iter().all(|file| file.level == 0));
        let bytes: u64 = live.iter().map(|file| file.size_bytes).sum();
        assert!(bytes <= limit(&self.family), "{bytes} bytes of tables, {} allowed", limit(&self.family));
        if self.renumbers() {
            return;
        }
        // New ones come first, and one that is not there any more fell off the end.
        live.sort_by_key(|file| std::cmp::Reverse(file.number));
        let newest = self.tables.first().map_or(0, |table| table.number);
        let new = live.iter().filter(|file| file.number.0 > newest);
        let new: Vec<Table> =
            new.map(|file| Table { number: file.number.0, bytes: file.size_bytes, newest_secs: now_secs }).collect();
        assert!(new.len() <= 1, "one flush makes one table");
        let is_new = !new.is_empty();
        if std::mem::take(&mut self.has_flushed) && !is_new {
            // A table larger than the limit goes at once, after all that are older.
            self.tables.clear();
        }
        self.tables.splice(0..0, new);
        if is_picked || is_new {
            self.drop_by_the_rules(now_secs);
        }
        let numbers = |tables: &[Table]| tables.iter().map(|table| table.number).collect::<Vec<_>>();
        let live: Vec<u64> = live.iter().map(|file| file.number.0).collect();
        assert_eq!(live, numbers(&self.tables), "at {now_secs}: {:?}", self.tables);
    }

    fn step(&mut self, numbers: &mut Random) {
        let is_picked = match numbers.below(20) {
            0..=2 => {
                self.flush();
                true
            }
            3 => {
                self.clock.advance(Duration::from_secs(numbers.below(60)));
                false
            }
            4 => {
                let end = [numbers.below(40) as u8];
                self.flush();
                self.db().compact_range(Some(b"\0"), Some(&end)).unwrap();
                // One compaction is what it does; the next flush does the rest.
                self.db().flush().unwrap();
                true
            }
            5 => {
                self.family.settings.compaction_options_fifo.max_table_files_size = 2000 + numbers.below(20_000);
                let bytes = self.family.compaction_options_fifo.max_table_files_size;
                if self.family.compaction_options_fifo.max_data_files_size > 0 {
                    self.family.settings.compaction_options_fifo.max_data_files_size = bytes;
                }
                let text = self.family.settings.get("compaction_options_fifo").unwrap();
                let family = self.db().default_column_family().unwrap();
                self.db().set_options_cf(&family, &[("compaction_options_fifo", &text)]).unwrap();
                true
            }
            6 => {
                self.open();
                true
            }
            _ => {
                self.write(numbers);
                return;
            }
        };
        self.check(is_picked);
    }
}

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().filter(|text| !text.is_empty()).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn what_is_there_is_a_history_without_its_oldest_tables() {
    let seed = environment("FERROCK_MODEL_SEED", 1);
    let mut drops = 0;
    for history in 0..environment("FERROCK_FIFO_HISTORIES", 60) {
        let mut numbers = Random::new(seed.wrapping_add(history.wrapping_mul(0x9e37_79b9)));
        println!("history {history} of FERROCK_MODEL_SEED={seed}");
        let mut of_it = History::new(&mut numbers);
        for _ in 0..300 {
            of_it.step(&mut numbers);
        }
        of_it.flush();
        of_it.check(true);
        drops += of_it.kept_from;
    }
    assert!(drops > 0, "no history lost a table");
}
