//! Sessions: each place among the users of a closed loop holds one session after another, and each
//! is of another user.
//!
//! The beginning and end of a session depend on plan, seed and place alone, never on what users
//! did. So any agent finds the session that a place holds at a moment, also after the loss of
//! another agent, and the set of sessions is the same for any number of agents. A session begins
//! when the one before it ends: a task that is still in flight then shortens the next session and
//! moves no later one.
//!
//! A run begins in the middle of the sessions of its places, as any moment of production is. The
//! rest of the first session of a place is a uniform share of a length that is drawn with weights
//! proportional to the lengths (the stationary renewal process; Cox, "Renewal Theory", 1962,
//! chapter 5). So sessions begin at an even rate from the start on, and users do not leave in step.

use loadpilot_events::plan::SessionLength;

use super::distribution::{exponential, lognormal, uniform, weighted_lognormal, weighted_uniform};
use crate::schedule::hash::{Purpose, below, draw};
use crate::schedule::workload::Workload;

/// The session that a place holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// Its number among those of the place, from 0: the one that goes on at the start.
    pub number: u32,
    /// When it is over, in µs after the start.
    pub until_us: u64,
}

impl Workload {
    /// Whether users of a closed loop leave when their session is over.
    #[must_use]
    pub fn has_sessions(&self) -> bool {
        self.types.have_sessions()
    }

    /// The session that the place of `user` holds at `t_us` after the start; `None` when its users
    /// stay for the whole run. `known` is an earlier session of the place, from which the search
    /// goes on.
    #[must_use]
    pub fn session_at(&self, user: u32, known: Option<Session>, t_us: u64) -> Option<Session> {
        if !self.has_sessions() {
            // Computing the type of a user takes time, and this function is called for each task.
            return None;
        }
        let length = self.types.session(self.type_of_user(user))?;
        let first = || Session {
            number: 0,
            until_us: self.left_of_first_us(user, length),
        };
        let mut session = known.unwrap_or_else(first);
        while session.until_us <= t_us {
            let number = session.number.saturating_add(1);
            let length_us = self.length_us(user, length, number);
            session = Session {
                number,
                until_us: session.until_us.saturating_add(length_us),
            };
        }
        Some(session)
    }

    /// The length of session `number` of a place in µs, at least 1; of the first one, the part
    /// after the start. `None` when users stay for the whole run.
    #[must_use]
    pub fn session_length_us(&self, user: u32, number: u32) -> Option<u64> {
        let length = self.types.session(self.type_of_user(user))?;
        Some(match number {
            0 => self.left_of_first_us(user, length),
            _ => self.length_us(user, length, number),
        })
    }

    fn length_us(&self, user: u32, length: SessionLength, number: u32) -> u64 {
        let place = u64::from(self.drawing_user(user));
        let drawn = draw(self.seed, Purpose::Session, place, number.into());
        let length_us = match length {
            SessionLength::Between { from_us, to_us } => uniform(from_us, to_us, drawn),
            SessionLength::Exponential { median_us } => exponential(median_us, drawn),
            SessionLength::Lognormal { median_us, p99_us } => lognormal(median_us, p99_us, drawn),
        };
        length_us.max(1)
    }

    fn left_of_first_us(&self, user: u32, length: SessionLength) -> u64 {
        let place = u64::from(self.drawing_user(user));
        let drawn = draw(self.seed, Purpose::Session, place, 0);
        let whole_us = match length {
            SessionLength::Between { from_us, to_us } => weighted_uniform(from_us, to_us, drawn),
            // The exponential distribution has no memory: the remaining time is distributed as a
            // whole session.
            SessionLength::Exponential { median_us } => {
                return exponential(median_us, drawn).max(1);
            }
            SessionLength::Lognormal { median_us, p99_us } => {
                weighted_lognormal(median_us, p99_us, drawn)
            }
        };
        let share = draw(self.seed, Purpose::SessionPlace, place, 0);
        below(whole_us, share) + 1
    }
}
