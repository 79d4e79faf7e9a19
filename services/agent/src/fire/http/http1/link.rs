//! One connection and its exchange: writes the request and reads the answer at the same time.
//!
//! Nothing is allocated per exchange: the request is a template, the answer is dropped as it is
//! read. Reading must never wait until the whole request is written: targets may answer early.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use loadpilot_events::log::cause::Cause;
use loadpilot_events::log::outcome::Outcome;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::task::coop::unconstrained;

use super::answer::{Answer, Read};
use super::piece::{Malformed, Piece};
use crate::fire::clock::MonoTime;
use crate::fire::http::connect::error_classification::ErrorClass;
use crate::fire::http::connect::stream::Stream;
use crate::fire::http::wire::Order;
use crate::fire::request::progress::{Stage, Trace};
use crate::fire::request::redirect::{self, is_redirect};

/// Number of bytes per read.
const READ_BYTES: usize = 64 << 10;

/// Read buffer that all connections of a core share: no connection leaves bytes in it.
pub(super) type ReadBuffer = RefCell<Box<[MaybeUninit<u8>]>>;

pub(super) fn read_buffer() -> ReadBuffer {
    RefCell::new(Box::new_uninit_slice(READ_BYTES))
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Link {
    stream: Stream,
    answer: Answer,
    opened: MonoTime,
    /// When its last answer began, or when it was opened.
    used: MonoTime,
    requests: u32,
}

/// A request in progress, and the state of its answer.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    order: &'a Order<'a>,
    parts: [IoSlice<'a>; 4],
    /// Index of the first part that is not fully written.
    next: usize,
    sent_bytes: u64,
    flushed: bool,
    /// Error that ended the writing early; the target may still send an answer.
    write_error: Option<io::Error>,
    wrote_at: Option<MonoTime>,
    answered_at: Option<MonoTime>,
}

/// Why an exchange on one connection ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) class: ErrorClass,
    pub(super) reach: Reach,
}

/// How far a failed exchange got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The connection was gone before one byte of the request was written.
    Unsent,
    /// The connection was gone before one byte of the answer came.
    Unanswered,
    /// It got further, or failed for another reason.
    Beyond,
}

impl<'a> Exchange<'a> {
    /// The exchange of an order.
    pub(super) fn new(order: &'a Order<'a>) -> Self {
        order.progress.enter(Stage::Sending);
        let request = order.call.http1().with_id(order.id.unwrap_or_default());
        let mut exchange = Self {
            order,
            parts: request.map(IoSlice::new),
            next: 0,
            sent_bytes: 0,
            flushed: false,
            write_error: None,
            wrote_at: None,
            answered_at: None,
        };
        exchange.skip_written();
        exchange
    }

    fn is_written(&self) -> bool {
        self.next == self.parts.len()
    }

    fn wrote(&mut self, mut bytes: usize) {
        self.sent_bytes += bytes as u64;
        self.wrote_at = Some(MonoTime::now());
        while bytes > 0 {
            let part = &mut self.parts[self.next];
            let here = bytes.min(part.len());
            part.advance(here);
            bytes -= here;
            self.skip_written();
        }
    }

    fn skip_written(&mut self) {
        let rest = &self.parts[self.next..];
        let unwritten = rest.iter().position(|part| !part.is_empty());
        self.next += unwritten.unwrap_or(rest.len());
    }

    /// Takes note that bytes of the answer were read; returns whether they were its first.
    fn answered(&mut self, trace: &mut Trace) -> bool {
        if self.answered_at.is_some() {
            return false;
        }
        let now = MonoTime::now();
        self.answered_at = Some(now);
        self.order.progress.enter(Stage::Reading);
        let wrote_at = self.wrote_at.unwrap_or(now);
        trace.phases.first_byte_us = Some(now.since_us(wrote_at));
        true
    }

    fn failed(&self, class: ErrorClass) -> Failed {
        let reach = match class.outcome {
            Outcome::Io if self.answered_at.is_some() => Reach::Beyond,
            Outcome::Io if self.sent_bytes == 0 => Reach::Unsent,
            Outcome::Io => Reach::Unanswered,
            _ => Reach::Beyond,
        };
        Failed { class, reach }
    }
}

impl Link {
    pub(super) fn new(stream: Stream) -> Self {
        let opened = MonoTime::now();
        Self {
            stream,
            answer: Answer::new(),
            opened,
            used: opened,
            requests: 0,
        }
    }

    /// Number of requests that it has carried.
    pub(super) fn requests(&self) -> u32 {
        self.requests
    }

    /// Time since it was opened, in µs.
    pub(super) fn age_us(&self) -> u64 {
        MonoTime::now().since_us(self.opened)
    }

    /// When it was used last.
    pub(super) fn used(&self) -> MonoTime {
        self.used
    }

    /// Whether an idle connection is still open and has no bytes to read. Costs no system call
    /// unless the reactor has an event for it.
    pub(super) fn is_quiet(&mut self, cx: &mut Context<'_>, read_buffer: &ReadBuffer) -> bool {
        let mut read_buffer = read_buffer.borrow_mut();
        let mut buf = ReadBuf::uninit(&mut read_buffer);
        let read = poll_fn(|cx| Pin::new(&mut self.stream).poll_read(cx, &mut buf));
        // A task without budget would get `Pending` even if there are bytes to read.
        pin!(unconstrained(read)).poll(cx).is_pending()
    }

    /// Whether another request may follow on this connection.
    pub(super) fn is_reusable(&self) -> bool {
        self.requests == 0 || self.answer.reusable()
    }

    /// The next bytes answer a request, a HEAD one if `to_head`.
    pub(super) fn begin(&mut self, to_head: bool) {
        self.answer.begin(to_head);
        self.requests = self.requests.saturating_add(1);
    }

    /// Drives an exchange; returns the status code once the answer is complete.
    pub(super) fn poll_exchange(
        &mut self,
        cx: &mut Context<'_>,
        exchange: &mut Exchange<'_>,
        trace: &mut Trace,
        read_buffer: &ReadBuffer,
    ) -> Poll<Result<u16, Failed>> {
        if !exchange.flushed && exchange.write_error.is_none() {
            exchange.write_error = self.write(cx, exchange, trace).err();
        }
        let mut read_buffer = read_buffer.borrow_mut();
        loop {
            let mut buf = ReadBuf::uninit(&mut read_buffer);
            let bytes = match Pin::new(&mut self.stream).poll_read(cx, &mut buf) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => {
                    return Poll::Ready(Err(exchange.failed(ErrorClass::exchanging(&error))));
                }
                Poll::Ready(Ok(())) => buf.filled(),
            };
            if bytes.is_empty() {
                return Poll::Ready(self.closed(exchange, trace));
            }
            trace.received_bytes += bytes.len() as u64;
            let is_first = exchange.answered(trace);
            let order = exchange.order;
            let read = match (order.tokens, order.capture, order.location) {
                (None, None, None) => self.answer.read(bytes),
                _ => self.read_for(order, bytes),
            };
            if let Some(shown) = exchange.order.shown
                && shown.borrow().wants(self.answer.status_if_known())
            {
                shown.borrow_mut().add(bytes);
            }
            match read {
                Ok(Read::Unfinished) if exchange.order.has_enough() => {
                    self.answer.spoil();
                    return Poll::Ready(Ok(self.complete(exchange, trace, is_first)));
                }
                Ok(Read::Unfinished) => {}
                Ok(Read::Complete { surplus }) => {
                    // After a request cut short, or surplus bytes, the next exchange could not
                    // trust the connection.
                    if surplus > 0 || !exchange.flushed {
                        self.answer.spoil();
                    }
                    return Poll::Ready(Ok(self.complete(exchange, trace, is_first)));
                }
                Err(malformed) => {
                    tracing::debug!(%malformed, "not an answer");
                    let cause = match malformed {
                        Malformed::TooLong => Cause::TooLong,
                        _ => Cause::NotHttp,
                    };
                    let class = ErrorClass::new(Outcome::Io, cause);
                    return Poll::Ready(Err(exchange.failed(class)));
                }
            }
        }
    }

    /// Reads further bytes of an answer whose tokens are timed, or that a task reads.
    fn read_for(&mut self, order: &Order<'_>, bytes: &[u8]) -> Result<Read, Malformed> {
        let mut tokens = order
            .tokens
            .map(|tokens| (tokens.borrow_mut(), MonoTime::now()));
        let mut capture = order.capture.map(RefCell::borrow_mut);
        self.answer.read_with(bytes, &mut |piece| match piece {
            Piece::Head(status, head) => {
                order.progress.answered(status);
                if let Some(capture) = &mut capture {
                    capture.head = head.to_vec();
                }
                if let Some(location) = order.location.filter(|_| is_redirect(status)) {
                    location.replace(redirect::location(head));
                }
            }
            Piece::Data(mut data) => {
                if let Some((tokens, now)) = &mut tokens {
                    data = tokens.data(data, *now);
                }
                if let Some(capture) = &mut capture {
                    capture.data(data);
                }
            }
            Piece::ChunkEnd => {
                if let Some((tokens, now)) = &mut tokens {
                    tokens.chunk_end(*now);
                }
            }
        })
    }

    /// Writes as much as can be written now.
    fn write(
        &mut self,
        cx: &mut Context<'_>,
        exchange: &mut Exchange<'_>,
        trace: &mut Trace,
    ) -> io::Result<()> {
        while !exchange.is_written() {
            let mut stream = Pin::new(&mut self.stream);
            let written = match &exchange.parts[exchange.next..] {
                [part] => stream.as_mut().poll_write(cx, part)?,
                parts => stream.as_mut().poll_write_vectored(cx, parts)?,
            };
            let Poll::Ready(bytes) = written else {
                return Ok(());
            };
            trace.sent_bytes += bytes as u64;
            exchange.wrote(bytes);
        }
        exchange.flushed = Pin::new(&mut self.stream).poll_flush(cx)?.is_ready();
        if exchange.flushed && exchange.answered_at.is_none() {
            let wrote_at = exchange.wrote_at.unwrap_or_else(MonoTime::now);
            exchange.order.progress.enter_at(Stage::Waiting, wrote_at);
        }
        Ok(())
    }

    /// The peer has closed the connection.
    fn closed(&mut self, exchange: &Exchange<'_>, trace: &mut Trace) -> Result<u16, Failed> {
        if self.answer.ends_with_the_connection() {
            return Ok(self.complete(exchange, trace, false));
        }
        let class = match &exchange.write_error {
            Some(error) => ErrorClass::exchanging(error),
            None if exchange.answered_at.is_none() => {
                ErrorClass::new(Outcome::Io, Cause::Unanswered)
            }
            None => ErrorClass::new(Outcome::Io, Cause::Truncated),
        };
        Err(exchange.failed(class))
    }

    /// The answer is complete. `at_once`: its last byte was read together with its first.
    fn complete(&mut self, exchange: &Exchange<'_>, trace: &mut Trace, at_once: bool) -> u16 {
        self.used = exchange.answered_at.unwrap_or(self.used);
        trace.phases.last_byte_us = exchange.answered_at.map(|at| match at_once {
            // Reading the clock would cost a noticeable share of a fast exchange.
            true => 0,
            false => MonoTime::now().since_us(at),
        });
        self.answer.status()
    }
}
