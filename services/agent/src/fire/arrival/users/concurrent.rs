//! Requests that a user has under way beside each other, and hears of one by one, as they end.
//!
//! Must never leave one behind: what was begun is waited for and counted, also when its user does
//! not want to know any more.

use std::collections::VecDeque;
use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{Held, Stage};
use crate::fire::arrival::arrival_runner::Calls;
use crate::fire::clock::MonoTime;
use crate::fire::http::wire::Wire;
use crate::fire::request::scratch::Kit;
use crate::users::script::{Heard, Request, Ticket};

/// What a user has under way.
#[derive(Default)]
pub(super) struct Abreast<'a> {
    waiting: VecDeque<(Ticket, Arc<Request>)>,
    running: Vec<Pin<Box<dyn Future<Output = Came> + 'a>>>,
}

/// A request that has come to its end.
pub(super) struct Came {
    ticket: Ticket,
    heard: Heard,
    held: Option<Held>,
    /// What it was done with, if it was begun.
    kit: Option<Kit>,
}

impl Abreast<'_> {
    pub(super) fn wish(&mut self, wishes: Vec<(Ticket, Arc<Request>)>) {
        self.waiting.extend(wishes);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Came> {
        for place in 0..self.running.len() {
            if let Poll::Ready(came) = self.running[place].as_mut().poll(cx) {
                drop(self.running.swap_remove(place));
                return Poll::Ready(came);
            }
        }
        Poll::Pending
    }
}

impl<W: Wire> Calls<W> {
    /// Begins what waits, as much at a time as there may be connections.
    pub(super) fn set_off<'a>(
        &'a self,
        abreast: &mut Abreast<'a>,
        stage: &mut Stage<'a>,
        now: MonoTime,
    ) {
        let width = self.wire().calls_max().max(1);
        let mut begun = 0;
        while abreast.running.len() < width
            && let Some((ticket, request)) = abreast.waiting.pop_front()
        {
            if self.is_over_for(stage, now) {
                let (heard, held, kit) = (Heard::Stopped, None, None);
                abreast.running.push(Box::pin(ready(Came {
                    ticket,
                    heard,
                    held,
                    kit,
                })));
                continue;
            }
            self.settle(stage);
            let one = self.sending(&request, stage, begun);
            begun += 1;
            let beside = stage.kit.others.pop();
            let mut kit = beside.unwrap_or_else(|| self.kit_beside(stage.kit));
            abreast.running.push(Box::pin(async move {
                let (heard, held) = self.converse(&one, now, &mut kit).await;
                let kit = Some(kit);
                Came {
                    ticket,
                    heard,
                    held,
                    kit,
                }
            }));
        }
        stage.calls += begun;
    }

    /// What the user hears of a request that has ended, which is its last call so far.
    pub(super) fn came(&self, came: Came, stage: &mut Stage<'_>) -> Heard {
        stage.kit.others.extend(came.kit);
        self.settle(stage);
        stage.held = came.held;
        Heard::One(came.ticket, Box::new(came.heard))
    }

    /// Waits for what is under way when its user's part is over: it is counted before the call that
    /// the part's check looked at.
    pub(super) async fn see_out<'a>(&'a self, abreast: &mut Abreast<'a>, stage: &mut Stage<'a>) {
        abreast.waiting.clear();
        let last = stage.held.take();
        while !abreast.is_empty() {
            let came = poll_fn(|cx| abreast.poll(cx)).await;
            self.came(came, stage);
        }
        self.settle(stage);
        stage.held = last;
    }
}
