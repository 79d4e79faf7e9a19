//! The contract is a set of files in git: schemas and catalogue are current, and golden files stay
//! readable.

use loadpilot_events::Outcome;
use loadpilot_events::log::admission::AdmissionDecision;
use loadpilot_events::log::ctl::Decision;
use loadpilot_events::log::delta::DeltaReported;
use loadpilot_events::log::envelope::Envelope;
use loadpilot_events::log::evt::Fact;
use loadpilot_events::log::hist;
use loadpilot_events::log::req::Request;
use loadpilot_events::log::samples::{self, Sample};
use loadpilot_events::plan::Plan;
use loadpilot_events::wire::{catalogue, schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

macro_rules! committed {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../schema/", $name, ".json")))),*]
    };
}

const SCHEMAS: [(&str, &str); 24] = committed![
    "adm",
    "annotations",
    "attendance",
    "comparison",
    "ctl",
    "delta",
    "errors",
    "evt",
    "heat",
    "heartbeat",
    "heartbeat-reply",
    "live",
    "max-rate-comparison",
    "plan",
    "report",
    "req",
    "run-parts",
    "search",
    "series",
    "slice",
    "snapshot",
    "versus",
    "what-if",
    "what-if-answer",
];

/// Broken if a type changes without its schema: other readers of the log would not expect the
/// change.
#[test]
fn schemas_are_fresh() {
    let files = schema::files();
    assert_eq!(files.len(), SCHEMAS.len());
    for ((name, text), (committed_name, committed)) in files.iter().zip(SCHEMAS) {
        assert_eq!(*name, committed_name);
        assert_eq!(
            text, committed,
            "proto/schema/{name}.json is stale: run ./dev gen"
        );
    }
}

/// Broken if the catalogue lags behind the types: readers would rely on it.
#[test]
fn catalogue_is_fresh() {
    let committed = include_str!("../../README.md");
    assert_eq!(
        catalogue::markdown(),
        committed,
        "proto/README.md is stale: run ./dev gen"
    );
}

macro_rules! golden {
    ($($kind:ty: [$($file:literal),* $(,)?]),* $(,)?) => {
        [$($((
            $file,
            reads_and_writes::<$kind> as fn(&str) -> Value,
            include_str!(concat!("../../golden/", $file)),
        )),*),*]
    };
}

/// Every later version must read every stored form that was ever written, and writing it again must
/// give the same content.
#[test]
fn golden_files_are_read_and_written_back() {
    let goldens = golden! {
        Plan: [
            "plan.v1.json",
            "plan-closed.v1.json",
            "plan-code.v1.json",
            "plan-code-given.v1.json",
            "plan-connections.v1.json",
            "plan-exponential.v2.json",
            "plan-feeds.v1.json",
            "plan-feeds-stop.v1.json",
            "plan-given.v1.json",
            "plan-hold.v2.json",
            "plan-lognormal.v2.json",
            "plan-metrics.v1.json",
            "plan-objects.v1.json",
            "plan-pool.v1.json",
            "plan-prepared.v1.json",
            "plan-proxy.v1.json",
            "plan-redirect-origins.v1.json",
            "plan-redirects.v1.json",
            "plan-replay.v2.json",
            "plan-requests.v2.json",
            "plan-row-files.v1.json",
            "plan-samples.v1.json",
            "plan-script.v1.json",
            "plan-sessions.v2.json",
            "plan-targets.v1.json",
            "plan-user-stages.v2.json",
            "plan-user-types.v2.json",
            "plan-paired.v2.json",
        ],
        Envelope<Request>: [
            "run-requested.v1.json",
            "run-requested-needs.v1.json",
            "run-requested-no-early-abort.v1.json",
            "stop-requested.v1.json",
            "stop-requested-breach.v1.json",
            "rate-change-requested.v1.json",
            "rate-change-requested-hold.v1.json",
            "pause-requested.v1.json",
            "resume-requested.v1.json",
            "setup-claimed.v1.json",
            "setup-kept.v1.json",
            "teardown-claimed.v1.json",
            "teardown-finished.v1.json",
            "run-annotated.v1.json",
            "run-annotated-baseline.v1.json",
        ],
        Envelope<AdmissionDecision>: [
            "run-admitted.v1.json",
            "agents-reserved.v1.json",
            "run-released.v1.json",
        ],
        Envelope<Decision>: [
            "run-queued.v1.json",
            "run-queued-agents.v1.json",
            "run-queued-turn.v1.json",
            "run-created.v1.json",
            "run-created-needs.v1.json",
            "run-created-rules.v1.json",
            "run-created-request.v3.json",
            "run-refused.v1.json",
            "shards-assigned.v1.json",
            "shards-assigned-strides.v2.json",
            "start-scheduled.v1.json",
            "start-cancelled.v1.json",
            "shards-reassigned.v1.json",
            "shards-reassigned-strides.v2.json",
            "capacity-reduced.v1.json",
            "stop-scheduled.v1.json",
            "stop-scheduled-unanswered.v1.json",
            "rate-changed.v1.json",
            "rate-changed-strides.v2.json",
            "paused.v1.json",
            "resumed.v1.json",
            "steering-refused.v1.json",
            "steering-refused-quota.v1.json",
            "run-sealed.v1.json",
            "run-sealed-unnamed.v1.json",
        ],
        Envelope<Fact>: [
            "capacity-offered.v1.json",
            "shards-ready.v1.json",
            "shards-started.v1.json",
            "shards-finished.v1.json",
            "shards-finished-on-stop.v1.json",
            "shards-failed.v1.json",
            "agent-leaving.v1.json",
            "isolation-stop.v1.json",
            "tail-reported.v1.json",
        ],
        Envelope<DeltaReported>: [
            "delta-metrics.v1.json",
            "delta-raises.v1.json",
            "delta-redirects.v1.json",
            "delta-reported.v1.json",
            "delta-samples.v1.json",
            "delta-script.v1.json",
            "delta-sessions.v1.json",
        ],
    };
    for (file, roundtrip, text) in goldens {
        let stored: Value = serde_json::from_str(text).expect("a golden file is JSON");
        assert_eq!(roundtrip(text), stored, "{file}");
    }
}

fn reads_and_writes<T: DeserializeOwned + Serialize>(text: &str) -> Value {
    let value: T = serde_json::from_str(text).expect("a golden file has its type's form");
    serde_json::to_value(value).expect("what was read can be written")
}

/// The histograms of the golden delta were encoded by hand from the format's description: one call
/// of 1,000 µs. A library that reads them differently would make every percentile wrong.
#[test]
fn a_histogram_encoded_elsewhere_is_read() {
    let text = include_str!("../../golden/delta-reported.v1.json");
    let delta: Envelope<DeltaReported> = serde_json::from_str(text).expect("a delta");
    let row = &delta.event.calls[0];
    let response = hist::decode(&row.response).expect("a histogram");
    assert_eq!(
        (response.len(), response.min(), response.max()),
        (1, 1_000, 1_000)
    );
    let back = hist::decode(&hist::encode(&response)).expect("what was written is read");
    assert_eq!(back, response);
}

/// The curve of the golden plan was encoded by hand from the format's description: 10, 12 and 0
/// arrivals at 1.3 times.
#[test]
fn a_curve_encoded_elsewhere_is_read() {
    let text = include_str!("../../golden/plan-replay.v2.json");
    let plan: Plan = serde_json::from_str(text).expect("a plan");
    let pieces = plan.profile.pieces.iter();
    let read: Vec<(u64, u64, u64)> = pieces
        .map(|piece| (piece.duration_us, piece.from.0, piece.to.0))
        .collect();
    let second = |urps| (1_000_000, urps, urps);
    assert_eq!(read, [13_000_000, 15_600_000, 0].map(second));
}

/// The call of the golden delta was encoded by hand, column by column, from the format's
/// description.
#[test]
fn calls_encoded_elsewhere_are_read() {
    let text = include_str!("../../golden/delta-samples.v1.json");
    let delta: Envelope<DeltaReported> = serde_json::from_str(text).expect("a delta");
    let call = Sample {
        user: None,
        number: 5,
        generation: 1,
        tick: 0,
        call: 0,
        outcome: Outcome::Ok,
        status: Some(200),
        due_us: 50_000,
        response_us: 1_000,
        service_us: 990,
        first_byte_us: Some(950),
        sent_bytes: 100,
        received_bytes: 200,
        reused: Some(false),
    };
    assert_eq!(samples::decode(&delta.event.samples), Ok(vec![call]));
    assert_eq!(samples::encode(&[call]), [delta.event.samples]);
}

/// Broken if the list lacks a kind of decision: a decision of that kind in a later version's form
/// would be skipped instead of being left to processes that understand it.
#[test]
fn every_kind_of_decision_is_named() {
    let schema = schemars::schema_for!(loadpilot_events::log::ctl::Decision).to_value();
    let kinds = schema["oneOf"].as_array().expect("one of several");
    let name = |kind: &serde_json::Value| {
        let name = kind["properties"]["type"]["const"].as_str();
        name.expect("a name").to_owned()
    };
    let found: Vec<String> = kinds.iter().map(name).collect();
    assert_eq!(found, loadpilot_events::log::ctl::Decision::TYPES);
}
