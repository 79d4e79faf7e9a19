//! Freezes: windows of time without responses. A request is answered at the later of its own due
//! time and the end of the window that covers it; none is dropped.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::Moment;

/// When a window begins.
#[derive(Debug, Clone, Copy)]
pub enum Start {
    /// At this moment.
    At(Moment),
    /// This long after the first request of the server's life arrived.
    AfterFirst(Duration),
}

/// A window without responses: begin included, end excluded.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Its begin.
    pub start: Start,
    /// Its length; `None` lasts until it is lifted.
    pub lasting: Option<Duration>,
}

impl Window {
    /// Begin and end; `None` while it depends on a first request that has not come.
    pub fn bounds(&self, first: Option<Moment>) -> Option<(Moment, Option<Moment>)> {
        let from = match (self.start, first) {
            (Start::At(moment), _) => moment,
            (Start::AfterFirst(after), Some(first)) => first.plus(after),
            (Start::AfterFirst(_), None) => return None,
        };
        Some((from, self.lasting.map(|lasting| from.plus(lasting))))
    }
}

/// The earliest time, from `wanted` on, that no window covers; `None` if one never ends.
fn earliest_answer(windows: &[Window], first: Moment, wanted: Instant) -> Option<Instant> {
    let mut at = wanted;
    loop {
        let covering = windows
            .iter()
            .filter_map(|w| w.bounds(Some(first)))
            .find(|(from, until)| from.mono <= at && until.is_none_or(|until| at < until.mono));
        match covering {
            None => return Some(at),
            Some((_, until)) => at = until?.mono,
        }
    }
}

/// The windows in force, and the requests that wait for them.
#[derive(Debug, Default)]
pub struct Freezer {
    windows: Mutex<Vec<Window>>,
    changed: Condvar,
}

impl Freezer {
    /// Adds a window.
    pub fn add(&self, window: Window) {
        self.lock().push(window);
        self.changed.notify_all();
    }

    /// Lifts every window, also those to come.
    pub fn lift(&self) {
        self.lock().clear();
        self.changed.notify_all();
    }

    /// The windows that were set and not lifted, also those that are over.
    pub fn windows(&self) -> Vec<Window> {
        self.lock().clone()
    }

    /// Blocks until `due`, and longer while a window covers that time or the present. `first` is
    /// the arrival of the first request. Returns whether it blocked at all.
    pub fn wait(&self, first: Moment, due: Instant) -> bool {
        let mut windows = self.lock();
        let mut blocked = false;
        loop {
            let now = Instant::now();
            let left = match earliest_answer(&windows, first, due.max(now)) {
                Some(at) if at <= now => return blocked,
                Some(at) => at - now,
                // Lifting the window notifies; the length only bounds one wait.
                None => Duration::from_secs(3600),
            };
            blocked = true;
            let waited = self.changed.wait_timeout(windows, left);
            windows = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Window>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_leaves_every_window_that_covers_it() {
        let first = Moment::now();
        let ms = Duration::from_millis;
        let window = |after, lasting: Option<u64>| Window {
            start: Start::AfterFirst(ms(after)),
            lasting: lasting.map(ms),
        };
        let windows = [
            window(300, Some(100)),
            window(100, Some(200)),
            window(900, None),
        ];
        let answer =
            |at| earliest_answer(&windows, first, first.mono + ms(at)).map(|t| t - first.mono);
        assert_eq!(answer(99), Some(ms(99)), "before");
        assert_eq!(
            answer(100),
            Some(ms(400)),
            "the begin belongs to it, and windows chain"
        );
        assert_eq!(answer(399), Some(ms(400)), "just before the end");
        assert_eq!(answer(400), Some(ms(400)), "the end does not belong to it");
        assert_eq!(answer(900), None, "open end");
    }
}
