//! Cases that a seed decides, each played in a process of its own, and what is said of them.
//!
//! ```text
//! interop NAME --seeds 0..11 --> interop CASE --seed 0 --directory .. --library ..  --> {"COUNTED": 96}
//!                                                                                  \-> {"failure": ".."}
//! ```

use crate::engine::Outcome;
use crate::fetch::Fetched;
use crate::runner::{in_parallel, run_self};
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::{Duration, Instant};

/// What became of a seed.
pub struct SeedResult {
    pub seed: u64,
    /// How many of what the suite counts.
    pub outcome: Outcome<u64>,
}

/// Cases of one kind.
pub struct Suite {
    /// The task that plays them.
    pub name: &'static str,
    /// The task that plays one, in its process.
    pub case: &'static str,
    /// What a case counts.
    pub counted: &'static str,
    /// What the count says, behind the number.
    pub means: &'static str,
}

impl Suite {
    /// Plays seeds and says what became of them; true when none failed.
    pub fn run(&self, fetched: &Fetched, scratch: &Path, seeds: RangeInclusive<u64>, json: bool) -> bool {
        self.run_by(seeds, json, |seed| self.play_case(fetched, &scratch.join(self.name), seed))
    }

    /// As [`run`](Self::run), where a case takes more than one process.
    pub fn run_by(&self, seeds: RangeInclusive<u64>, json: bool, play: impl Fn(u64) -> Outcome<u64> + Sync) -> bool {
        let start = Instant::now();
        let seeds: Vec<u64> = seeds.collect();
        let results = in_parallel(self.name, &seeds, |&seed| SeedResult { seed, outcome: play(seed) });
        self.report(&results, start.elapsed(), json)
    }

    /// As [`run_by`](Self::run_by), with a directory of its own for each seed, which both libraries are given: RocksDB
    /// 11.8.1's, then Ferrock's.
    pub fn run_of_both(
        &self,
        libraries: [&Path; 2],
        scratch: &Path,
        seeds: RangeInclusive<u64>,
        json: bool,
        play: impl Fn([&Path; 2], &Path, u64) -> Outcome<u64> + Sync,
    ) -> bool {
        self.run_by(seeds, json, |seed| {
            let directory = scratch.join(seed.to_string());
            let _ = std::fs::remove_dir_all(&directory);
            let played = std::fs::create_dir_all(&directory)
                .map_err(|error| format!("{}: {error}", directory.display()))
                .and_then(|()| play(libraries, &directory, seed));
            self.ended(&directory, seed, played)
        })
    }

    fn play_case(&self, fetched: &Fetched, scratch: &Path, seed: u64) -> Outcome<u64> {
        let directory = scratch.join(seed.to_string());
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let arguments = [self.case, "--seed", &seed.to_string(), "--directory"].map(str::to_owned);
        let places = [directory.display().to_string(), "--library".to_owned(), fetched.current.display().to_string()];
        let ended = run_self(&[&arguments[..], &places].concat())?;
        let said = ended.lines.last().cloned().unwrap_or_default();
        let outcome = match (said["failure"].as_str(), said[self.counted].as_u64()) {
            (None, Some(count)) if ended.status.success() => Ok(count),
            (failure, _) => Err(failure.unwrap_or(&ended.errors).to_owned()),
        };
        self.ended(&directory, seed, outcome)
    }

    /// Plays a part of a case with one of the libraries, in a process of its own, and gives what it says.
    pub fn ask(&self, directory: &Path, library: &Path, arguments: &[&str]) -> Outcome<Value> {
        let mut all = vec![self.case.to_owned(), "--directory".to_owned(), directory.display().to_string()];
        all.extend(["--library".to_owned(), library.display().to_string()]);
        all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        let ended = run_self(&all)?;
        let said = ended.lines.last().cloned().unwrap_or_default();
        match said["failure"].as_str() {
            None if ended.status.success() => Ok(said),
            failure => Err(format!("{}: {}", library.display(), failure.unwrap_or(&ended.errors))),
        }
    }

    /// Removes the directory of a case that is well, and says of another how it is played again.
    pub fn ended(&self, directory: &Path, seed: u64, outcome: Outcome<u64>) -> Outcome<u64> {
        match outcome {
            Ok(count) => {
                let _ = std::fs::remove_dir_all(directory);
                Ok(count)
            }
            Err(failure) => {
                let (name, place) = (self.name, directory.display());
                Err(format!("{failure}; `interop {name} --seeds {seed}` plays it again; directory: {place}"))
            }
        }
    }

    fn report(&self, results: &[SeedResult], took: Duration, json: bool) -> bool {
        let failed = results.iter().filter(|result| result.outcome.is_err()).count();
        if json {
            let cases = results.iter().map(|result| match &result.outcome {
                Ok(count) => json!({"seed": result.seed, self.counted: count}),
                Err(failure) => json!({"seed": result.seed, "failure": failure}),
            });
            println!("{}", json!({self.name: cases.collect::<Vec<_>>(), "seconds": took.as_secs_f64()}));
            return failed == 0;
        }
        for result in results {
            if let Err(failure) = &result.outcome {
                println!("{} of seed {}: {failure}", self.name, result.seed);
            }
        }
        let count: u64 = results.iter().filter_map(|result| result.outcome.as_ref().ok()).sum();
        let (all, seconds) = (results.len(), took.as_secs_f64());
        println!("{}: {failed} of {all} failed; {count} {} {}; {seconds:.1} s", self.name, self.counted, self.means);
        failed == 0
    }
}
