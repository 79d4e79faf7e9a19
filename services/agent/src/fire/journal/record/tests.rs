//! The laws of the record: what goes in comes out, and nothing else does.

use loadpilot_engine::tally::{CallEnd, ConnectionUse, Redirects};
use proptest::option;
use proptest::prelude::*;

use super::*;

/// Times that five bytes hold.
const TIME: std::ops::Range<u64> = 0..1 << 39;

fn arrivals() -> impl Strategy<Value = ArrivalId> {
    prop_oneof![
        any::<u64>().prop_map(ArrivalId::Planned),
        (0_u32..1_000_000, 0_u64..1 << K_BITS)
            .prop_map(|(user, k)| ArrivalId::Iteration { user, k }),
    ]
}

fn phase() -> impl Strategy<Value = Option<u64>> {
    option::of(0_u64..600_000_000)
}

fn begins() -> impl Strategy<Value = CallRecord> {
    let place = (
        arrivals(),
        1..=EPOCH_MAX,
        any::<u32>(),
        any::<u32>(),
        any::<u16>(),
    );
    (place, TIME, 0_u64..600_000_000, phase()).prop_map(
        |((arrival, epoch, tick, generation, call), due_us, wait_us, schedule_lag_us)| CallRecord {
            arrival,
            epoch,
            tick,
            generation,
            call,
            due_us,
            dispatched_us: due_us + wait_us,
            schedule_lag_us,
            ended: None,
        },
    )
}

fn call_ends() -> impl Strategy<Value = (CallRecord, CallEnd)> {
    let connection = option::of(prop_oneof![
        Just(ConnectionUse::Opened),
        Just(ConnectionUse::Reused)
    ]);
    let answer = (
        0..Outcome::ALL.len(),
        option::of(100_u16..1_000),
        option::of(0..Cause::ALL.len()),
        0_u64..1 << 32,
        TIME,
    );
    let phases = (phase(), phase(), phase(), phase(), phase());
    let how = (
        answer,
        phases,
        connection,
        any::<bool>(),
        0_u64..700_000_000,
    );
    (begins(), how).prop_map(
        |(begun, (answer, phases, connection, resent, service_us))| {
            let waited_us = begun.dispatched_us - begun.due_us;
            let lag_us = begun.schedule_lag_us;
            let end = CallEnd {
                tick: begun.tick,
                generation: begun.generation,
                call: begun.call,
                outcome: Outcome::ALL[answer.0],
                response_us: waited_us + service_us,
                service_us,
                status: answer.1,
                // A call with a response has no cause.
                cause: answer
                    .2
                    .filter(|_| answer.1.is_none())
                    .map(|n| Cause::ALL[n]),
                sent_bytes: answer.3,
                received_bytes: answer.4,
                phases: Phases {
                    schedule_lag_us: lag_us,
                    queue_us: lag_us.map(|lag_us| waited_us.saturating_sub(lag_us)),
                    dns_us: phases.0,
                    connect_us: phases.1,
                    tls_us: phases.2,
                    first_byte_us: phases.3,
                    last_byte_us: phases.4,
                    first_token_us: None,
                    first_token_service_us: None,
                    resent,
                    connection,
                    redirects: Redirects::default(),
                },
            };
            (begun, end)
        },
    )
}

/// As much as a short form keeps.
fn kept(us: Option<u64>) -> Option<u64> {
    us.map(|us| {
        let bits = u64::BITS - us.leading_zeros();
        let shift = bits.saturating_sub(SHORT_BITS);
        us >> shift << shift
    })
}

proptest! {
    /// A field that overlapped another, or was cut, would come back changed.
    #[test]
    fn a_call_in_flight_comes_back(begun in begins(), place: u64) {
        let wanted = CallRecord { schedule_lag_us: kept(begun.schedule_lag_us), ..begun };
        prop_assert_eq!(CallRecord::decode(&begun.encode(place), place), Some(wanted));
        prop_assert!(wanted.call_end().is_none());
    }

    /// A recovery from records must count what the dead process counted.
    #[test]
    fn what_was_counted_can_be_counted_again((begun, end) in call_ends(), place: u64) {
        let bytes = begun.with_end(&end).encode(place);
        let again = CallRecord::decode(&bytes, place).and_then(|record| record.call_end());
        let again = again.expect("it ended");
        let figures = |end: &CallEnd| {
            let place = (end.tick, end.generation, end.call, end.outcome, end.status);
            let times = (end.response_us, end.service_us, end.sent_bytes, end.received_bytes);
            (place, times, end.cause, end.phases.resent, end.phases.connection)
        };
        prop_assert_eq!(figures(&again), figures(&end));
        let phases = |end: &CallEnd| {
            let phases = end.phases;
            [phases.schedule_lag_us, phases.dns_us, phases.connect_us, phases.tls_us,
                phases.first_byte_us, phases.last_byte_us]
        };
        prop_assert_eq!(phases(&again), phases(&end).map(kept));
        // Lag and queue are the whole wait, however short the form of the lag.
        let waited = |end: &CallEnd| end.phases.schedule_lag_us.zip(end.phases.queue_us);
        let error_us = match (waited(&again), waited(&end)) {
            (Some((_, again)), Some((lag_us, queue_us))) if queue_us > 0 => {
                prop_assert!(again.abs_diff(queue_us) <= lag_us / 1_000 + 1);
                0
            }
            (again, end) => u64::from(again.is_some() != end.is_some()),
        };
        prop_assert_eq!(error_us, 0);
    }

    /// A record of which only a part was written must not be taken for a call.
    #[test]
    fn a_torn_record_is_recognised(
        (begun, end) in call_ends(), other in begins(), place: u64, at in 1_usize..RECORD_BYTES,
    ) {
        let whole = begun.with_end(&end).encode(place);
        for rest in [[0; RECORD_BYTES], other.encode(place), begun.encode(place)] {
            let mut torn = rest;
            torn[..at].copy_from_slice(&whole[..at]);
            if torn != whole && torn != rest {
                prop_assert_eq!(CallRecord::decode(&torn, place), None);
            }
        }
    }

    /// A flipped bit, another place, random bytes: none of them is a call, and nothing panics.
    #[test]
    fn foreign_bytes_are_recognised(
        (begun, end) in call_ends(), place: u64, other: u64, bit in 0..RECORD_BYTES * 8,
        noise in prop::array::uniform32(any::<u8>()),
    ) {
        let mut bytes = begun.with_end(&end).encode(place);
        if other != place {
            prop_assert_eq!(CallRecord::decode(&bytes, other), None);
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(CallRecord::decode(&bytes, place), None);
        bytes[..32].copy_from_slice(&noise);
        prop_assert_eq!(CallRecord::decode(&bytes, place), None);
        prop_assert_eq!(CallRecord::decode(&[0; RECORD_BYTES], place), None);
        prop_assert_eq!(CallRecord::decode(&[0xff; RECORD_BYTES], place), None);
    }

    /// Bytes whose check value happens to hold must be read or refused, never cause a panic.
    #[test]
    fn whatever_passes_the_check_is_total(mut bytes in prop::array::uniform32(any::<u8>())
        .prop_map(|half| { let mut all = [0; RECORD_BYTES]; all[..32].copy_from_slice(&half);
            all[32..].copy_from_slice(&half); all }), place: u64)
    {
        let mut words = [0; WORDS];
        for (word, part) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*part);
        }
        let forged = check(&words, place);
        bytes[..4].copy_from_slice(&forged.to_le_bytes());
        if let Some(record) = CallRecord::decode(&bytes, place) {
            let _ = record.call_end();
        }
    }
}

/// Readers of stored rings depend on the places: a difference here is a new version.
#[test]
fn the_layout_never_changes() {
    let record = CallRecord {
        arrival: ArrivalId::Iteration { user: 5, k: 7 },
        epoch: 0x01_02_03,
        tick: 9,
        generation: 2,
        call: 0x0405,
        due_us: 1_000_000,
        dispatched_us: 1_000_050,
        schedule_lag_us: Some(50),
        ended: Some(CallRecordEnd {
            outcome: Outcome::Http5xx,
            end_us: 1_002_000,
            status: Some(503),
            cause: None,
            sent_bytes: 120,
            received_bytes: 4_000,
            resent: true,
            connection: Some(ConnectionUse::Reused),
            dns_us: None,
            connect_us: Some(80),
            tls_us: None,
            first_byte_us: Some(1_900),
            last_byte_us: Some(40),
        }),
    };
    let hex = loadpilot_events::plan::hex(&record.encode(77));
    assert_eq!(
        hex,
        "56dd094ce40302010504f70109000000020000003200ffff0700000000280000\
         40420f000072420f0000104a0f0000a00f000000780000005000ffff6c072800"
    );
}
