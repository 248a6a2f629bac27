//! Reads that share requests, in any order.

use super::joining::{Full, IO_ERROR, RING};
use super::*;
use crate::ReadBuffer;
use ferrock_base::thread::StdSpawner;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Start { start: u64, length: u64, gap_bytes: u64, is_final: bool },
    Poll(usize),
    Drop(usize),
    Perform(usize, Manner),
}

fn step() -> impl Strategy<Value = Step> {
    let manner = prop_oneof![
        4 => Just(Manner::Whole),
        1 => (1usize..3000).prop_map(Manner::Short),
        1 => prop::sample::select(vec![IO_ERROR, 4, 14, 125]).prop_map(Manner::Error),
    ];
    let gap_bytes = prop::sample::select(vec![0u64, 0, 300, 5000]);
    prop_oneof![
        6 => (0u64..30, 1u64..4, gap_bytes, any::<bool>()).prop_map(|(at, length, gap_bytes, is_final)| {
            Step::Start { start: at * 700, length: length * 700, gap_bytes, is_final }
        }),
        2 => any::<usize>().prop_map(Step::Poll),
        2 => any::<usize>().prop_map(Step::Drop),
        3 => (any::<usize>(), manner).prop_map(|(number, manner)| Step::Perform(number, manner)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Reads that share one place in the ring, performed in any order and manner, polled and dropped at any moment:
    /// completed reads have the right bytes, no read waits for ever, no request is made without a read, and all memory
    /// is returned.
    #[test]
    fn reads_share_requests_in_any_order(steps in prop::collection::vec(step(), 1..120)) {
        let full = Full::new();
        let mut reads: Vec<(u64, u64, DriverTicket)> = Vec::new();
        let (mut started, mut failed) = (0, 0);
        let check = |(start, length, read): &(u64, u64, DriverTicket), outcome: Outcome| match outcome {
            Outcome::Complete(came) => {
                let view = came.slice(*start, *length as usize);
                let expected: Vec<u8> = (*start..start + length).map(byte_at).collect();
                prop_assert_eq!(view.as_ref().map(ReadBuffer::bytes), Some(&expected[..]), "{:?}", read);
                Ok(())
            }
            Outcome::WithoutRing => Ok(()),
            Outcome::Late | Outcome::Refused(_) => Err(TestCaseError::fail("it has neither time nor limit")),
        };
        assert!(full.kernel.perform_at(0, Manner::Whole));
        for step in steps {
            let count = reads.len();
            match step {
                Step::Start { start, length, gap_bytes, is_final } => {
                    let change = |context: &mut ReadContext| {
                        context.gap_bytes = gap_bytes;
                        context.is_final = is_final;
                    };
                    reads.push((start, length, full.start_as(start, length, change)));
                    started += 1;
                }
                Step::Poll(number) if count > 0 => {
                    let read = &reads[number % count];
                    if let Poll::Ready(outcome) = read.2.poll(&Context::from_waker(Waker::noop())) {
                        check(read, outcome)?;
                        drop(reads.swap_remove(number % count));
                    }
                }
                Step::Drop(number) if count > 0 => drop(reads.swap_remove(number % count)),
                Step::Perform(number, manner) => {
                    let more = full.kernel.submitted().saturating_sub(RING - 1);
                    if more > 0 && full.kernel.perform_at(RING - 1 + number % more, manner) {
                        failed += usize::from(!matches!(manner, Manner::Whole));
                    }
                }
                _ => {}
            }
        }
        let (kernel, played) = (Arc::clone(&full.kernel), Arc::clone(&full.kernel));
        let join = StdSpawner.spawn("kernel", Box::new(move || while played.perform() {})).unwrap();
        for read in &reads {
            check(read, outcome(&read.2))?;
        }
        drop(reads);
        let requests = full.counted().requests as usize;
        prop_assert!(failed > 0 || requests <= started, "{} requests for {} reads", requests, started);
        full.finish();
        kernel.end();
        join.join().unwrap();
    }
}
