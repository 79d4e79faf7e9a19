//! One call that ended, as an agent counts it.

use loadpilot_events::log::assign::Generation;
use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::Outcome;
use loadpilot_events::log::samples::Sample;

/// How a call got its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionUse {
    /// It was opened for this call.
    Opened,
    /// It was open already.
    Reused,
}

/// Redirects within one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Redirects {
    /// Number of redirects followed.
    pub followed: u8,
    /// Whether the call ended with a redirect that was not followed.
    pub is_cut: bool,
    /// Number of connections opened for requests after the first one.
    pub opened: u8,
    /// Number of requests after the first one on a connection that was open.
    pub reused: u8,
}

/// Where the time of one call went, in µs; `None` where a phase did not take place.
#[derive(Debug, Clone, Copy, Default)]
pub struct Phases {
    /// From due until the pacer reached the arrival; first call of a task only.
    pub schedule_lag_us: Option<u64>,
    /// From there until dispatch.
    pub queue_us: Option<u64>,
    /// Name resolution.
    pub dns_us: Option<u64>,
    /// TCP connect.
    pub connect_us: Option<u64>,
    /// TLS handshake.
    pub tls_us: Option<u64>,
    /// From the request being written to the first byte of the answer.
    pub first_byte_us: Option<u64>,
    /// From the first to the last byte of the answer.
    pub last_byte_us: Option<u64>,
    /// From due to the first token of a streamed answer.
    pub first_token_us: Option<u64>,
    /// From dispatch to the first token of a streamed answer.
    pub first_token_service_us: Option<u64>,
    /// Whether the request was sent a second time: its first connection turned out to be closed.
    pub resent: bool,
    /// How the call got its connection; `None` when it had none.
    pub connection: Option<ConnectionUse>,
    /// Its redirects.
    pub redirects: Redirects,
}

/// One call that ended.
#[derive(Debug, Clone, Copy)]
pub struct CallEnd {
    /// The due tick of its arrival.
    pub tick: u32,
    /// The generation held at the due tick of its arrival.
    pub generation: Generation,
    /// The call, by its position in the plan's list of calls, or a number that
    /// [`crate::tally::Tally::name`] gave a name.
    pub call: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// End − due, in µs.
    pub response_us: u64,
    /// End − dispatch, in µs.
    pub service_us: u64,
    /// The status code of the answer.
    pub status: Option<u16>,
    /// Why there was no complete answer, if known.
    pub cause: Option<Cause>,
    /// Bytes written.
    pub sent_bytes: u64,
    /// Bytes read.
    pub received_bytes: u64,
    /// Where its time went.
    pub phases: Phases,
}

impl CallEnd {
    /// The call as a sample. `user` and `number` name its arrival; `due_us` counts from the start.
    #[must_use]
    pub fn sample(&self, (user, number): (Option<u32>, u64), due_us: u64) -> Sample {
        let reused = |connection| connection == ConnectionUse::Reused;
        Sample {
            user,
            number,
            generation: self.generation,
            tick: self.tick,
            call: self.call,
            outcome: self.outcome,
            status: self.status,
            due_us,
            response_us: self.response_us,
            service_us: self.service_us,
            first_byte_us: self.phases.first_byte_us,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
            reused: self.phases.connection.map(reused),
        }
    }
}
