//! Texts of users whose tasks read answers: names of calls and metrics, and errors. Records refer
//! to them by number. Each text is stored once, behind the records of its ring, before the first
//! record that refers to it.
//!
//! An entry is a check value (4 bytes, written last), the length of the text (2), its kind (1), the
//! part that raised it (1), task (2), number (2), the text, and zeroes up to a multiple of 4. Must
//! never grow beyond its room: a text that does not fit gets no number.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use loadpilot_events::plan::script::{CallName, RaisedBy};

use super::event::TEXTS_MAX;
use crate::crash::mmap_file::{Map, check};

const HEAD_BYTES: usize = 12;
const CALL: u8 = 1;
const METRIC: u8 = 2;
const RAISED: u8 = 3;

/// The parts that may raise an error; the index is their number in an entry.
const RAISED_BY: [RaisedBy; 3] = [RaisedBy::Check, RaisedBy::Task, RaisedBy::Blocking];

/// The texts that a thread has written.
#[derive(Debug)]
pub(super) struct TextWriter {
    /// Offset of the next entry, and the end of their room.
    next_at: usize,
    end: usize,
    /// Numbers used for metrics and errors so far.
    count: u16,
    calls: BTreeSet<u16>,
    /// `None`: there was no room.
    metrics: BTreeMap<Arc<str>, Option<u16>>,
    raised: BTreeMap<(u16, RaisedBy, String), Option<u16>>,
}

impl TextWriter {
    pub(super) fn new(at: usize, end: usize) -> Self {
        Self {
            next_at: at,
            end,
            count: 0,
            calls: BTreeSet::new(),
            metrics: BTreeMap::new(),
            raised: BTreeMap::new(),
        }
    }

    /// Stores the name of a call, if that was not done before. Without room, the reader counts the
    /// call with the other calls of its task.
    pub(super) fn call(&mut self, map: &Map, name: &CallName) {
        if !self.calls.contains(&name.call) {
            self.calls.insert(name.call);
            self.write(map, [CALL, 0], name.task, name.call, &name.name);
        }
    }

    /// The number of a metric's name; `None` when there is no room.
    pub(super) fn metric(&mut self, map: &Map, name: &Arc<str>) -> Option<u16> {
        if let Some(known) = self.metrics.get(name) {
            return *known;
        }
        let number = self.number(map, [METRIC, 0], 0, name);
        self.metrics.insert(Arc::clone(name), number);
        number
    }

    /// The number of an error's text; `None` when there is no room.
    pub(super) fn raised(
        &mut self,
        map: &Map,
        (task, by): (u16, RaisedBy),
        text: &str,
    ) -> Option<u16> {
        let key = (task, by, text.to_owned());
        if let Some(known) = self.raised.get(&key) {
            return *known;
        }
        let place = RAISED_BY.iter().position(|known| *known == by)?;
        let kind = [RAISED, u8::try_from(place).ok()?];
        let number = self.number(map, kind, task, text);
        self.raised.insert(key, number);
        number
    }

    fn number(&mut self, map: &Map, kind: [u8; 2], task: u16, text: &str) -> Option<u16> {
        let number = self.count;
        let fits = number < TEXTS_MAX && self.write(map, kind, task, number, text);
        self.count += u16::from(fits);
        fits.then_some(number)
    }

    /// Writes an entry, if it fits.
    fn write(
        &mut self,
        map: &Map,
        [kind, by]: [u8; 2],
        task: u16,
        number: u16,
        text: &str,
    ) -> bool {
        let Ok(len) = u16::try_from(text.len()) else {
            return false;
        };
        let at = self.next_at;
        let bytes = entry_bytes(text.len());
        if bytes > self.end.saturating_sub(at) {
            return false;
        }
        let mut entry = Vec::with_capacity(bytes);
        entry.extend_from_slice(&len.to_le_bytes());
        entry.extend_from_slice(&[kind, by]);
        entry.extend_from_slice(&task.to_le_bytes());
        entry.extend_from_slice(&number.to_le_bytes());
        entry.extend_from_slice(text.as_bytes());
        map.write(at + 4, &entry);
        map.store_u32(at, check(at as u64, &entry));
        self.next_at += bytes;
        true
    }
}

/// The texts of a ring, as they are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RingTexts {
    /// Names of calls by their numbers.
    pub calls: BTreeMap<u16, CallName>,
    /// Names of metrics by their numbers.
    pub metrics: BTreeMap<u16, Arc<str>>,
    /// Errors by number: the task, the part of it that raised, and the text.
    pub raised: BTreeMap<u16, (u16, RaisedBy, String)>,
}

impl RingTexts {
    /// Reads entries from `at` on, up to the first incomplete one.
    pub(super) fn read(bytes: &[u8], mut at: usize) -> Self {
        let mut texts = Self::default();
        while let Some(len) = texts.take(bytes, at) {
            at += entry_bytes(len);
        }
        texts
    }

    /// Reads the entry at a position; returns the length of its text.
    fn take(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        let head: &[u8; HEAD_BYTES] = bytes.get(at..)?.first_chunk()?;
        let [c0, c1, c2, c3, l0, l1, kind, by, t0, t1, n0, n1] = *head;
        let len = usize::from(u16::from_le_bytes([l0, l1]));
        let entry = bytes.get(at + 4..at + HEAD_BYTES + len)?;
        if u32::from_le_bytes([c0, c1, c2, c3]) != check(at as u64, entry) {
            return None;
        }
        let text = std::str::from_utf8(&entry[HEAD_BYTES - 4..]).ok()?;
        let (task, number) = (u16::from_le_bytes([t0, t1]), u16::from_le_bytes([n0, n1]));
        match kind {
            CALL => {
                let name = CallName {
                    call: number,
                    task,
                    name: text.to_owned(),
                };
                self.calls.insert(number, name);
            }
            METRIC => {
                self.metrics.insert(number, Arc::from(text));
            }
            RAISED => {
                let by = *RAISED_BY.get(usize::from(by))?;
                self.raised.insert(number, (task, by, text.to_owned()));
            }
            _ => return None,
        }
        Some(len)
    }
}

fn entry_bytes(text: usize) -> usize {
    (HEAD_BYTES + text).next_multiple_of(4)
}
