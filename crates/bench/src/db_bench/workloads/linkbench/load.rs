//! The graph as it begins, and the check of all of it.

use super::rows::{self, Kind, LINK_TYPES};
use crate::failure::Result;
use crate::stats::Operation;
use crate::worker::Worker;
use ferrock::{Iter, ReadOptions, WriteBatch};

impl Worker<'_> {
    /// Writes counts, links and nodes in the order of their keys.
    pub(in crate::workloads) fn link_load(&mut self) -> Result<()> {
        let mut batch = WriteBatch::default();
        let nodes = self.graph()?.nodes();
        for kind in [Kind::Count, Kind::Link, Kind::Node] {
            for id in 0..nodes {
                match kind {
                    Kind::Node => {
                        rows::node_key(id, &mut self.key);
                        self.add_row(kind, &mut batch)?;
                    }
                    _ => self.load_links(kind, id, &mut batch)?,
                }
            }
        }
        self.write_rows(&mut batch)
    }

    fn load_links(&mut self, kind: Kind, id1: u64, batch: &mut WriteBatch) -> Result<()> {
        for link_type in 0..LINK_TYPES {
            let graph = self.graph()?;
            let links = graph.links(id1, link_type);
            let mut targets: Vec<u64> = (0..links).map(|index| graph.target(id1, link_type, index)).collect();
            targets.sort_unstable();
            targets.dedup();
            if kind == Kind::Count {
                if !targets.is_empty() {
                    rows::count_key(id1, link_type, &mut self.key);
                    rows::count_value(targets.len() as u64, 0, &mut self.value);
                    self.put_row(batch)?;
                }
                continue;
            }
            for id2 in targets {
                rows::link_key(id1, link_type, id2, &mut self.key);
                self.add_row(kind, batch)?;
            }
        }
        Ok(())
    }

    /// Adds the first version of the row of the key.
    fn add_row(&mut self, kind: Kind, batch: &mut WriteBatch) -> Result<()> {
        rows::make(kind, &self.key, 0, self.shared.values, &mut self.value);
        self.put_row(batch)
    }

    fn put_row(&mut self, batch: &mut WriteBatch) -> Result<()> {
        batch.put(&self.key, &self.value)?;
        self.stats.add_bytes(self.key.len() + self.value.len());
        self.finished(1, Operation::Write);
        if u64::from(batch.count()) >= self.shared.settings.batch_size { self.write_rows(batch) } else { Ok(()) }
    }

    fn write_rows(&mut self, batch: &mut WriteBatch) -> Result<()> {
        Ok(self.shared.db.write(std::mem::take(batch), &self.shared.write_options)?)
    }

    /// Reads everything: checks that each row has the written value, and that each count equals the number of links.
    pub(in crate::workloads) fn link_check(&mut self) -> Result<()> {
        let options = ReadOptions { fill_cache: false, ..self.shared.read_options.clone() };
        let (mut counts, mut links) = (self.shared.db.iter(&options), self.shared.db.iter(&options));
        counts.seek(b"c");
        links.seek(b"l");
        let mut list = Vec::new();
        while counts.valid() && counts.key().starts_with(b"c") {
            self.check_row(counts.key(), counts.value())?;
            let count = rows::read_count(counts.value()).map_or(0, |(count, _)| count);
            list.clear();
            list.extend_from_slice(counts.key());
            list[0] = b'l';
            let mut found = 0;
            while links.valid() && links.key().starts_with(&list) {
                self.check_row(links.key(), links.value())?;
                found += 1;
                links.next();
            }
            if found != count {
                return Err(self.wrong(&format!("the count is {count}, but there are {found} links"), &list));
            }
            counts.next();
        }
        if links.valid() && links.key().starts_with(b"l") {
            return Err(self.wrong("a link is in no count", links.key()));
        }
        self.check_nodes(&mut links)?;
        counts.status()?;
        Ok(links.status()?)
    }

    fn check_nodes(&mut self, iter: &mut Iter) -> Result<()> {
        iter.seek(b"n");
        while iter.valid() {
            self.check_row(iter.key(), iter.value())?;
            iter.next();
        }
        Ok(())
    }

    /// Checks a row that was read.
    pub(super) fn check_row(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.stats.add_bytes(key.len() + value.len());
        if self.shared.settings.verify {
            self.stats.add_check();
            if !rows::is_right(key, value, self.shared.values, &mut self.value) {
                return Err(self.wrong("the row is not what was written", key));
            }
        }
        if self.shared.name == "linkcheck" {
            self.finished(1, Operation::Read);
        }
        Ok(())
    }
}
