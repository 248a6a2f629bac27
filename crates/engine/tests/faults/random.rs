//! Faults at random: whatever fails, and however often, what was acknowledged is there, now and after a crash.

use crate::rig::Rig;
use ferrock_vfs::{Fault, FaultRule, OperationKind, Trigger};

const OPERATIONS: [OperationKind; 6] = [
    OperationKind::Append,
    OperationKind::Sync,
    OperationKind::Create,
    OperationKind::Rename,
    OperationKind::SyncDir,
    OperationKind::Remove,
];

fn run(seed: u64) {
    let what = format!("seed {seed}");
    let mut rig = Rig::new();
    rig.options.max_manifest_file_size = 2000;
    rig.options.max_manifest_space_amp_pct = 0;
    let mut db = rig.open();
    for round in 0..6u64 {
        for (index, operation) in OPERATIONS.into_iter().enumerate() {
            let fault = if (seed + index as u64).is_multiple_of(2) { Fault::NoSpace } else { Fault::Io };
            let trigger = Trigger::Probability { chance: 0.02, seed: seed * 1000 + round * 10 + index as u64 };
            rig.faulty.add_rule(FaultRule::new(operation, "*", fault).when(trigger));
        }
        for number in 0..60u32 {
            if rig.put(&db).is_err() && db.background_error().is_some() {
                // The faults go on while it resumes.
                let _ = (0..5).find(|_| db.resume().is_ok());
            }
            if number % 20 == 19 {
                let _ = db.flush();
            }
        }
        let _ = db.compact_range(None, None);
        rig.verify(&db, &what);
        rig.verify_after_crash(&what);
        rig.faulty.clear_rules();
        if db.background_error().is_some() && db.resume().is_err() {
            let _ = db.close();
            db = rig.open();
        }
        rig.put(&db).unwrap_or_else(|error| panic!("{what}: no writes without faults: {error}"));
        rig.verify(&db, &what);
        if round % 3 == 2 {
            let _ = db.close();
            db = rig.open();
            rig.verify(&db, &format!("{what}, reopened"));
        }
    }
    let errors = db.property("background-errors").unwrap();
    assert!(!errors.is_empty());
    rig.verify_after_crash(&what);
}

#[test]
fn nothing_acknowledged_is_lost() {
    for seed in 0..25 {
        run(seed);
    }
}
