//! Getting RocksDB: 11.8.1 from Maven, whose Java binding carries a library with the whole C interface, and 7.8.3 with
//! its tools from Debian. Nothing is compiled. What cannot be had is a failure.

use crate::settings::Release;
use std::path::{Path, PathBuf};
use std::process::Command;

const ARTIFACT: &str = "org.rocksdb:rocksdbjni:11.8.1";
const LIBRARY_IN_ARTIFACT: &str = "librocksdbjni-linux64.so";
const DEBIAN_LIBRARY: &str = "librocksdb.so.7.8";
const DEBIAN_PACKAGES: [&str; 2] = ["librocksdb7.8", "rocksdb-tools"];

/// Where everything is.
#[derive(Clone, Debug)]
pub struct Fetched {
    pub current: PathBuf,
    pub old: PathBuf,
    /// The tool of 7.8.3.
    pub ldb: PathBuf,
}

impl Fetched {
    pub fn library(&self, release: Release) -> &Path {
        match release {
            Release::Current => &self.current,
            Release::Old => &self.old,
        }
    }
}

/// Fetches what is not there yet into `directory`; 11.8.1 only when the caller has none.
pub fn fetch(directory: &Path, current: Option<&Path>) -> Result<Fetched, String> {
    std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let current = current.map_or_else(|| fetch_current(directory), |path| Ok(path.to_owned()))?;
    let (old, ldb) = fetch_old(directory)?;
    Ok(Fetched { current, old, ldb })
}

/// Runs a command; its output is shown when it fails.
fn run(command: &mut Command) -> Result<Vec<u8>, String> {
    let text = format!("{command:?}").replace('"', "");
    let output = command.output().map_err(|error| format!("cannot run `{text}`: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    let last = lines[lines.len().saturating_sub(15)..].join("\n  ");
    Err(format!("`{text}` failed ({}):\n  {last}", output.status))
}

fn fetch_current(directory: &Path) -> Result<PathBuf, String> {
    let library = directory.join("librocksdb-11.8.1.so");
    if library.exists() {
        return Ok(library);
    }
    eprintln!("fetching {ARTIFACT}");
    run(Command::new("mvn")
        .args(["-q", "-B", "dependency:get", "-Dtransitive=false"])
        .arg(format!("-Dartifact={ARTIFACT}")))
    .map_err(|error| format!("RocksDB 11.8.1 cannot be had: {error}"))?;
    let jars = directory.join("jar");
    run(Command::new("mvn")
        .args(["-q", "-B", "dependency:copy"])
        .args([format!("-Dartifact={ARTIFACT}"), format!("-DoutputDirectory={}", jars.display())]))
    .map_err(|error| format!("RocksDB 11.8.1 cannot be had: {error}"))?;
    let jar = jars.join("rocksdbjni-11.8.1.jar");
    let content = run(Command::new("unzip").arg("-p").arg(&jar).arg(LIBRARY_IN_ARTIFACT))?;
    // Renamed when it is whole: an interrupted run leaves nothing that looks like a library.
    let unfinished = directory.join("unfinished.so");
    let written = std::fs::write(&unfinished, content).and_then(|()| std::fs::rename(&unfinished, &library));
    written.map_err(|error| format!("{}: {error}", library.display()))?;
    let _ = std::fs::remove_dir_all(jars);
    Ok(library)
}

/// The library and `ldb`: those of the system where they are, installed where that is allowed, else unpacked beside the
/// other one.
fn fetch_old(directory: &Path) -> Result<(PathBuf, PathBuf), String> {
    if let Some(found) = installed() {
        return Ok(found);
    }
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        eprintln!("installing {}", DEBIAN_PACKAGES.join(" "));
        let install = |updated: bool| {
            if updated {
                run(Command::new("apt-get").args(["update", "-q"]))?;
            }
            let mut install = Command::new("apt-get");
            install.args(["install", "-y", "-q", "--no-install-recommends"]).args(DEBIAN_PACKAGES);
            run(install.env("DEBIAN_FRONTEND", "noninteractive"))
        };
        install(false).or_else(|_| install(true)).map_err(|error| format!("RocksDB 7.8.3 cannot be had: {error}"))?;
        return installed().ok_or_else(|| format!("{DEBIAN_LIBRARY} is installed and not found"));
    }
    unpack(directory).map_err(|error| format!("RocksDB 7.8.3 cannot be had: {error}"))
}

fn installed() -> Option<(PathBuf, PathBuf)> {
    let libraries = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let library = libraries.iter().map(|place| Path::new(place).join(DEBIAN_LIBRARY)).find(|path| path.exists())?;
    let ldb = ["/usr/bin/ldb", "/usr/local/bin/ldb"].iter().map(PathBuf::from).find(|path| path.exists())?;
    Some((library, ldb))
}

fn unpack(directory: &Path) -> Result<(PathBuf, PathBuf), String> {
    let root = directory.join("debian");
    let library = root.join("usr/lib/x86_64-linux-gnu").join(DEBIAN_LIBRARY);
    let ldb = root.join("usr/bin/ldb");
    if !library.exists() || !ldb.exists() {
        eprintln!("downloading {}", DEBIAN_PACKAGES.join(" "));
        let packages = directory.join("packages");
        std::fs::create_dir_all(&packages).map_err(|error| format!("{}: {error}", packages.display()))?;
        run(Command::new("apt-get").arg("download").args(DEBIAN_PACKAGES).current_dir(&packages))?;
        let files = std::fs::read_dir(&packages).map_err(|error| format!("{}: {error}", packages.display()))?;
        for file in files.flatten() {
            run(Command::new("dpkg").arg("-x").arg(file.path()).arg(&root))?;
        }
    }
    Ok((library, ldb))
}
