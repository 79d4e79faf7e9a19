//! The laws of compiled scenarios, compared with computations that are written in another way.

mod body_encoding;
mod json_path;
mod request_cache;
mod rows;

use loadpilot_engine::schedule::random::DrawScope;
use loadpilot_events::Timestamp;
use loadpilot_script::operation::{Completion, Counted, Occasion, Response};

/// The first arrival of a run.
const OCCASION: Occasion = Occasion {
    whose: DrawScope::Arrival(0),
    due: Timestamp(0),
};

/// A response of status 200.
fn response(head: &[u8], body: &[u8]) -> Completion {
    Completion::Response(Response {
        status: 200,
        head: head.to_vec(),
        body: body.to_vec(),
        elapsed_us: 0,
        counted: Counted::default(),
    })
}
