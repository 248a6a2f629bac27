//! Every damaged log under each of the four recovery modes.
//!
//! ```text
//! damage                  point in time   tolerate the tail   absolute   skip
//! torn record at the end  prefix          prefix              refused    prefix
//! flipped bit inside      prefix          refused             refused    all but the record
//! zeros at the end        everything      everything          -          everything
//! garbage at the end      everything      -                   -          everything
//! ```
//!
//! Where the table has a dash the releases differ among themselves: the open may be refused,
//! but what opens holds every record before the damage.

use crate::archive::GoldenDatabase;
use crate::expect::{number, text};
use crate::findings::Findings;
use crate::read;
use ferrock::options::WalRecoveryMode as Mode;

pub fn has_damaged_log(database: &GoldenDatabase) -> bool {
    database.expect["damage"]["file"].as_str().is_some_and(|file| file.ends_with(".log"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Refused with `Corruption`.
    Refused,
    /// Opened; the sequence numbers reach the recorded one.
    Recorded,
    /// Opened; every record before the damage is there, and maybe some after it.
    Prefix,
    Either,
}

fn outcome(database: &GoldenDatabase, mode: Mode) -> Outcome {
    let name = database.name.as_str();
    match mode {
        _ if mode == read::mode(&database.expect) && database.opens() => Outcome::Recorded,
        _ if mode == read::mode(&database.expect) => Outcome::Refused,
        Mode::AbsoluteConsistency if name.contains("torn") || name.contains("bitflip") => Outcome::Refused,
        Mode::TolerateCorruptedTailRecords if name.contains("bitflip") => Outcome::Refused,
        Mode::AbsoluteConsistency => Outcome::Either,
        Mode::TolerateCorruptedTailRecords if name.contains("garbage") => Outcome::Either,
        _ if name.contains("bitflip") || !database.opens() => Outcome::Prefix,
        _ => Outcome::Recorded,
    }
}

pub fn check(database: &GoldenDatabase, findings: &mut Findings) {
    let size = |member| database.expect["damage"][member].as_u64().unwrap();
    findings.check(size("size_before") > 0 && size("size_after") > 0, || "the damage has no size".to_owned());
    let modes = [
        Mode::PointInTimeRecovery,
        Mode::AbsoluteConsistency,
        Mode::TolerateCorruptedTailRecords,
        Mode::SkipAnyCorruptedRecords,
    ];
    let mut opened = 0;
    for mode in modes {
        let unpacked = database.unpack();
        let what = format!("{mode:?}");
        let recovered = read::open(&unpacked.path(), mode).map(|(db, _)| db.latest_sequence_number().0);
        opened += usize::from(recovered.is_ok());
        match (outcome(database, mode), recovered) {
            (Outcome::Refused, result) => {
                let status = result.map(|_| "OK").unwrap_or_else(|error| error.kind().name());
                findings.equal(&what, &status, &"Corruption");
            }
            (Outcome::Recorded, result) => {
                let Some(sequence) = findings.ok(&what, result) else { continue };
                findings.equal(&what, &sequence, &number(&database.expect, "latest_sequence_number"));
            }
            (Outcome::Prefix, result) => {
                let Some(sequence) = findings.ok(&what, result) else { continue };
                // The table alone holds a part of it; the records before the damage are some more.
                findings.check(sequence > 200, || format!("{what}: only up to {sequence}"));
            }
            (Outcome::Either, Ok(sequence)) => {
                findings.equal(&what, &sequence, &number(&database.expect, "latest_sequence_number"));
            }
            (Outcome::Either, Err(error)) => findings.equal(&what, &error.kind().name(), &"Corruption"),
        }
    }
    findings
        .check(opened >= 2, || format!("{} of 4 modes open {}", opened, text(&database.expect["damage"], "damage")));
}
