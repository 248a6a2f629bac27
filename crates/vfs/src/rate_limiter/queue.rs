//! The requests that wait for a [`TokenBucket`](super::TokenBucket), and which of them is next.
//!
//! ```text
//! User   [ piece piece ]  <- the first piece of the highest rank is next ...
//! High   [ piece ]
//! Mid    [ ]
//! Low    [ piece piece ]  <- ... unless the first piece of a rank was passed over too often
//! ```
//!
//! Within a rank pieces are granted in the order in which they came. Only the next piece takes tokens: tokens gather
//! for it however many smaller pieces come meanwhile.
//!
//! Tried and lost: every thread takes what it needs when it finds it there. A thread that asks for little finds it each
//! time, one that asks for much never does: a flush of 16 MB waited 6 seconds beside compactions.

use super::IoPriority;
use std::collections::VecDeque;

const RANKS: usize = IoPriority::User as usize + 1;

/// A piece that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    rank: usize,
    number: u64,
    bytes: u64,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    ranks: [VecDeque<Ticket>; RANKS],
    /// Grants to higher ranks since a rank had its last one, or since it began to wait.
    passed_over: [u32; RANKS],
    next_number: u64,
}

impl Ticket {
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl WaitQueue {
    pub(super) fn join(&mut self, priority: IoPriority, bytes: u64) -> Ticket {
        let rank = priority as usize;
        let ticket = Ticket { rank, number: self.next_number, bytes };
        self.next_number += 1;
        if self.ranks[rank].is_empty() {
            self.passed_over[rank] = 0;
        }
        self.ranks[rank].push_back(ticket);
        ticket
    }

    /// Makes a piece that waits no longer than `most_bytes`: the bucket may hold less by now.
    pub(super) fn shrink(&mut self, ticket: &mut Ticket, most_bytes: u64) {
        if ticket.bytes > most_bytes {
            ticket.bytes = most_bytes;
            if let Some(waiting) = self.ranks[ticket.rank].iter_mut().find(|other| other.number == ticket.number) {
                *waiting = *ticket;
            }
        }
    }

    /// True when nothing is to be granted before this piece. A rank may be passed over `fairness` times.
    pub(super) fn is_next(&self, ticket: &Ticket, fairness: u32) -> bool {
        let waits = |rank: &usize| !self.ranks[*rank].is_empty();
        let is_overdue = |rank: &usize| waits(rank) && self.passed_over[*rank] >= fairness;
        let next = (0..RANKS).rev().find(is_overdue).or_else(|| (0..RANKS).rev().find(waits));
        next == Some(ticket.rank) && self.ranks[ticket.rank].front() == Some(ticket)
    }

    /// Bytes that are granted before this piece, as far as that is known now.
    pub(super) fn bytes_ahead(&self, ticket: &Ticket) -> u64 {
        let of_rank = self.ranks[ticket.rank].iter().take_while(|other| other.number < ticket.number);
        let above = self.ranks[ticket.rank + 1..].iter().flatten();
        of_rank.chain(above).fold(0, |sum: u64, other| sum.saturating_add(other.bytes))
    }

    /// The next piece gets its tokens.
    pub(super) fn grant(&mut self, ticket: &Ticket) {
        self.ranks[ticket.rank].pop_front();
        self.passed_over[ticket.rank] = 0;
        for rank in 0..ticket.rank {
            self.passed_over[rank] = self.passed_over[rank].saturating_add(1);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.ranks.iter().all(VecDeque::is_empty)
    }
}
