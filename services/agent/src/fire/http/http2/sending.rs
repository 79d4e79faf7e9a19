//! The body of a request on an HTTP/2 stream: sent as the target makes room for it, while its
//! answer may already arrive.
//!
//! The wait for the answer must never depend on the whole body being sent.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::SendStream;

use crate::fire::clock::MonoTime;
use crate::fire::request::progress::{Progress, Stage, Trace};

/// The rest of one body.
pub(super) struct BodySender {
    stream: SendStream<Bytes>,
    rest: Bytes,
}

impl BodySender {
    /// A sender of `body`, which may be empty.
    pub(super) fn new(mut stream: SendStream<Bytes>, body: Bytes) -> Self {
        stream.reserve_capacity(body.len());
        Self { stream, rest: body }
    }

    /// Sends until `answer` is there. Returns it with the instant at which everything was sent, or
    /// at which an early answer came.
    pub(super) async fn send_until<T>(
        &mut self,
        answer: impl Future<Output = T>,
        progress: &Progress,
        trace: &mut Trace,
    ) -> (T, MonoTime) {
        let mut answer = pin!(answer);
        let mut sent_at = None;
        poll_fn(|cx| {
            self.send(cx, trace);
            if sent_at.is_none() && self.rest.is_empty() {
                let now = MonoTime::now();
                sent_at = Some(now);
                progress.enter_at(Stage::Waiting, now);
            }
            let answer = std::task::ready!(answer.as_mut().poll(cx));
            // A target that answers early may still need the rest.
            self.hand_over(self.rest.len(), trace);
            Poll::Ready((answer, sent_at.unwrap_or_else(MonoTime::now)))
        })
        .await
    }

    /// Sends as much as there is room for.
    fn send(&mut self, cx: &mut Context<'_>, trace: &mut Trace) {
        while !self.rest.is_empty() {
            match self.stream.poll_capacity(cx) {
                Poll::Ready(Some(Ok(room))) => self.hand_over(room, trace),
                // The answer, or its failure, shows why there is no more room.
                Poll::Ready(Some(Err(_)) | None) | Poll::Pending => return,
            }
        }
    }

    fn hand_over(&mut self, room: usize, trace: &mut Trace) {
        let piece = self.rest.split_to(room.min(self.rest.len()));
        let bytes = piece.len();
        if bytes > 0 && self.stream.send_data(piece, self.rest.is_empty()).is_ok() {
            trace.sent_bytes += bytes as u64;
        }
    }
}
