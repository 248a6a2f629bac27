use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ferrock_base::clock::Clock;

use super::queue::Ticket;
use super::{BYTE, IoKind, IoPriority, LimiterMode, RateLimiter, TokenBucket, TokenBucketOptions};

const PRIORITIES: [IoPriority; 4] = [IoPriority::Low, IoPriority::Mid, IoPriority::High, IoPriority::User];

/// Time passes only in sleeps.
#[derive(Debug, Default)]
struct SleepClock {
    now_us: AtomicU64,
    sleeps: AtomicU64,
}

impl Clock for SleepClock {
    fn monotonic_us(&self) -> u64 {
        self.now_us.load(Ordering::Relaxed)
    }
    fn unix_us(&self) -> u64 {
        self.monotonic_us()
    }
    fn sleep(&self, duration: Duration) {
        self.sleeps.fetch_add(1, Ordering::Relaxed);
        self.now_us.fetch_add(duration.as_micros() as u64, Ordering::Relaxed);
    }
}

fn bucket(bytes_per_second: u64) -> (TokenBucket, Arc<SleepClock>) {
    let clock = Arc::new(SleepClock::default());
    let shared: Arc<dyn Clock> = Arc::<SleepClock>::clone(&clock);
    (TokenBucket::new(bytes_per_second, shared), clock)
}

#[test]
fn bytes_flow_at_the_rate() {
    for (rate, request) in [(1_000_000, 1000), (1_000_000, 3_000_000), (7, 1), (3, 100), (1 << 40, 1 << 43)] {
        let (bucket, clock) = bucket(rate);
        let mut total = 0;
        while total < rate * 5 {
            bucket.request(request, IoPriority::Low);
            total += request;
        }
        let burst = (rate / 10).max(1);
        let expected_us = u128::from(total - burst) * 1_000_000 / u128::from(rate);
        let elapsed_us = u128::from(clock.monotonic_us());
        assert!(elapsed_us >= expected_us, "{rate} {request}: {elapsed_us} {expected_us}");
        let rounding_us = u128::from(clock.sleeps.load(Ordering::Relaxed)) + 1;
        assert!(elapsed_us <= expected_us + rounding_us, "{rate} {request}: {elapsed_us} {expected_us}");
        assert_eq!(bucket.granted_bytes(IoPriority::Low), total);
        assert_eq!(bucket.granted_bytes(IoPriority::High), 0);
    }
}

#[test]
fn idle_time_saves_up_a_burst_and_no_more() {
    let (bucket, clock) = bucket(1_000_000);
    clock.now_us.store(3_600_000_000, Ordering::Relaxed);
    bucket.request(100_000, IoPriority::User);
    assert_eq!(clock.sleeps.load(Ordering::Relaxed), 0);
    bucket.request(1, IoPriority::User);
    assert_eq!(clock.sleeps.load(Ordering::Relaxed), 1);
}

#[test]
fn a_new_rate_counts_from_now_on() {
    let (bucket, clock) = bucket(1_000_000);
    bucket.request(100_000, IoPriority::Low);
    bucket.set_bytes_per_second(1000);
    bucket.request(1000, IoPriority::Low);
    assert!((990_000..1_010_000).contains(&clock.monotonic_us()), "{}", clock.monotonic_us());
    bucket.set_bytes_per_second(0);
    bucket.request(0, IoPriority::Low);
}

#[test]
fn the_higher_priority_goes_first_but_not_forever() {
    let (bucket, _clock) = bucket(1_000_000);
    let mut state = bucket.state.lock();
    let [low, mid, high, user] = PRIORITIES.map(|priority| state.waiting.join(priority, 1000));
    let later = state.waiting.join(IoPriority::User, 1000);
    for (ticket, fairness, is_granted) in
        [(low, 2, false), (later, 2, false), (user, 2, true), (high, 2, false), (later, 2, true), (mid, 2, false)]
    {
        assert_eq!(state.take(&ticket, fairness).is_ok(), is_granted, "{ticket:?}");
    }
    // All others were passed over twice: the highest of them first, then by rank again.
    assert!(state.take(&low, 2).is_err());
    assert!(state.take(&high, 2).is_ok());
    assert!(state.take(&low, 2).is_err());
    assert!(state.take(&mid, 2).is_ok());
    assert!(state.take(&low, 2).is_ok());
    assert_eq!(state.available, 95_000 * BYTE);
}

/// A stream of small requests of the same priority leaves the large one its turn.
#[test]
fn tokens_gather_for_a_large_piece_while_small_ones_come() {
    let (bucket, clock) = bucket(1_000_000);
    bucket.request(100_000, IoPriority::High);
    let large = bucket.state.lock().waiting.join(IoPriority::High, 100_000);
    let mut ends = None;
    for _ in 0..1000 {
        let small = bucket.state.lock().waiting.join(IoPriority::High, 1000);
        clock.now_us.fetch_add(1000, Ordering::Relaxed);
        let mut state = bucket.state.lock();
        state.refill(clock.monotonic_us());
        if ends.is_none() && state.take(&large, 10).is_ok() {
            ends = Some(clock.monotonic_us());
        }
        let _ = state.take(&small, 10);
    }
    assert_eq!(ends, Some(100_000), "as soon as its own bytes are there");
}

/// Any requests at any time: within a priority in their order, none passed over too often, none forgotten.
#[test]
fn grants_keep_their_order_and_their_bound() {
    for seed in 0..200_u64 {
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut draw = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let fairness = 1 + draw(4) as u32;
        let (bucket, _) = bucket(1_000_000);
        let mut state = bucket.state.lock();
        let mut waiting: Vec<(usize, u64, Ticket)> = Vec::new();
        let mut passed_over = [0; 4];
        let mut left = 400;
        for step in 0.. {
            if left > 0 && draw(3) > 0 {
                let rank = draw(4) as usize;
                let ticket = state.waiting.join(PRIORITIES[rank], 1 + draw(100_000));
                if waiting.iter().all(|other| other.0 != rank) {
                    passed_over[rank] = 0;
                }
                waiting.push((rank, step, ticket));
                left -= 1;
            }
            if waiting.is_empty() {
                if left == 0 {
                    break;
                }
                continue;
            }
            if draw(2) == 0 {
                let most = 1 + draw(100_000);
                let at = draw(waiting.len() as u64) as usize;
                state.waiting.shrink(&mut waiting[at].2, most);
            }
            state.available = 100_000 * BYTE;
            let granted: Vec<usize> =
                (0..waiting.len()).filter(|&at| state.waiting.is_next(&waiting[at].2, fairness)).collect();
            let [at] = granted[..] else { panic!("seed {seed}: {granted:?} are next at once") };
            let (rank, since, ticket) = waiting.remove(at);
            state.take(&ticket, fairness).unwrap();
            assert!(waiting.iter().all(|other| other.0 != rank || other.1 > since), "seed {seed}: out of order");
            passed_over[rank] = 0;
            for lower in (0..rank).filter(|&lower| waiting.iter().any(|other| other.0 == lower)) {
                passed_over[lower] += 1;
                // Two other ranks may be overdue as well, and are served first.
                assert!(passed_over[lower] <= fairness + 2, "seed {seed}: rank {lower}");
            }
        }
        assert!(state.waiting.is_empty(), "seed {seed}");
    }
}

#[test]
fn concurrent_requests_all_end() {
    let (bucket, clock) = bucket(50_000_000);
    std::thread::scope(|scope| {
        for priority in [IoPriority::Low, IoPriority::Mid, IoPriority::High, IoPriority::User] {
            let bucket = &bucket;
            scope.spawn(move || (0..200).for_each(|_| bucket.request(100_000, priority)));
        }
    });
    // Sleeps of four threads overlap on this clock, which may only make time pass faster.
    assert!(clock.monotonic_us() >= (80_000_000 - 5_000_000) / 50);
    assert!(bucket.state.lock().waiting.is_empty());
}

fn tuned(max: u64) -> (TokenBucket, Arc<SleepClock>) {
    let clock = Arc::new(SleepClock::default());
    (TokenBucket::auto_tuned(max, Arc::<SleepClock>::clone(&clock)), clock)
}

/// Requests of `bytes` each tenth of a second for so many seconds.
fn load(bucket: &TokenBucket, clock: &SleepClock, seconds: u64, bytes: u64) {
    let until = clock.monotonic_us() + seconds * 1_000_000;
    while clock.monotonic_us() < until {
        bucket.request(bytes, IoPriority::Low);
        clock.now_us.fetch_add(100_000, Ordering::Relaxed);
    }
}

#[test]
fn an_auto_tuned_rate_follows_what_is_asked_for() {
    let (bucket, clock) = tuned(1_000_000);
    assert_eq!(bucket.bytes_per_second(), 500_000);
    // Hardly anything is asked for: the lowest rate at once.
    load(&bucket, &clock, 21, 100);
    assert_eq!(bucket.bytes_per_second(), 50_000);
    // More than that: 5 % more each time, up to the largest.
    let mut rates = vec![bucket.bytes_per_second()];
    for _ in 0..100 {
        clock.sleep(Duration::from_micros(1));
        let until = clock.monotonic_us() + 10_000_000;
        while clock.monotonic_us() < until {
            bucket.request(bucket.bytes_per_second() / 20, IoPriority::Low);
        }
        rates.push(bucket.bytes_per_second());
    }
    assert!(rates.windows(2).all(|pair| pair[1] >= pair[0] && pair[1] <= pair[0] * 106 / 100), "{rates:?}");
    assert_eq!(rates.last(), Some(&1_000_000));
    // Waits in less than half of the intervals: it falls, not at once.
    let before = bucket.bytes_per_second();
    for round in 0..100 {
        bucket.request(if round % 4 == 0 { 150_000 } else { 1 }, IoPriority::Low);
        clock.now_us.fetch_add(100_000, Ordering::Relaxed);
    }
    load(&bucket, &clock, 1, 1);
    let after = bucket.bytes_per_second();
    assert!(after < before && after >= before * 95 / 100 - 1, "{before}, {after}");
    bucket.set_bytes_per_second(2_000_000);
    assert_eq!(bucket.bytes_per_second(), 1_000_000, "half of the new largest");
}

fn with_options(options: &TokenBucketOptions) -> (TokenBucket, Arc<SleepClock>) {
    let clock = Arc::new(SleepClock::default());
    (TokenBucket::with_options(options, Arc::<SleepClock>::clone(&clock)).unwrap(), clock)
}

#[test]
fn a_mode_says_what_is_limited() {
    for (mode, reads, writes) in [
        (LimiterMode::ReadsOnly, true, false),
        (LimiterMode::WritesOnly, false, true),
        (LimiterMode::AllIo, true, true),
    ] {
        let (bucket, _) = with_options(&TokenBucketOptions { mode, ..TokenBucketOptions::new(1000) });
        assert_eq!((bucket.limits(IoKind::Read), bucket.limits(IoKind::Write)), (reads, writes), "{mode:?}");
    }
}

#[test]
fn a_longer_refill_period_allows_a_larger_burst() {
    for (period_ms, burst) in [(10, 10_000), (100, 100_000), (1000, 1_000_000)] {
        let refill_period = Duration::from_millis(period_ms);
        let (bucket, clock) = with_options(&TokenBucketOptions { refill_period, ..TokenBucketOptions::new(1_000_000) });
        assert_eq!(bucket.single_burst_bytes(), burst);
        bucket.request(burst, IoPriority::User);
        assert_eq!(clock.monotonic_us(), 0);
        bucket.request(burst, IoPriority::User);
        assert_eq!(clock.monotonic_us(), period_ms * 1000);
    }
}

/// A short burst leaves gaps in a long request, in which a request of a higher priority is served.
#[test]
fn a_burst_bounds_each_grant_and_not_the_rate() {
    let (bucket, clock) =
        with_options(&TokenBucketOptions { single_burst_bytes: 1000, ..TokenBucketOptions::new(1_000_000) });
    assert_eq!(bucket.single_burst_bytes(), 1000);
    bucket.request(1_100_000, IoPriority::Low);
    assert_eq!(clock.monotonic_us(), 1_000_000);
    assert_eq!((bucket.requests(IoPriority::Low), bucket.granted_bytes(IoPriority::Low)), (1, 1_100_000));
    assert!(clock.sleeps.load(Ordering::Relaxed) >= 1000, "a sleep for each piece");
    bucket.set_single_burst_bytes(0);
    assert_eq!(bucket.single_burst_bytes(), 100_000);
    bucket.set_single_burst_bytes(1 << 40);
    assert_eq!(bucket.single_burst_bytes(), 100_000, "a piece that the bucket cannot hold would never be granted");
}

#[test]
fn a_request_is_passed_over_as_often_as_fairness_says() {
    for fairness in [1, 3, 100, 5000] {
        let (bucket, _) = with_options(&TokenBucketOptions { fairness, ..TokenBucketOptions::new(1_000_000) });
        let mut state = bucket.state.lock();
        let low = state.waiting.join(IoPriority::Low, 1);
        let mut passed_over = 0;
        let mut high = state.waiting.join(IoPriority::High, 1);
        while state.take(&low, bucket.fairness).is_err() {
            state.take(&high, bucket.fairness).unwrap();
            high = state.waiting.join(IoPriority::High, 1);
            passed_over += 1;
        }
        assert_eq!(passed_over, fairness.min(100));
    }
}

/// The bucket holds less by the time: what waits for more than it can hold is granted in smaller pieces.
#[test]
fn a_request_that_waits_ends_at_a_lower_rate_too() {
    let (bucket, clock) = bucket(1_000_000_000);
    bucket.request(100_000_000, IoPriority::Low);
    let mut ticket = bucket.state.lock().waiting.join(IoPriority::Low, 100_000_000);
    bucket.set_bytes_per_second(1_000_000);
    let mut state = bucket.state.lock();
    let burst = state.burst_bytes();
    state.waiting.shrink(&mut ticket, burst);
    clock.now_us.fetch_add(100_000, Ordering::Relaxed);
    state.refill(clock.monotonic_us());
    assert!(state.take(&ticket, 10).is_ok());
    assert_eq!(ticket.bytes(), 100_000);
}

#[test]
fn values_out_of_bounds_are_refused_together() {
    let options = TokenBucketOptions { refill_period: Duration::ZERO, fairness: 0, ..TokenBucketOptions::new(0) };
    let clock: Arc<dyn Clock> = Arc::new(SleepClock::default());
    let error = TokenBucket::with_options(&options, clock).unwrap_err().to_string();
    for name in ["bytes_per_second is 0", "refill_period is 0", "fairness is 0"] {
        assert!(error.contains(name), "{error}");
    }
    let refill_period = Duration::from_secs(4000);
    assert!(TokenBucketOptions { refill_period, ..TokenBucketOptions::new(1) }.validate().is_err());
}
