//! The state of the part that a user performs, and its last call, which is counted later.

use std::sync::Arc;

use loadpilot_engine::tally::CallEnd;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::plan::script::CallName;

use crate::fire::arrival_id::Arrival;
use crate::fire::clock::MonoTime;
use crate::fire::journal::record::CallRecord;
use crate::fire::request::debug_exchange::ResponseHead;
use crate::fire::request::program::Call;
use crate::fire::request::scratch::Scratch;

/// State of a user's part, performed for an arrival or without one.
pub(super) struct PartContext<'a> {
    pub(super) arrival: Option<&'a Arrival>,
    /// When the user got the arrival.
    pub(super) dispatched: MonoTime,
    /// Index of the target of its requests.
    pub(super) target: u16,
    pub(super) scratch: &'a mut Scratch,
    /// Whether its user is a new client that has sent nothing yet.
    pub(super) is_new_client: bool,
    /// Number of calls so far.
    pub(super) calls: usize,
    /// Time that the user rested before its first call, in µs; not counted as lateness.
    pub(super) rested_us: u64,
    /// A call that has ended and is not counted yet.
    pub(super) pending: Option<PendingCall>,
    /// Outcome of the last counted call.
    pub(super) last: Option<Outcome>,
    /// Whether a check examines the last answer of the part.
    pub(super) is_checked: bool,
    pub(super) all_ok: bool,
    pub(super) refusals: u32,
    /// Whether the user was asked to end its own wait.
    pub(super) is_called_off: bool,
    /// Deadline of the part.
    pub(super) until: Option<MonoTime>,
}

/// A call that has ended and is not counted yet, since a check may still change its outcome.
pub(super) struct PendingCall {
    pub(super) end: CallEnd,
    pub(super) due: MonoTime,
    pub(super) name: Arc<CallName>,
    pub(super) call: Arc<Call>,
    /// The value of its id header; empty without one.
    pub(super) id: String,
    /// The beginning of its answer, if the answer may be shown.
    pub(super) answer: ResponseHead,
    /// Its seat in the ring, where its record stays until it is counted, and that record.
    pub(super) begun: (u32, Option<CallRecord>),
}

impl<'a> PartContext<'a> {
    /// The context of a part without an arrival.
    pub(super) fn uncounted(scratch: &'a mut Scratch) -> Self {
        Self::of(None, MonoTime::now(), scratch)
    }

    pub(super) fn of(
        arrival: Option<&'a Arrival>,
        dispatched: MonoTime,
        scratch: &'a mut Scratch,
    ) -> Self {
        Self {
            arrival,
            dispatched,
            target: 0,
            scratch,
            is_new_client: false,
            calls: 0,
            rested_us: 0,
            pending: None,
            last: None,
            is_checked: false,
            all_ok: true,
            refusals: 0,
            is_called_off: false,
            until: None,
        }
    }
}
