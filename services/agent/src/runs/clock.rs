//! Offset of the coordinator's clock from the clocks of this machine. The coordinator's clock is
//! the clock of the run.
//!
//! Firing follows the monotonic clock: a step of the wall clock must never move an arrival. There
//! is no alignment without a measurement.

use loadpilot_bus::{Bus, RequestError};
use loadpilot_events::Timestamp;
use loadpilot_events::log::start::ClockEstimate;
use loadpilot_events::wire::heartbeat::ClockSample;

use crate::fire::MonoTime;
use crate::process::timeouts::Timeouts;

/// Number of requests in one measurement; the one with the smallest bound counts.
const BURST: usize = 8;

/// One request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Time of the request.
    pub sent: MonoTime,
    /// Time of the reply.
    pub got: MonoTime,
    /// The coordinator's clock.
    pub theirs: ClockSample,
}

impl Exchange {
    /// Bound of the error: half of the round trip without the coordinator's processing time, plus
    /// the bound of the coordinator's clock.
    fn bound_us(&self) -> u64 {
        let own_us = self.theirs.replied_at.since_us(self.theirs.received_at);
        let round_trip_us = self.got.since_us(self.sent).saturating_sub(own_us);
        let half_us = round_trip_us.div_ceil(2);
        half_us.saturating_add(self.theirs.bound_us)
    }
}

/// Offset of the coordinator's clock from the monotonic clock of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alignment {
    /// Coordinator's clock minus monotonic clock, in µs.
    offset_us: i128,
    /// Bound of the error, in µs.
    bound_us: u64,
}

impl Alignment {
    /// Alignment by the exchange with the smallest bound; `None` without an exchange.
    #[must_use]
    pub fn of(exchanges: &[Exchange]) -> Option<Self> {
        let best = exchanges.iter().min_by_key(|e| e.bound_us())?;
        let there = ahead_us(best.theirs.received_at, best.sent);
        let back = ahead_us(best.theirs.replied_at, best.got);
        Some(Self {
            offset_us: (there + back) / 2,
            bound_us: best.bound_us(),
        })
    }

    /// Time at which the coordinator's clock shows `at`. May lie before the boot of this machine.
    #[must_use]
    pub fn mono_of(&self, at: Timestamp) -> MonoTime {
        let ns = (i128::from(at.0) - self.offset_us) * 1_000;
        MonoTime::from_ns(i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX }))
    }

    /// Time of the coordinator's clock at `mono`.
    #[must_use]
    pub fn shown_at(&self, mono: MonoTime) -> Timestamp {
        let us = i128::from(mono.as_ns() / 1_000) + self.offset_us;
        Timestamp(u64::try_from(us).unwrap_or(0))
    }

    /// Offset from the wall clock, for the log. Both arguments are the same instant.
    #[must_use]
    pub fn estimate(&self, wall: Timestamp, mono: MonoTime) -> ClockEstimate {
        let offset_us = self.offset_us - ahead_us(wall, mono);
        ClockEstimate {
            offset_us: i64::try_from(offset_us).unwrap_or(i64::MAX),
            bound_us: self.bound_us,
        }
    }
}

/// A wall clock minus the monotonic clock, in µs.
fn ahead_us(wall: Timestamp, mono: MonoTime) -> i128 {
    i128::from(wall.0) - i128::from(mono.as_ns() / 1_000)
}

/// Measures the offset of the coordinator's clock; retries until a request is answered.
pub async fn measure(bus: &Bus, subject: &str, timeouts: &Timeouts) -> Alignment {
    loop {
        let mut exchanges = Vec::with_capacity(BURST);
        for _ in 0..BURST {
            match exchange(bus, subject, timeouts).await {
                Ok(found) => exchanges.push(found),
                Err(error) => {
                    tracing::debug!(%error, "clock request failed");
                    break;
                }
            }
        }
        if let Some(alignment) = Alignment::of(&exchanges) {
            return alignment;
        }
        tokio::time::sleep(timeouts.retry).await;
    }
}

async fn exchange(bus: &Bus, subject: &str, timeouts: &Timeouts) -> Result<Exchange, RequestError> {
    let sent = MonoTime::now();
    let reply = bus
        .request(subject, bytes::Bytes::new(), timeouts.clock_reply)
        .await?;
    let got = MonoTime::now();
    let theirs = serde_json::from_slice(&reply).map_err(|error| {
        RequestError::Fault(loadpilot_bus::Fault::Server {
            what: subject.to_owned(),
            why: format!("not a clock sample: {error}"),
        })
    })?;
    Ok(Exchange { sent, got, theirs })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(received: u64, replied: u64) -> ClockSample {
        ClockSample {
            received_at: Timestamp(received),
            replied_at: Timestamp(replied),
            bound_us: 0,
        }
    }

    fn exchange(sent_us: i64, got_us: i64, theirs: ClockSample) -> Exchange {
        Exchange {
            sent: MonoTime::from_ns(sent_us * 1_000),
            got: MonoTime::from_ns(got_us * 1_000),
            theirs,
        }
    }

    /// Broken if a slow exchange wins over a fast one.
    #[test]
    fn the_least_round_trip_counts() {
        let slow = exchange(1_000, 9_000, sample(1_008_000, 1_008_100));
        // 200 µs there, 100 µs inside, 200 µs back; the coordinator is 1 s ahead.
        let fast = exchange(10_000, 10_500, sample(1_010_200, 1_010_300));
        let found = Alignment::of(&[slow, fast]).expect("two exchanges");
        assert_eq!((found.offset_us, found.bound_us), (1_000_000, 200));
        assert_eq!(
            found.mono_of(Timestamp(1_500_000)),
            MonoTime::from_ns(500_000_000)
        );
        let estimate = found.estimate(Timestamp(2_000_000), MonoTime::from_ns(1_200_000_000));
        assert_eq!(estimate.offset_us, 200_000);
        assert_eq!(Alignment::of(&[]), None);
    }

    /// Broken if a coordinator with the greater bound wins, or if that bound is left out.
    #[test]
    fn the_bound_of_a_coordinator_counts() {
        let quick = |bound_us| ClockSample {
            bound_us,
            ..sample(1_000_050, 1_000_050)
        };
        let unsure = exchange(0, 100, quick(400));
        let sure = exchange(0, 300, sample(2_000_150, 2_000_150));
        let found = Alignment::of(&[unsure, sure]).expect("two exchanges");
        assert_eq!((found.offset_us, found.bound_us), (2_000_000, 150));
        let found = Alignment::of(&[unsure]).expect("one exchange");
        assert_eq!(found.bound_us, 450);
    }

    /// Broken if the start of a run before the boot of the machine wraps around.
    #[test]
    fn a_start_before_boot_lies_in_the_past() {
        let one = exchange(10, 10, sample(1_000_000, 1_000_000));
        let found = Alignment::of(&[one]).expect("one exchange");
        assert!(found.mono_of(Timestamp(0)) < MonoTime::from_ns(0));
    }
}
