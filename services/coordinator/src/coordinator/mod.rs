//! The bookkeeping of a coordinator: folds of all runs, who was heard, what is to be done next.
//! Pure: it is told what happened and when, and answers with errands. It must never do I/O.

use std::collections::{BTreeMap, BTreeSet};

use loadpilot_engine::control::decide::Hearing;
use loadpilot_engine::control::{Parsed, is_newer};
use loadpilot_events::wire::heartbeat::{AgentBeat, News, Seen};
use loadpilot_events::wire::subject::Kind;
use loadpilot_events::{AgentId, Holder, OwnerId, RunId, Timestamp};
use thiserror::Error;

use crate::append::Outcome;
use crate::config::Settings;
use crate::feed;
use crate::finished::Finished;
use crate::http::Facts;
use crate::liveness;
use crate::run_state::{Book, Errand, Fate};

/// A sign of life that may change a decision is looked at within this time (µs), with those that
/// come meanwhile: a fleet that comes at once would have each of its agents decided about.
const HEARD_PATIENCE_US: u64 = 20_000;

/// A record of the log that cannot be read. The report's fold names it; here it is skipped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{subject} at {seq} cannot be read: {reason}")]
pub struct Poison {
    /// Where it stands.
    pub subject: String,
    /// Its stream sequence.
    pub seq: u64,
    /// Why.
    pub reason: String,
}

/// What a coordinator knows: all of it can be had again from the log and from listening.
#[derive(Debug)]
pub struct Coordinator {
    settings: Settings,
    hearing: Hearing,
    books: BTreeMap<RunId, Book>,
    finished: Finished,
    caught_up: bool,
    linked: bool,
    /// Errands that wait for nobody's decision.
    chores: Vec<Errand>,
    /// Runs that were over before it had caught up and whose secrets may still exist.
    unshredded: BTreeSet<RunId>,
}

impl Coordinator {
    /// One that has begun to listen at `now` and has read nothing yet.
    #[must_use]
    pub fn new(settings: Settings, now: Timestamp) -> Self {
        Self {
            settings,
            hearing: Hearing {
                since: now,
                ..Hearing::default()
            },
            books: BTreeMap::new(),
            finished: Finished::default(),
            caught_up: false,
            linked: true,
            chores: Vec::new(),
            unshredded: BTreeSet::new(),
        }
    }

    /// Folds one record of the control stream.
    ///
    /// # Errors
    /// [`Poison`] when it cannot be read; it is skipped and nothing else changes.
    pub fn record(&mut self, subject: &str, seq: u64, payload: &[u8]) -> Result<(), Poison> {
        let poison = |reason: String| Poison {
            subject: subject.to_owned(),
            seq,
            reason,
        };
        let Some(place) = self.settings.subjects.parse(subject) else {
            return Err(poison("it is no subject of a run".to_owned()));
        };
        if self.finished.contains(&place.run) {
            return Ok(());
        }
        let parsed = Parsed::from_payload(&place.kind, payload).map_err(poison);
        if matches!(place.kind, Kind::Ctl) {
            // An unreadable event takes a place too: the next append is expected after it.
            let book = self.books.entry(place.run.clone()).or_insert_with(|| {
                let at = parsed.as_ref().map(|parsed| parsed.record().0);
                Book::new(at.unwrap_or_default())
            });
            book.ctl_last = seq;
            book.stands_back |= is_newer(payload);
            book.changed();
        }
        let parsed = parsed?;
        // Of what a submitter plays itself there is nothing to decide, before the run or after it.
        if matches!(&parsed, Parsed::Request(request) if request.event.is_setup_or_teardown()) {
            return Ok(());
        }
        let book = match (&parsed, self.books.get_mut(&place.run)) {
            (_, Some(book)) => book,
            // Facts follow decisions; of a run that was removed they may be all that is left.
            (Parsed::Fact(..), None) => return Ok(()),
            (_, None) => self
                .books
                .entry(place.run.clone())
                .or_insert_with(|| Book::new(parsed.record().0)),
        };
        let (at, record) = parsed.record();
        book.state = std::mem::take(&mut book.state).evolve(seq, at, record);
        if let Parsed::Decision(event) = parsed {
            book.feed.push(&place.run, seq, event, payload.len());
        }
        book.changed();
        if book.state.over {
            self.end(&place.run);
        }
        Ok(())
    }

    /// Everything that was in the log when it began to read has been folded: from now on it
    /// decides.
    pub fn caught_up(&mut self) {
        self.caught_up = true;
        for (run, book) in &mut self.books {
            let before = self.settings.seal_asked_before;
            let is_spared = self.settings.spared.as_ref() == Some(run);
            book.left_over = !is_spared && before.is_some_and(|instant| book.asked_at < instant);
            book.changed();
        }
        // Whoever ended these may have died before the secrets were shredded.
        let unshredded = std::mem::take(&mut self.unshredded).into_iter();
        let kept = unshredded.filter(|run| self.finished.feed(run).is_some());
        self.chores.extend(kept.map(Errand::Shred));
    }

    /// A process of `agent` lives.
    pub fn heard_agent(&mut self, agent: AgentId, beat: &AgentBeat, now: Timestamp) {
        let lost_us = self.settings.policy.lost_us;
        let holder = Holder {
            agent: agent.clone(),
            boot_id: beat.boot_id.clone(),
        };
        for (run, book) in &mut self.books {
            let said = beat.unreached.iter().find(|said| said.run == *run);
            book.note_unreached(&holder, said);
        }
        if liveness::note_agent(&mut self.hearing, agent, beat, lost_us, now) {
            let by = now.plus_us(HEARD_PATIENCE_US);
            self.books.values_mut().for_each(|book| book.look_by(by));
        }
    }

    /// What the server says of itself.
    pub fn message_bytes_max(&mut self, bytes: u64) {
        self.hearing.message_bytes_max = Some(bytes);
    }

    /// The owner of a run lives.
    pub fn heard_owner(&mut self, owner: OwnerId, now: Timestamp) {
        liveness::note_owner(&mut self.hearing, owner, now);
    }

    /// What `agent` lacks, which has seen `seen`, and whether there is more than fits; `None` while
    /// this coordinator itself does not know whether it lacks something.
    #[must_use]
    pub fn news(&self, agent: &AgentId, seen: &[Seen]) -> Option<(Vec<News>, bool)> {
        if !self.caught_up {
            return None;
        }
        let named: BTreeMap<&RunId, u64> =
            seen.iter().map(|seen| (&seen.run, seen.ctl_seq)).collect();
        let seen_of = |run: &RunId| named.get(run).copied().unwrap_or_default();
        let open = self
            .books
            .iter()
            .flat_map(|(run, book)| book.feed.after(seen_of(run)));
        let over = named
            .iter()
            .filter_map(|(run, seen)| self.finished.feed(run).map(|feed| feed.after(*seen)));
        Some(feed::fit(open.chain(over.flatten()).collect(), agent))
    }

    /// Whether a process of `agent` holds shards of a run that is not over.
    #[must_use]
    pub fn is_holder(&self, run: &RunId, agent: &AgentId) -> bool {
        let holdings = self.books.get(run).map(|book| &book.state.holdings);
        holdings.is_some_and(|held| held.iter().any(|one| one.holder.agent == *agent))
    }

    /// It has not listened until `now`: the process did not run, the clock was set, or the link was
    /// down.
    pub fn listen_again(&mut self, now: Timestamp) {
        liveness::begin(&mut self.hearing, now);
        self.books
            .values_mut()
            .for_each(|book| book.clock_was_set(now));
    }

    /// Whether the bus can be reached; while it cannot, nothing is decided.
    pub fn link(&mut self, up: bool) {
        self.linked = up;
    }

    /// What is to be done now. Each errand is given out once and its end is reported back.
    pub fn next(&mut self, now: Timestamp) -> Vec<Errand> {
        if !(self.caught_up && self.linked) {
            return Vec::new();
        }
        let mut errands = std::mem::take(&mut self.chores);
        let Self {
            settings,
            hearing,
            books,
            ..
        } = self;
        errands.extend(books.iter_mut().filter_map(|(run, book)| {
            let subject = || settings.subjects.ctl(run);
            book.next(run, subject, hearing, &settings.policy, now)
        }));
        errands
    }

    /// Whether no run is under way, as far as it knows.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.books.is_empty()
    }

    /// When time alone may give it something to do.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        let ready = self.caught_up && self.linked;
        self.books
            .values()
            .filter(|_| ready)
            .filter_map(Book::wake_at)
            .min()
    }

    /// How it fares, for whoever watches it.
    pub(crate) fn facts(&self, now: Timestamp) -> Facts {
        let lost_us = self.settings.policy.lost_us;
        let heard = self.hearing.agents.values();
        Facts {
            caught_up: self.caught_up,
            linked: self.linked,
            runs_open: self.books.len(),
            agents_heard: heard
                .filter(|heard| now < heard.at.plus_us(lost_us))
                .count(),
        }
    }

    /// The append of a decision about `run` has ended.
    pub fn appended(&mut self, run: &RunId, outcome: &Outcome, now: Timestamp) {
        if let Some(book) = self.books.get_mut(run) {
            book.appended(outcome, now);
        }
    }

    /// The data stream ends at `head`; `None` when it could not be read.
    pub fn data_head(&mut self, run: &RunId, head: Option<u64>, now: Timestamp) {
        if let Some(book) = self.books.get_mut(run) {
            book.data_head(head, now);
        }
    }

    /// The control subject of `run` ends at `last` (0: nothing stands there); `None` when it could
    /// not be read.
    pub fn ctl_last(&mut self, run: &RunId, last: Option<u64>, now: Timestamp) {
        let Some(book) = self.books.get_mut(run) else {
            return;
        };
        if book.ctl_last(last, now) == Fate::Purged {
            tracing::warn!(%run, "its log was removed while it was not over");
            self.books.remove(run);
        }
    }

    fn end(&mut self, run: &RunId) {
        let Some(book) = self.books.remove(run) else {
            return;
        };
        let created = book.state.created.as_deref().map(|created| &created.plan);
        let requested = book
            .state
            .requested
            .as_deref()
            .map(|requested| &requested.plan);
        let secret = created
            .or(requested)
            .is_some_and(|plan| !plan.secrets().is_empty());
        self.finished.add(run.clone(), book.feed);
        match (secret, self.caught_up) {
            (true, true) => self.chores.push(Errand::Shred(run.clone())),
            (true, false) => {
                self.unshredded.insert(run.clone());
            }
            (false, _) => {}
        }
    }
}

#[cfg(test)]
mod tests;
