//! What is looked at: a view, and an order of its table, as keys choose them.

/// Which sections are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum View {
    #[default]
    All,
    Levels,
    Stalls,
    Memory,
    Cache,
    Latencies,
}

/// The views, from left to right.
pub(crate) const VIEWS: [(View, &str); 6] = [
    (View::All, "all"),
    (View::Levels, "levels"),
    (View::Stalls, "stalls"),
    (View::Memory, "memory"),
    (View::Cache, "cache"),
    (View::Latencies, "latencies"),
];

impl View {
    /// The orders that its table can have; that of all sections is fixed.
    pub(crate) fn orders(self) -> &'static [&'static str] {
        match self {
            Self::All => &[],
            Self::Levels => &["tree", "score", "size", "files"],
            Self::Stalls => &["time", "cause"],
            Self::Memory => &["bytes", "name"],
            Self::Cache => &["held", "hits", "misses"],
            Self::Latencies => &["name", "99 %", "times"],
        }
    }

    /// One of them, counted from the first and around.
    pub(crate) fn order(self, sort: usize) -> &'static str {
        let orders = self.orders();
        orders.get(sort % orders.len().max(1)).copied().unwrap_or_default()
    }
}

/// What is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) view: View,
    /// Counts through the orders of its table.
    pub(crate) sort: usize,
}

impl Look {
    /// The view that is `steps` to the right.
    pub(crate) fn turned(self, steps: isize) -> Self {
        let now = VIEWS.iter().position(|(view, _)| *view == self.view).unwrap_or(0);
        let next = (now as isize + steps).rem_euclid(VIEWS.len() as isize) as usize;
        Self { view: VIEWS[next].0, sort: 0 }
    }

    /// Another order of the table.
    pub(crate) fn sorted(self, steps: isize) -> Self {
        let count = self.view.orders().len().max(1) as isize;
        Self { sort: (self.sort as isize + steps).rem_euclid(count) as usize, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_around_views_and_orders() {
        let look = Look::default();
        assert_eq!(look.turned(-1), Look { view: View::Latencies, sort: 0 });
        assert_eq!(look.turned(6), look);
        assert_eq!(look.sorted(1), look, "the view of all has one order");
        let levels = look.turned(1);
        assert_eq!((levels.sorted(-1).sort, levels.sorted(4)), (3, levels));
        assert_eq!((View::Levels.order(5), View::All.order(1)), ("score", ""));
    }
}
