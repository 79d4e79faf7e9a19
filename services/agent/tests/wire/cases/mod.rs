//! The table: responses of a server, and their meaning by RFC 9110 and RFC 9112.
//!
//! Where the RFCs leave a choice, the table is strict about framing, and lenient about syntax that
//! both ends read alike.

pub(crate) mod bodiless;
pub(crate) mod chunked;
pub(crate) mod fields;
pub(crate) mod interim;
pub(crate) mod length;
pub(crate) mod persistence;
pub(crate) mod status_line;
pub(crate) mod truncated;

use loadpilot_events::plan::Method;

/// One response and the expected result.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The section that decides, or the reason of a choice.
    pub(crate) rule: &'static str,
    pub(crate) method: Method,
    pub(crate) answer: Vec<u8>,
    /// Unrequested bytes after the last byte of the response.
    pub(crate) surplus: Vec<u8>,
    pub(crate) then: Then,
    /// Whether it is also sent in pieces.
    pub(crate) is_cut: bool,
    pub(crate) expect: Expect,
}

/// The server's action after its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Reads the next request.
    Waits,
    /// Closes, together with its last byte.
    Closes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// The status, and the connection of the next request. All bytes of the response count as
    /// received.
    Answered(u16, Next),
    /// The call ends as io; the connection is not used again.
    Broken,
    /// Both results are right; this is the connection if the call was answered.
    AnsweredOrBroken(u16, Next),
}

/// The connection of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Reused,
    Fresh,
}

/// A case with the defaults: a GET, answered, on a connection that is kept.
pub(crate) fn case(name: &str, rule: &'static str, answer: &[u8]) -> Case {
    Case {
        name: name.to_owned(),
        rule,
        method: Method::Get,
        answer: answer.to_vec(),
        surplus: Vec::new(),
        then: Then::Waits,
        is_cut: true,
        expect: Expect::Answered(200, Next::Reused),
    }
}

impl Case {
    pub(crate) fn to(self, method: Method) -> Self {
        Self { method, ..self }
    }

    pub(crate) fn surplus(self, surplus: &[u8]) -> Self {
        let surplus = surplus.to_vec();
        Self { surplus, ..self }
    }

    pub(crate) fn closes(self) -> Self {
        let then = Then::Closes;
        Self { then, ..self }
    }

    /// Sent in one piece only, since it is long.
    pub(crate) fn uncut(self) -> Self {
        let is_cut = false;
        Self { is_cut, ..self }
    }

    pub(crate) fn reused(self, status: u16) -> Self {
        let expect = Expect::Answered(status, Next::Reused);
        Self { expect, ..self }
    }

    pub(crate) fn fresh(self, status: u16) -> Self {
        let expect = Expect::Answered(status, Next::Fresh);
        Self { expect, ..self }
    }

    pub(crate) fn broken(self) -> Self {
        let expect = Expect::Broken;
        Self { expect, ..self }
    }

    pub(crate) fn answered_or_broken(self, status: u16, next: Next) -> Self {
        let expect = Expect::AnsweredOrBroken(status, next);
        Self { expect, ..self }
    }
}
