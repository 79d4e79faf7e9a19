//! The table: what a server answers, and what RFC 9110 and RFC 9112 make of it.
//!
//! Where the RFCs leave a choice, what decides about framing is taken strictly, and syntax that
//! cannot put both ends out of step is taken leniently.

pub(crate) mod bodiless;
pub(crate) mod chunked;
pub(crate) mod fields;
pub(crate) mod interim;
pub(crate) mod length;
pub(crate) mod persistence;
pub(crate) mod status_line;
pub(crate) mod truncated;

use loadpilot_events::plan::Method;

/// One answer and what must come of it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The section that decides, or the reason of a choice.
    pub(crate) rule: &'static str,
    pub(crate) method: Method,
    pub(crate) answer: Vec<u8>,
    /// Unrequested bytes after the last byte of the answer.
    pub(crate) surplus: Vec<u8>,
    pub(crate) then: Then,
    /// Whether it is also sent in pieces.
    pub(crate) is_cut: bool,
    pub(crate) expect: Expect,
}

/// What the server does after its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Reads the next request.
    Waits,
    /// Closes, together with its last byte.
    Closes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// The status, and where the next request goes. Received are the bytes of the answer.
    Answered(u16, Next),
    /// The call ends as io; the connection is not used again.
    Broken,
    /// Both are right; the connection is the one said here if it was answered.
    AnsweredOrBroken(u16, Next),
}

/// The connection of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Reused,
    Fresh,
}

/// A case on which nothing has been said yet: a GET, answered and kept.
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

    /// Sent in one go only: it is long.
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
