//! Objects in memory. A put is one assignment, so that it never leaves parts behind.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::Memory;
use crate::Fault;

/// Size in bytes of an object's description, roughly as on a real server.
const DESCRIPTION_BYTES: u64 = 512;

impl Memory {
    pub(crate) async fn object_put(&self, name: &str, content: Bytes) -> Result<(), Fault> {
        self.connection.must_be_up()?;
        let options = &self.server.options;
        let mut state = self.state();
        // The new object replaces the old one only when it is complete: both need room.
        let stored = state.objects.values();
        let taken: u64 = stored
            .map(|(object, _)| object.len() as u64 + DESCRIPTION_BYTES)
            .sum();
        if taken + content.len() as u64 + DESCRIPTION_BYTES > options.limits.object_bytes {
            let asset = format!("OBJ_{}", options.names.objects);
            return Err(Fault::Full { asset });
        }
        let object = (content, Instant::now());
        state.objects.insert(name.to_owned(), object);
        Ok(())
    }

    pub(crate) async fn object_bytes(&self, name: &str) -> Result<Option<u64>, Fault> {
        self.connection.must_be_up()?;
        let state = self.state();
        let found = state.objects.get(name);
        Ok(found.map(|(object, _)| object.len() as u64))
    }

    pub(crate) async fn object_touch(&self, name: &str) -> Result<Option<u64>, Fault> {
        self.connection.must_be_up()?;
        let mut state = self.state();
        Ok(state.objects.get_mut(name).map(|(object, stored_at)| {
            *stored_at = Instant::now();
            object.len() as u64
        }))
    }

    pub(crate) async fn object_get(
        &self,
        name: &str,
        bytes_max: u64,
    ) -> Result<Option<Bytes>, Fault> {
        self.connection.must_be_up()?;
        let found = self.state().objects.get(name).cloned();
        match found.map(|(object, _)| object) {
            Some(object) if object.len() as u64 > bytes_max => Err(Fault::Broken {
                name: name.to_owned(),
                why: format!(
                    "it has {} bytes, {bytes_max} at most were expected",
                    object.len()
                ),
            }),
            found => Ok(found),
        }
    }

    pub(crate) async fn object_retain(
        &self,
        prefix: &str,
        keep: &BTreeSet<String>,
        leftovers_after: Duration,
    ) -> Result<u64, Fault> {
        self.connection.must_be_up()?;
        let mut state = self.state();
        let before = state.objects.len();
        state.objects.retain(|name, (_, stored_at)| {
            !name.starts_with(prefix)
                || keep.contains(name)
                || stored_at.elapsed() < leftovers_after
        });
        Ok((before - state.objects.len()) as u64)
    }
}
