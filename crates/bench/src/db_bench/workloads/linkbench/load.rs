//! The graph as it begins, and the check of all of it.

use super::graph_of;
use super::rows::{self, Kind, LINK_TYPES};
use crate::failure::Result;
use crate::stats::Operation;
use crate::worker::Worker;
use ferrock::{Iter, ReadOptions, WriteBatch};

/// Writes counts, links and nodes in the order of their keys.
pub(in crate::workloads) fn link_load(worker: &mut Worker<'_>) -> Result<()> {
    let mut batch = WriteBatch::default();
    let nodes = graph_of(worker)?.nodes();
    for kind in [Kind::Count, Kind::Link, Kind::Node] {
        for id in 0..nodes {
            match kind {
                Kind::Node => {
                    rows::node_key(id, &mut worker.key);
                    add_row(worker, kind, &mut batch)?;
                }
                _ => load_links(worker, kind, id, &mut batch)?,
            }
        }
    }
    write_rows(worker, &mut batch)
}

fn load_links(worker: &mut Worker<'_>, kind: Kind, id1: u64, batch: &mut WriteBatch) -> Result<()> {
    for link_type in 0..LINK_TYPES {
        let graph = graph_of(worker)?;
        let links = graph.links(id1, link_type);
        let mut targets: Vec<u64> = (0..links).map(|index| graph.target(id1, link_type, index)).collect();
        targets.sort_unstable();
        targets.dedup();
        if kind == Kind::Count {
            if !targets.is_empty() {
                rows::count_key(id1, link_type, &mut worker.key);
                rows::count_value(targets.len() as u64, 0, &mut worker.value);
                put_row(worker, batch)?;
            }
            continue;
        }
        for id2 in targets {
            rows::link_key(id1, link_type, id2, &mut worker.key);
            add_row(worker, kind, batch)?;
        }
    }
    Ok(())
}

/// Adds the first version of the row of the key.
fn add_row(worker: &mut Worker<'_>, kind: Kind, batch: &mut WriteBatch) -> Result<()> {
    rows::make(kind, &worker.key, 0, worker.shared.values, &mut worker.value);
    put_row(worker, batch)
}

fn put_row(worker: &mut Worker<'_>, batch: &mut WriteBatch) -> Result<()> {
    batch.put(&worker.key, &worker.value)?;
    worker.stats.add_bytes(worker.key.len() + worker.value.len());
    worker.finished(1, Operation::Write);
    if u64::from(batch.count()) >= worker.shared.settings.batch_size { write_rows(worker, batch) } else { Ok(()) }
}

fn write_rows(worker: &mut Worker<'_>, batch: &mut WriteBatch) -> Result<()> {
    Ok(worker.shared.db.write(std::mem::take(batch), &worker.shared.write_options)?)
}

/// Reads everything: checks that each row has the written value, and that each count equals the number of links.
pub(in crate::workloads) fn link_check(worker: &mut Worker<'_>) -> Result<()> {
    let options = ReadOptions { fill_cache: false, ..worker.shared.read_options.clone() };
    let (mut counts, mut links) = (worker.shared.db.iter(&options), worker.shared.db.iter(&options));
    counts.seek(b"c");
    links.seek(b"l");
    let mut list = Vec::new();
    while counts.valid() && counts.key().starts_with(b"c") {
        check_row(worker, counts.key(), counts.value())?;
        let count = rows::read_count(counts.value()).map_or(0, |(count, _)| count);
        list.clear();
        list.extend_from_slice(counts.key());
        list[0] = b'l';
        let mut found = 0;
        while links.valid() && links.key().starts_with(&list) {
            check_row(worker, links.key(), links.value())?;
            found += 1;
            links.next();
        }
        if found != count {
            return Err(worker.wrong(&format!("the count is {count}, but there are {found} links"), &list));
        }
        counts.next();
    }
    if links.valid() && links.key().starts_with(b"l") {
        return Err(worker.wrong("a link is in no count", links.key()));
    }
    check_nodes(worker, &mut links)?;
    counts.status()?;
    Ok(links.status()?)
}

fn check_nodes(worker: &mut Worker<'_>, iter: &mut Iter) -> Result<()> {
    iter.seek(b"n");
    while iter.valid() {
        check_row(worker, iter.key(), iter.value())?;
        iter.next();
    }
    Ok(())
}

/// Checks a row that was read.
pub(super) fn check_row(worker: &mut Worker<'_>, key: &[u8], value: &[u8]) -> Result<()> {
    worker.stats.add_bytes(key.len() + value.len());
    if worker.shared.settings.verify {
        worker.stats.add_check();
        if !rows::is_right(key, value, worker.shared.values, &mut worker.value) {
            return Err(worker.wrong("the row is not what was written", key));
        }
    }
    if worker.shared.name == "linkcheck" {
        worker.finished(1, Operation::Read);
    }
    Ok(())
}
