//! Space that is counted, bounded and given back, over a file system in memory and a clock that the test moves.

use super::*;
use ferrock_base::clock::ManualClock;
use ferrock_base::thread::StdSpawner;
use ferrock_vfs::{MemoryFileSystem, write_file_atomically};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Rig {
    file_system: Arc<dyn FileSystem>,
    clock: Arc<ManualClock>,
    place: Arc<RemovalPlace>,
    manager: Arc<SstFileManager>,
}

impl Rig {
    fn new(options: SstFileManagerOptions) -> Self {
        let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let clock = Arc::new(ManualClock::new(0));
        let place = RemovalPlace {
            file_system: Arc::clone(&file_system),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            spawner: StdSpawner::shared(),
            may_cut: true,
            statistics: None,
        };
        Self { file_system, clock, place: Arc::new(place), manager: SstFileManager::new(options) }
    }

    fn add(&self, name: &str, bytes: usize) -> PathBuf {
        let path = PathBuf::from("/").join(name);
        write_file_atomically(&*self.file_system, &path, Path::new("/temp"), &vec![7; bytes]).unwrap();
        self.manager.on_add_file(path.clone(), bytes as u64);
        path
    }

    fn names(&self) -> Vec<String> {
        self.file_system.children(Path::new("/")).unwrap()
    }

    /// Lets time pass until it is so; the seconds that this took from the beginning.
    fn until(&self, is_so: impl Fn() -> bool) -> f64 {
        while !is_so() {
            // Time stands still while a thread whose time has come wakes.
            if self.clock.asleep() > 0 {
                self.clock.advance(Duration::from_millis(10));
            }
            #[expect(clippy::disallowed_methods, reason = "a thread of real time is waited for")]
            std::thread::sleep(Duration::from_micros(200));
        }
        self.clock.monotonic_us() as f64 / 1e6
    }

    fn has(&self, name: &str) -> bool {
        self.file_system.exists(&Path::new("/").join(name)).unwrap()
    }
}

fn paced(rate: i64, ratio: f64, chunk: u64) -> SstFileManagerOptions {
    SstFileManagerOptions {
        delete_rate_bytes_per_second: rate,
        max_trash_db_ratio: ratio,
        bytes_max_delete_chunk: chunk,
    }
}

#[test]
fn without_a_rate_files_go_at_once() {
    let rig = Rig::new(SstFileManagerOptions::default());
    let path = rig.add("000001.sst", 100);
    assert_eq!(rig.manager.total_size(), 100);
    rig.manager.remove(&rig.place, &path).unwrap();
    assert!(rig.names().is_empty());
    assert_eq!((rig.manager.total_size(), rig.manager.tracked_files().len()), (0, 0));
    assert!(rig.manager.remove(&rig.place, &path).unwrap_err().is_not_found());
}

#[test]
fn trash_goes_at_its_rate() {
    let rig = Rig::new(SstFileManagerOptions { delete_rate_bytes_per_second: 100, ..paced(0, 1.0, 0) });
    let paths: Vec<_> = (1..=3).map(|number| rig.add(&format!("00000{number}.sst"), 200)).collect();
    for path in &paths {
        rig.manager.remove(&rig.place, path).unwrap();
    }
    // The first goes at once, and each of the others when the one before it is paid for.
    let seconds = rig.until(|| !rig.has("000001.sst.trash"));
    assert!(seconds < 0.5, "{seconds}");
    assert!(rig.has("000002.sst.trash") && rig.has("000003.sst.trash"));
    let seconds = rig.until(|| !rig.has("000002.sst.trash"));
    assert!((2.0..3.5).contains(&seconds), "{seconds}");
    assert_eq!((rig.manager.total_trash_size(), rig.manager.total_size()), (200, 200));
    let seconds = rig.until(|| rig.manager.total_trash_size() == 0);
    assert!((4.0..6.0).contains(&seconds), "{seconds}");
    rig.manager.wait_for_empty_trash();
    assert!(rig.names().is_empty());
    assert_eq!(rig.manager.total_size(), 0);
}

#[test]
fn much_trash_is_not_paced() {
    let rig = Rig::new(SstFileManagerOptions { max_trash_db_ratio: 0.25, ..paced(1, 1.0, 0) });
    let paths: Vec<_> = (1..=4).map(|number| rig.add(&format!("00000{number}.sst"), 100)).collect();
    rig.manager.remove(&rig.place, &paths[0]).unwrap();
    rig.until(|| rig.manager.total_trash_size() == 0);
    rig.manager.remove(&rig.place, &paths[1]).unwrap();
    rig.manager.remove(&rig.place, &paths[2]).unwrap();
    assert_eq!(rig.names(), ["000002.sst.trash", "000004.sst"], "100 of 300 bytes are trash: more than a quarter");
}

#[test]
fn large_files_are_cut_unless_they_have_another_name() {
    let rig = Rig::new(SstFileManagerOptions { bytes_max_delete_chunk: 100, ..paced(100, 1.0, 0) });
    let (large, linked) = (rig.add("000001.sst", 250), rig.add("000002.sst", 250));
    rig.file_system.hard_link(&linked, Path::new("/copy")).unwrap();
    rig.manager.remove(&rig.place, &large).unwrap();
    rig.manager.remove(&rig.place, &linked).unwrap();
    let trash = Path::new("/000001.sst.trash");
    rig.until(|| rig.manager.total_trash_size() < 500);
    assert_eq!(rig.file_system.file_size(trash).unwrap(), 150);
    assert_eq!((rig.manager.total_size(), rig.manager.total_trash_size()), (400, 400));
    let seconds = rig.until(|| rig.manager.total_trash_size() == 0);
    assert!((2.5..4.0).contains(&seconds), "{seconds}");
    rig.manager.wait_for_empty_trash();
    assert_eq!((rig.names(), rig.file_system.file_size(Path::new("/copy")).unwrap()), (vec!["copy".to_owned()], 250));
}

#[test]
fn trash_of_the_same_name_and_of_an_earlier_process() {
    let rig = Rig::new(paced(1, 10.0, 0));
    let first = rig.add("000001.sst", 10);
    rig.manager.remove(&rig.place, &first).unwrap();
    rig.until(|| rig.manager.total_trash_size() == 0);
    let second = rig.add("000001.sst", 10);
    rig.manager.remove(&rig.place, &second).unwrap();
    let third = rig.add("000001.sst", 10);
    rig.manager.remove(&rig.place, &third).unwrap();
    assert_eq!(rig.names(), ["000001.sst.trash", "000001.sst0.trash"]);
    let old = PathBuf::from("/000009.blob.trash");
    write_file_atomically(&*rig.file_system, &old, Path::new("/temp"), &[1; 40]).unwrap();
    rig.manager.remove(&rig.place, &old).unwrap();
    assert_eq!((rig.manager.total_size(), rig.manager.total_trash_size()), (60, 60));
    rig.manager.set_delete_rate_bytes_per_second(0);
    rig.manager.wait_for_empty_trash();
    assert!(rig.names().is_empty());
}

#[test]
fn the_end_of_the_manager_leaves_trash_to_the_next_open() {
    let rig = Rig::new(paced(1, 10.0, 0));
    let paths = ["000001.sst", "000002.sst"].map(|name| rig.add(name, 10));
    paths.iter().for_each(|path| rig.manager.remove(&rig.place, path).unwrap());
    rig.until(|| rig.manager.total_trash_size() == 10);
    let Rig { file_system, manager, .. } = rig;
    drop(manager);
    assert_eq!(file_system.children(Path::new("/")).unwrap(), ["000002.sst.trash"]);
}

#[derive(Default)]
struct Heard(AtomicUsize);

impl SpaceObserver for Heard {
    fn space_freed(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_bound_and_what_compactions_reserve() {
    let rig = Rig::new(SstFileManagerOptions::default());
    let heard = Arc::new(Heard::default());
    let observer: Weak<Heard> = Arc::downgrade(&heard);
    rig.manager.observe(observer);
    let path = rig.add("000001.sst", 600);
    rig.manager.set_max_allowed_space_usage(1000);
    rig.manager.set_compaction_buffer_size(100);
    assert!(rig.manager.reserve(301).is_none());
    let reserved = rig.manager.reserve(300).expect("600 + 300 + 100 fit");
    assert!(rig.manager.reserve(1).is_none());
    assert_eq!(rig.manager.compactions_reserved_size(), 300);
    rig.add("000002.sst", 100);
    assert!(!rig.manager.is_max_allowed_space_reached());
    assert!(rig.manager.is_max_allowed_space_reached_including_compactions());
    drop(reserved);
    assert!(!rig.manager.is_max_allowed_space_reached_including_compactions());
    assert_eq!(heard.0.load(Ordering::Relaxed), 0);
    rig.manager.remove(&rig.place, &path).unwrap();
    assert_eq!(heard.0.load(Ordering::Relaxed), 1, "something was refused");
    rig.manager.set_max_allowed_space_usage(100);
    let error = rig.manager.check_limit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SpaceLimit);
    assert!(error.to_string().starts_with("IO error: Space limit reached: Max allowed space was reached"), "{error}");
    rig.manager.set_max_allowed_space_usage(0);
    assert_eq!(heard.0.load(Ordering::Relaxed), 2);
    assert!(rig.manager.check_limit().is_ok());
}
