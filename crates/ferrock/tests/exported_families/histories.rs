//! Drawn histories: writes, ingestions, flushes and compactions over drawn options; then the family is exported, and
//! imported into a database that has a history of its own, where it goes on.

use super::{EXPORT, FROM, TO, memory, merging, rows, tables_in};
use crate::common::{Contents, options_on};
use ferrock::backup::Checkpoint;
use ferrock::options::CompactionStyle;
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, FlushOptions, ImportColumnFamilyOptions,
    IngestExternalFileOptions, ReadOptions, SstFileWriter, WriteBatch, WriteOptions,
};
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::Arc;

const KEYS: u64 = 80;

struct Player {
    random: Random,
    files: MemoryFileSystem,
    db: Db,
    family: ColumnFamily,
    options: ColumnFamilyOptions,
    model: Contents,
    prefix: &'static str,
    ingested: u64,
}

fn family_options(random: &mut Random) -> ColumnFamilyOptions {
    let mut options = merging();
    options.write_buffer_size = 64 << 10;
    options.target_file_size_base = [400, 2 << 10, 64 << 20][random.below(3) as usize];
    options.max_bytes_for_level_base = [2 << 10, 256 << 20][random.below(2) as usize];
    options.level0_file_num_compaction_trigger = 2 + random.below(4) as i32;
    options.num_levels = 4 + random.below(4) as i32;
    options.level_compaction_dynamic_level_bytes = random.one_in(2);
    options.disable_auto_compactions = random.one_in(4);
    if random.one_in(4) {
        options.compaction_style = CompactionStyle::Universal;
    }
    options
}

impl Player {
    fn new(files: &MemoryFileSystem, path: &str, prefix: &'static str, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let options = family_options(&mut random);
        let families = vec![("default".to_owned(), merging()), ("played".to_owned(), options.clone())];
        let (db, mut families) = Db::open_cf(path, options_on(Arc::new(files.clone())), families).unwrap();
        let family = families.pop().unwrap();
        Self { random, files: files.clone(), db, family, options, model: Contents::new(), prefix, ingested: 0 }
    }

    fn key(&mut self) -> Vec<u8> {
        format!("{}{:03}", self.prefix, self.random.below(KEYS)).into_bytes()
    }

    fn value(&mut self) -> Vec<u8> {
        vec![b'a' + self.random.below(26) as u8; 1 + self.random.below(40) as usize]
    }

    fn write(&mut self) {
        let mut batch = WriteBatch::new();
        let id = self.family.id();
        for _ in 0..=self.random.below(5) {
            let (key, value, kind) = (self.key(), self.value(), self.random.below(8));
            match kind {
                0 => {
                    batch.delete_cf(id, &key).unwrap();
                    self.model.remove(&key);
                }
                1 => {
                    let end = [&key[..key.len() - 1], b"~"].concat();
                    batch.delete_range_cf(id, &key, &end).unwrap();
                    self.model.retain(|own, _| *own < key || *own >= end);
                }
                2 => {
                    batch.merge_cf(id, &key, &value).unwrap();
                    let old = self.model.get(&key);
                    let merged = old.map_or_else(|| value.clone(), |old| [old, &b","[..], &value].concat());
                    self.model.insert(key, merged);
                }
                _ => {
                    batch.put_cf(id, &key, &value).unwrap();
                    self.model.insert(key, value);
                }
            }
        }
        self.db.write(batch, &WriteOptions::default()).unwrap();
    }

    fn ingest(&mut self) {
        self.ingested += 1;
        let path = format!("/data/{}{}", self.prefix, self.ingested);
        let mut writer = SstFileWriter::new(&options_on(Arc::new(self.files.clone())), self.options.clone());
        writer.open(&path).unwrap();
        let begin = self.random.below(KEYS);
        for number in begin..(begin + 1 + self.random.below(10)) {
            let (key, value) = (format!("{}{number:03}", self.prefix).into_bytes(), self.value());
            writer.put(&key, &value).unwrap();
            self.model.insert(key, value);
        }
        writer.finish().unwrap();
        let options = IngestExternalFileOptions {
            write_global_seqno: self.random.one_in(2),
            move_files: true,
            ..IngestExternalFileOptions::default()
        };
        self.db.ingest_external_file_cf(&self.family, &[&path], &options).unwrap();
    }

    fn play(&mut self, steps: u64) {
        for _ in 0..steps {
            match self.random.below(20) {
                0 => self.ingest(),
                1..=3 => self.db.flush_cf(&self.family, &FlushOptions::default()).unwrap(),
                4 => {
                    let (begin, end) = (self.key(), self.key());
                    let (begin, end) = if begin <= end { (begin, end) } else { (end, begin) };
                    let options = CompactRangeOptions::default();
                    self.db.compact_range_cf(&self.family, Some(&begin), Some(&end), &options).unwrap();
                }
                _ => self.write(),
            }
        }
    }
}

/// Puts what was played into another player, which goes on with it.
fn import(players: &[&Player], to: &mut Player, name: &str, seed: u64) {
    let mut random = Random::new(seed);
    let exports: Vec<_> = players
        .iter()
        .enumerate()
        .map(|(number, player)| {
            let directory = format!("{EXPORT}{name}{number}");
            let links = random.one_in(2);
            let checkpoint = Checkpoint::new(&player.db).hard_links(links);
            checkpoint.export_column_family(&player.family, directory).unwrap()
        })
        .collect();
    let listed: usize = exports.iter().map(|export| export.files.len()).sum();
    let move_files = random.one_in(2);
    let mut options = family_options(&mut random);
    options.num_levels = 8;
    let options_of_import = ImportColumnFamilyOptions { move_files };
    let family = to.db.create_column_family_with_import(name, options.clone(), &options_of_import, &exports).unwrap();
    for file in exports.iter().flat_map(|export| &export.files) {
        assert_eq!(to.files.exists(&file.path).unwrap(), !move_files, "{}", file.path.display());
        assert!(file.largest_sequence <= to.db.latest_sequence_number());
    }
    if options.disable_auto_compactions {
        let levels = |files: Vec<ferrock::ExportedFile>| {
            let mut levels: Vec<_> =
                files.iter().map(|file| (file.level, file.smallest_sequence, file.largest_sequence)).collect();
            levels.sort_unstable();
            levels
        };
        let expected = exports.iter().flat_map(|export| export.files.clone()).collect();
        assert_eq!(levels(to.db.column_family_files(&family).unwrap()), levels(expected));
    }
    assert!(listed > 0);
    to.family = family;
    to.options = options;
    to.model = players.iter().flat_map(|player| player.model.clone()).collect();
}

fn check(player: &Player, what: &str) {
    assert_eq!(rows(&player.db, &player.family), player.model, "{what}");
    for number in 0..KEYS {
        let key = format!("{}{number:03}", player.prefix).into_bytes();
        let value = player.db.get_cf(&player.family, &ReadOptions::default(), &key).unwrap();
        assert_eq!(value.as_deref(), player.model.get(&key).map(Vec::as_slice), "{what}: {number}");
    }
}

#[test]
fn an_imported_family_has_what_was_exported_and_goes_on() {
    let wanted: u64 = std::env::var("FERROCK_EXPORT_SEEDS").map_or(60, |text| text.parse().unwrap());
    for seed in 0..wanted {
        let files = memory();
        let mut from = Player::new(&files, FROM, "k", seed);
        let mut to = Player::new(&files, TO, "k", seed + 1000);
        // Numbers of the one are ahead, or those of the other.
        let (long, short) = (20 + seed % 60 * 3, 10);
        from.play(if seed % 2 == 0 { long } else { short });
        from.write();
        from.model.insert(b"k000".to_vec(), b"there".to_vec());
        from.db.put_cf(&from.family, b"k000", b"there", &WriteOptions::default()).unwrap();
        to.play(if seed % 2 == 0 { short } else { long });
        let (own, own_model) = (to.family.clone(), to.model.clone());
        import(&[&from], &mut to, "imported", seed);
        check(&to, &format!("seed {seed}: imported"));
        assert_eq!(rows(&to.db, &own), own_model, "seed {seed}: the other family");
        to.play(60);
        check(&to, &format!("seed {seed}: more writes"));
        // It is exported again from there, into the first database.
        import(&[&to], &mut from, "back", seed);
        check(&from, &format!("seed {seed}: back"));
        to.db.verify_checksum().unwrap();
        let model = to.model.clone();
        let options = to.options.clone();
        drop((to.family, own));
        to.db.close().unwrap();
        let names = [("default", merging()), ("played", merging()), ("imported", options)];
        let families = names.map(|(name, options)| (name.to_owned(), options)).to_vec();
        let (db, families) = Db::open_cf(TO, options_on(Arc::new(files.clone())), families).unwrap();
        assert_eq!(rows(&db, &families[2]), model, "seed {seed}: opened again");
    }
}

#[test]
fn shards_become_one_family() {
    for seed in 0..20 {
        let files = memory();
        let paths = ["/data/shard0", "/data/shard1", "/data/shard2"];
        let prefixes = ["a", "b", "c"];
        let mut shards: Vec<Player> =
            paths.iter().zip(prefixes).map(|(path, prefix)| Player::new(&files, path, prefix, seed)).collect();
        for shard in &mut shards {
            shard.play(30 + seed);
            let key = [shard.prefix.as_bytes(), b"000"].concat();
            shard.db.put_cf(&shard.family, &key, b"there", &WriteOptions::default()).unwrap();
            shard.model.insert(key, b"there".to_vec());
        }
        let mut to = Player::new(&files, TO, "b", seed + 1000);
        to.play(20);
        import(&shards.iter().collect::<Vec<_>>(), &mut to, "all", seed);
        assert_eq!(rows(&to.db, &to.family), to.model, "seed {seed}");
        to.play(60);
        check(&to, &format!("seed {seed}: more writes"));
        assert!(!tables_in(&files, TO).is_empty());
        assert!(files.exists(Path::new(TO)).unwrap());
    }
}
