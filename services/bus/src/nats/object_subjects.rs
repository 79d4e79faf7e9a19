//! The subjects of objects: those of NATS' own object stores, and those that contain their tenant.
//!
//! NATS encodes the name of an object in one token and gives its parts a random token, so that no
//! server can restrict a user to some objects. An object that a confined user puts is therefore
//! stored under its name without encoding, and each of its parts has a subject of its own, from
//! which it can be read (ADR 0062).

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE;

use super::Nats;
use crate::Fault;

/// Subjects of the parts of one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Parts {
    /// All parts under one subject.
    Together(String),
    /// Each part under this subject and its number, from 0.
    Numbered(String),
}

impl Parts {
    /// Subject of the part with this number.
    pub(super) fn subject(&self, number: u64) -> String {
        match self {
            Parts::Together(subject) => subject.clone(),
            Parts::Numbered(before) => format!("{before}.{number}"),
        }
    }

    /// Pattern of the subjects of all parts.
    pub(super) fn all(&self) -> String {
        match self {
            Parts::Together(subject) => subject.clone(),
            Parts::Numbered(before) => format!("{before}.*"),
        }
    }
}

impl Nats {
    /// Subject of the description of an object that this user puts.
    pub(super) fn description_of(&self, name: &str) -> String {
        match self.within {
            Some(_) => self.open_description_of(name),
            None => self.encoded_description_of(name),
        }
    }

    /// Subjects under which the description of an object with this name may be stored.
    pub(super) fn descriptions_of(&self, name: &str) -> Vec<String> {
        match self.within {
            Some(_) => vec![self.open_description_of(name)],
            None => vec![
                self.encoded_description_of(name),
                self.open_description_of(name),
            ],
        }
    }

    /// Parts of the object whose description has this subject. A description that names anything
    /// but a token would select parts of other objects.
    pub(super) fn parts_of(&self, description: &str, nuid: &str) -> Result<Parts, Fault> {
        let is_token = !nuid.is_empty() && nuid.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_token {
            return Err(Fault::Broken {
                name: description.to_owned(),
                why: "its parts have no usable name".to_owned(),
            });
        }
        let store = &self.options.names.objects;
        Ok(match self.open_name(description) {
            Some(name) => Parts::Numbered(format!("$O.{store}.C.{name}.{nuid}")),
            None => Parts::Together(format!("$O.{store}.C.{nuid}")),
        })
    }

    /// The parts to which a subject of a part belongs.
    pub(super) fn parts_with(&self, subject: String) -> Parts {
        let before = format!("$O.{}.C.", self.options.names.objects);
        let rest = subject.strip_prefix(&before).unwrap_or_default();
        match subject.rsplit_once('.') {
            Some((all, _number)) if rest.contains('.') => Parts::Numbered(all.to_owned()),
            _ => Parts::Together(subject),
        }
    }

    /// The name in the subject of a description, if it is not encoded there: such names contain a
    /// dot.
    pub(super) fn open_name<'a>(&self, description: &'a str) -> Option<&'a str> {
        let before = format!("$O.{}.M.", self.options.names.objects);
        let name = description.strip_prefix(&before)?;
        name.contains('.').then_some(name)
    }

    fn encoded_description_of(&self, name: &str) -> String {
        let encoded = BASE64_URL_SAFE.encode(name);
        format!("$O.{}.M.{encoded}", self.options.names.objects)
    }

    fn open_description_of(&self, name: &str) -> String {
        format!("$O.{}.M.{name}", self.options.names.objects)
    }
}
