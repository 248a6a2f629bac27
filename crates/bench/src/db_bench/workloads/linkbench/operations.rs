//! LinkBench's operations, in their published mix.

use super::distribution::batch;
use super::graph_of;
use super::load::check_row;
use super::rows::{self, Kind, LINK_TYPES};
use crate::failure::Result;
use crate::stats::Operation;
use crate::worker::Worker;
use ferrock::{ReadOptions, WriteBatch};
use ferrock_bench::zipf::unit;

/// The operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    AddLink,
    DeleteLink,
    UpdateLink,
    CountLinks,
    MultigetLink,
    GetLinksList,
    GetNode,
    AddNode,
    UpdateNode,
    DeleteNode,
}

/// Their shares, in percent.
const MIX: [(Request, f64); 10] = [
    (Request::AddLink, 8.988_660_1),
    (Request::DeleteLink, 2.990_766_4),
    (Request::UpdateLink, 8.012_212_5),
    (Request::CountLinks, 4.886_356_7),
    (Request::MultigetLink, 0.526_114_2),
    (Request::GetLinksList, 50.711_914_5),
    (Request::GetNode, 12.932_668_3),
    (Request::AddNode, 2.573_278_9),
    (Request::UpdateNode, 7.366_437),
    (Request::DeleteNode, 1.011_591_4),
];
/// Probabilities that an operation is about a link of the beginning.
const ADD_EXISTING: f64 = 0.05;
const CHANGE_EXISTING: f64 = 0.9;
const GET_EXISTING: f64 = 0.5;
/// The most rows of a list.
const LIST_LIMIT: u64 = 10_000;

fn request(share: f64) -> Request {
    let mut left = share * 100.0;
    for (request, percent) in MIX {
        if left < percent {
            return request;
        }
        left -= percent;
    }
    Request::GetLinksList
}

/// Does operations until the time is over.
pub(in crate::workloads) fn link_bench(worker: &mut Worker<'_>) -> Result<()> {
    let mut pace = worker.pace(worker.shared.settings.reads, true);
    while pace.next(1) {
        let operation = match request(unit(&mut worker.random)) {
            Request::AddLink => put_link(worker, ADD_EXISTING)?,
            Request::UpdateLink => put_link(worker, CHANGE_EXISTING)?,
            Request::DeleteLink => delete_link(worker)?,
            Request::CountLinks => count_links(worker)?,
            Request::MultigetLink => multiget_link(worker)?,
            Request::GetLinksList => get_links_list(worker)?,
            Request::GetNode => get_node(worker)?,
            Request::AddNode => add_node(worker)?,
            Request::UpdateNode => update_node(worker)?,
            Request::DeleteNode => delete_node(worker)?,
        };
        worker.finished(1, operation);
    }
    Ok(())
}

/// Looks the row of a key up and checks it.
fn row(worker: &mut Worker<'_>, key: &[u8]) -> Result<Option<ferrock::PinnedSlice>> {
    let row = worker.shared.db.get_with(&worker.shared.read_options, key)?;
    if let Some(value) = &row {
        check_row(worker, key, value)?;
    }
    Ok(row)
}

fn link_type(worker: &mut Worker<'_>) -> u64 {
    worker.random.below(LINK_TYPES)
}

/// Changes a count within the batch that changes the links.
fn add_to_count(
    worker: &mut Worker<'_>,
    id1: u64,
    link_type: u64,
    is_more: bool,
    batch: &mut WriteBatch,
) -> Result<()> {
    let mut key = Vec::new();
    rows::count_key(id1, link_type, &mut key);
    let (count, version) = match row(worker, &key)? {
        Some(value) => rows::read_count(&value).map_or((0, 0), |(count, version)| (count, version + 1)),
        None => (0, 0),
    };
    let count = if is_more { count + 1 } else { count.saturating_sub(1) };
    let mut value = Vec::new();
    rows::count_value(count, version, &mut value);
    Ok(batch.put(&key, &value)?)
}

/// Adds a link, or updates the one that is there.
fn put_link(worker: &mut Worker<'_>, existing: f64) -> Result<Operation> {
    let shared = worker.shared;
    let link_type = link_type(worker);
    let graph = graph_of(worker)?;
    let id1 = graph.link_write(&mut worker.random);
    let id2 = graph.some_target(id1, link_type, existing, &mut worker.random);
    let mut key = Vec::new();
    rows::link_key(id1, link_type, id2, &mut key);
    let _guard = graph.lock(id1);
    let before = row(worker, &key)?;
    let version = before.as_ref().and_then(|value| rows::version_of(Kind::Link, value));
    let mut batch = WriteBatch::default();
    let mut value = Vec::new();
    rows::make(Kind::Link, &key, version.map_or(0, |version| version.wrapping_add(1)), shared.values, &mut value);
    batch.put(&key, &value)?;
    if before.is_none() {
        add_to_count(worker, id1, link_type, true, &mut batch)?;
    }
    shared.db.write(batch, &shared.write_options)?;
    Ok(Operation::Write)
}

fn delete_link(worker: &mut Worker<'_>) -> Result<Operation> {
    let shared = worker.shared;
    let link_type = link_type(worker);
    let graph = graph_of(worker)?;
    let id1 = graph.link_write(&mut worker.random);
    let id2 = graph.some_target(id1, link_type, CHANGE_EXISTING, &mut worker.random);
    let mut key = Vec::new();
    rows::link_key(id1, link_type, id2, &mut key);
    let _guard = graph.lock(id1);
    if row(worker, &key)?.is_some() {
        let mut batch = WriteBatch::default();
        batch.delete(&key)?;
        add_to_count(worker, id1, link_type, false, &mut batch)?;
        shared.db.write(batch, &shared.write_options)?;
    }
    Ok(Operation::Delete)
}

fn read_id(worker: &mut Worker<'_>) -> Result<u64> {
    Ok(graph_of(worker)?.link_read(&mut worker.random))
}

fn count_links(worker: &mut Worker<'_>) -> Result<Operation> {
    let (id1, link_type) = (read_id(worker)?, link_type(worker));
    let mut key = Vec::new();
    rows::count_key(id1, link_type, &mut key);
    row(worker, &key)?;
    Ok(Operation::Read)
}

fn multiget_link(worker: &mut Worker<'_>) -> Result<Operation> {
    let (id1, link_type) = (read_id(worker)?, link_type(worker));
    let count = batch(&mut worker.random);
    let graph = graph_of(worker)?;
    let mut keys = vec![Vec::new(); count as usize];
    for key in &mut keys {
        rows::link_key(id1, link_type, graph.some_target(id1, link_type, GET_EXISTING, &mut worker.random), key);
    }
    keys.sort_unstable();
    keys.dedup();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let family = worker.shared.db.default_column_family()?;
    let rows = worker.shared.db.multi_get_cf(&family, &worker.shared.read_options, &slices);
    for (key, row) in slices.iter().zip(rows) {
        if let Some(value) = row? {
            check_row(worker, key, &value)?;
        }
    }
    Ok(Operation::Read)
}

fn get_links_list(worker: &mut Worker<'_>) -> Result<Operation> {
    let (id1, link_type) = (read_id(worker)?, link_type(worker));
    let (mut first, mut end) = (Vec::new(), Vec::new());
    rows::list_key(id1, link_type, &mut first);
    rows::list_key(id1, link_type + 1, &mut end);
    let options = ReadOptions { upper_bound: Some(end), ..worker.shared.read_options.clone() };
    let mut iter = worker.shared.db.iter(&options);
    iter.seek(&first);
    let mut rows = 0;
    while iter.valid() && rows < LIST_LIMIT {
        if !iter.key().starts_with(&first) {
            return Err(worker.wrong("an iterator went beyond its bound", iter.key()));
        }
        check_row(worker, iter.key(), iter.value())?;
        rows += 1;
        iter.next();
    }
    iter.status()?;
    Ok(Operation::Seek)
}

fn get_node(worker: &mut Worker<'_>) -> Result<Operation> {
    let id = graph_of(worker)?.node_read(&mut worker.random);
    let mut key = Vec::new();
    rows::node_key(id, &mut key);
    row(worker, &key)?;
    Ok(Operation::Read)
}

fn put_node(worker: &mut Worker<'_>, key: &[u8], version: u32) -> Result<()> {
    let mut value = Vec::new();
    rows::make(Kind::Node, key, version, worker.shared.values, &mut value);
    let mut batch = WriteBatch::default();
    batch.put(key, &value)?;
    Ok(worker.shared.db.write(batch, &worker.shared.write_options)?)
}

fn add_node(worker: &mut Worker<'_>) -> Result<Operation> {
    let mut key = Vec::new();
    rows::node_key(graph_of(worker)?.new_node(), &mut key);
    put_node(worker, &key, 0)?;
    Ok(Operation::Write)
}

/// A node that was deleted is not updated.
fn update_node(worker: &mut Worker<'_>) -> Result<Operation> {
    let graph = graph_of(worker)?;
    let id = graph.node_update(&mut worker.random);
    let mut key = Vec::new();
    rows::node_key(id, &mut key);
    let _guard = graph.lock(id);
    if let Some(version) = row(worker, &key)?.and_then(|value| rows::version_of(Kind::Node, &value)) {
        put_node(worker, &key, version.wrapping_add(1))?;
    }
    Ok(Operation::Update)
}

/// Any node, not those most in use.
fn delete_node(worker: &mut Worker<'_>) -> Result<Operation> {
    let (shared, graph) = (worker.shared, graph_of(worker)?);
    let id = worker.random.below(graph.nodes());
    let mut key = Vec::new();
    rows::node_key(id, &mut key);
    let _guard = graph.lock(id);
    if row(worker, &key)?.is_some() {
        let mut batch = WriteBatch::default();
        batch.delete(&key)?;
        shared.db.write(batch, &shared.write_options)?;
    }
    Ok(Operation::Delete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_all_and_each_operation_has_its_share() {
        assert!((MIX.iter().map(|(_, percent)| percent).sum::<f64>() - 100.0).abs() < 1e-6);
        let steps = 1_000_000;
        for (wanted, percent) in MIX {
            let count = (0..steps).filter(|step| request(f64::from(*step) / f64::from(steps)) == wanted).count();
            assert!((count as f64 * 100.0 / f64::from(steps) - percent).abs() < 0.01, "{wanted:?}: {count}");
        }
    }
}
