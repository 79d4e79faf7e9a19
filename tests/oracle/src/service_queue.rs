//! A server of known capacity: some workers, each of which takes the same time for a request, and
//! one queue before them. Its knee is arithmetic: `workers / service` requests per second. Pure.

use std::time::{Duration, Instant};

/// Maximum number of workers.
const WORKERS_MAX: usize = 10_000;

/// Workers that take requests in the order in which they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceQueue {
    service: Duration,
    /// When each worker is free; `None` has not worked yet.
    free_at: Vec<Option<Instant>>,
    /// Maximum time that a request waits for a worker; a longer wait is refused.
    wait_max: Option<Duration>,
}

/// The result of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// It is answered this long after it came.
    After(Duration),
    /// The queue is full.
    Refused,
}

impl ServiceQueue {
    /// Workers that are all free.
    ///
    /// # Errors
    /// For no worker, too many, or a service that takes no time.
    pub fn new(
        workers: usize,
        service: Duration,
        wait_max: Option<Duration>,
    ) -> Result<Self, String> {
        if !(1..=WORKERS_MAX).contains(&workers) {
            return Err(format!("{workers} workers are not 1 to {WORKERS_MAX}"));
        }
        if service.is_zero() {
            return Err("a service of 0 ms has no capacity".to_owned());
        }
        Ok(Self {
            service,
            free_at: vec![None; workers],
            wait_max,
        })
    }

    /// Takes a request that came at `arrival`, after those before it.
    pub fn take(&mut self, arrival: Instant) -> Served {
        let earliest = self.free_at.iter_mut().min_by_key(|free| **free);
        let free = earliest.expect("there is a worker");
        let begin = free.map_or(arrival, |free| free.max(arrival));
        let wait = begin - arrival;
        if self.wait_max.is_some_and(|longest| wait > longest) {
            return Served::Refused;
        }
        *free = Some(begin + self.service);
        Served::After(wait + self.service)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Offers `count` requests at a constant rate; returns the last response time.
    fn last(queue: &mut ServiceQueue, per_second: u32, count: u32) -> Served {
        let start = Instant::now();
        let mut served = Served::Refused;
        for n in 0..count {
            served = queue.take(start + Duration::from_secs(1) * n / per_second);
        }
        served
    }

    #[test]
    fn below_the_capacity_nothing_waits_and_above_it_the_wait_grows_by_the_excess() {
        // 4 workers of 20 ms: 200 a second.
        let queue = ServiceQueue::new(4, 20 * MS, None).expect("a good queue");
        assert_eq!(last(&mut queue.clone(), 200, 1_000), Served::After(20 * MS));
        let Served::After(took) = last(&mut queue.clone(), 220, 2_201) else {
            panic!("nothing is refused without a limit");
        };
        // After 10 s 2,200 requests came and 2,000 were served: 200 wait, which is 1 s of work.
        let off = took.abs_diff(Duration::from_millis(1_020));
        assert!(off <= 20 * MS, "{took:?}");
    }

    #[test]
    fn a_full_queue_refuses_and_keeps_its_capacity() {
        let mut queue = ServiceQueue::new(1, 10 * MS, Some(50 * MS)).expect("a good queue");
        let start = Instant::now();
        let served = (0..2_000).filter(|n| {
            let arrival = start + Duration::from_secs(1) * *n / 200;
            queue.take(arrival) != Served::Refused
        });
        // 10 s at 100 a second, and the requests that wait at the end.
        let served = served.count();
        assert!((1_000..=1_006).contains(&served), "{served}");
    }

    #[test]
    fn a_queue_without_capacity_is_refused() {
        assert!(ServiceQueue::new(0, MS, None).is_err());
        assert!(ServiceQueue::new(WORKERS_MAX + 1, MS, None).is_err());
        assert!(ServiceQueue::new(1, Duration::ZERO, None).is_err());
    }
}
