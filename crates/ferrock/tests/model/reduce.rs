//! Makes a failing case small: whole chunks of operations go first, so that a case of thousands shrinks in seconds.

use crate::operations::{Case, Operation, Tuning};
use std::time::{Duration, Instant};

/// How long to go on.
const LIMIT: Duration = Duration::from_secs(45);

/// The smallest case found that `fails` still says something about, and what it says.
pub fn reduce(case: Case, reason: String, mut fails: impl FnMut(&Case) -> Option<String>) -> (Case, String) {
    let until = Instant::now() + LIMIT;
    let mut best = (case, reason);
    let mut attempt = |best: &mut (Case, String), smaller: Case| {
        if Instant::now() >= until {
            return false;
        }
        let Some(reason) = fails(&smaller) else { return false };
        *best = (smaller, reason);
        true
    };
    loop {
        let before = size(&best.0);
        let mut chunk = best.0.operations.len().div_ceil(2).max(1);
        loop {
            let mut start = 0;
            while start < best.0.operations.len() {
                let mut smaller = best.0.clone();
                let end = (start + chunk).min(smaller.operations.len());
                smaller.operations.drain(start..end);
                if !attempt(&mut best, smaller) {
                    start = end;
                }
            }
            if chunk == 1 {
                break;
            }
            chunk = chunk.div_ceil(2);
        }
        for simpler in simplifications(&best.0) {
            // Built from the best case as it was; one that was overtaken is tried again in the next round.
            if size(&simpler) < size(&best.0) {
                attempt(&mut best, simpler);
            }
        }
        if size(&best.0) == before || Instant::now() >= until {
            return best;
        }
    }
}

fn size(case: &Case) -> usize {
    let inner = |operation: &Operation| match operation {
        Operation::Batch { mutations, .. } => mutations.len(),
        Operation::MultiGet { targets, .. } | Operation::CountLookups { targets, .. } => targets.len(),
        Operation::Walk(walk) | Operation::HoldIterator(walk) => {
            let again = walk.again.as_ref().map_or(0, |again| again.steps.len() + 1);
            let bounds = usize::from(walk.lower.is_some()) + usize::from(walk.upper.is_some());
            walk.steps.len() + bounds + again + walk.tuning.0.count_ones() as usize + usize::from(walk.on_thread)
        }
        Operation::Sweep(sweep) => usize::from(sweep.steps) + sweep.tuning.0.count_ones() as usize,
        Operation::ScanAsync(scan) => scan.tuning.0.count_ones() as usize,
        Operation::MultiScan(scan) => scan.ranges.len() + scan.tuning.0.count_ones() as usize,
        Operation::StepHeld { steps, .. } => steps.len(),
        Operation::SetOptions { choices, .. } => choices.len(),
        Operation::CreateFamily(family) => family.choices.len(),
        Operation::Reopen { database, family_choices, .. } => {
            database.len() + family_choices.as_ref().map_or(0, |choices| choices.len() + 1)
        }
        Operation::Kill { database } => database.len(),
        _ => 0,
    };
    let families: usize = case.families.iter().map(|family| family.choices.len() + 1).sum();
    case.database.len() + families + case.operations.iter().map(|operation| inner(operation) + 1).sum::<usize>()
}

fn without<T: Clone>(list: &[T]) -> impl Iterator<Item = Vec<T>> {
    (0..list.len()).map(|index| {
        let mut shorter = list.to_vec();
        shorter.remove(index);
        shorter
    })
}

fn fewer_bits(tuning: Tuning) -> impl Iterator<Item = Tuning> {
    (0..16).map(move |bit| Tuning(tuning.0 & !(1 << bit))).filter(move |fewer| *fewer != tuning)
}

fn simplifications(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    all.extend(without(&case.database).map(|database| Case { database, ..case.clone() }));
    if case.families.len() > 1 {
        all.extend(without(&case.families).map(|families| Case { families, ..case.clone() }));
    }
    for index in 0..case.families.len() {
        for choices in without(&case.families[index].choices) {
            let mut simpler = case.clone();
            simpler.families[index].choices = choices;
            all.push(simpler);
        }
    }
    for (index, operation) in case.operations.iter().enumerate() {
        for simpler_operation in simpler_operations(operation) {
            let mut simpler = case.clone();
            simpler.operations[index] = simpler_operation;
            all.push(simpler);
        }
    }
    all
}

fn simpler_operations(operation: &Operation) -> Vec<Operation> {
    match operation {
        Operation::Batch { mutations, sync } => {
            without(mutations).map(|mutations| Operation::Batch { mutations, sync: *sync }).collect()
        }
        Operation::CountLookups { family, snapshot, targets } => {
            let fewer = |targets| Operation::CountLookups { family: *family, snapshot: *snapshot, targets };
            without(targets).map(fewer).collect()
        }
        Operation::Reopen { close, database, family_choices } => {
            let reopen =
                |database: Vec<_>, family_choices| Operation::Reopen { close: *close, database, family_choices };
            let mut all: Vec<Operation> =
                without(database).map(|database| reopen(database, family_choices.clone())).collect();
            if let Some(choices) = family_choices {
                all.push(reopen(database.clone(), None));
                all.extend(without(choices).map(|choices| reopen(database.clone(), Some(choices))));
            }
            all
        }
        Operation::Walk(walk) => {
            let mut all = vec![Operation::Walk(crate::operations::Walk { lower: None, ..walk.clone() })];
            all.push(Operation::Walk(crate::operations::Walk { upper: None, ..walk.clone() }));
            all.extend(
                without(&walk.steps).map(|steps| Operation::Walk(crate::operations::Walk { steps, ..walk.clone() })),
            );
            all.push(Operation::Walk(crate::operations::Walk { again: None, on_thread: false, ..walk.clone() }));
            let simpler = |tuning| Operation::Walk(crate::operations::Walk { tuning, ..walk.clone() });
            all.extend(fewer_bits(walk.tuning).map(simpler));
            all
        }
        Operation::Sweep(sweep) => fewer_bits(sweep.tuning)
            .map(|tuning| Operation::Sweep(crate::operations::Sweep { tuning, ..sweep.clone() }))
            .collect(),
        Operation::ScanAsync(scan) => fewer_bits(scan.tuning)
            .map(|tuning| Operation::ScanAsync(crate::operations::AsyncScanOf { tuning, ..scan.clone() }))
            .collect(),
        Operation::MultiScan(scan) => {
            let fewer = without(&scan.ranges)
                .map(|ranges| Operation::MultiScan(crate::operations::MultiScanOf { ranges, ..scan.clone() }));
            let simpler = fewer_bits(scan.tuning)
                .map(|tuning| Operation::MultiScan(crate::operations::MultiScanOf { tuning, ..scan.clone() }));
            fewer.chain(simpler).collect()
        }
        Operation::CreateFamily(family) => without(&family.choices)
            .map(|choices| Operation::CreateFamily(crate::operations::NewFamily { choices, ..family.clone() }))
            .collect(),
        Operation::Kill { database } => without(database).map(|database| Operation::Kill { database }).collect(),
        _ => Vec::new(),
    }
}
