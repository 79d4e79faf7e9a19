//! Captures an answer that a task reads: its head and its body, as they arrive.
//!
//! Each body has a size limit, and a second limit holds for all bodies of the process together.

use std::sync::atomic::AtomicUsize;

use loadpilot_script::operation::{Counted, reserve};

/// Maximum bytes of a body.
const BODY_BYTES_MAX: usize = 64 << 20;

/// Bytes of bodies held now.
static TOTAL: AtomicUsize = AtomicUsize::new(0);

/// The final head and the body of one answer.
#[derive(Debug, Default)]
pub(crate) struct ResponseCapture {
    pub head: Vec<u8>,
    pub body: Vec<u8>,
    /// Part of the total that the body takes.
    pub counted: Counted,
    /// Why the body is not complete.
    pub cut: Option<&'static str>,
}

impl ResponseCapture {
    /// Adds bytes of the body; once truncated, the body stays as it is.
    pub(crate) fn data(&mut self, bytes: &[u8]) {
        self.add(bytes, &TOTAL);
    }

    fn add(&mut self, bytes: &[u8], total: &'static AtomicUsize) {
        if self.cut.is_none() {
            self.cut = self.reserve(bytes.len(), total).err();
        }
        if self.cut.is_none() {
            self.body.extend_from_slice(bytes);
        }
    }

    fn reserve(&mut self, bytes: usize, total: &'static AtomicUsize) -> Result<(), &'static str> {
        if self.body.len() + bytes > BODY_BYTES_MAX {
            return Err("the answer is longer than 64 MiB, more than a task can read");
        }
        reserve(total, bytes)?;
        self.counted.add(total, bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use loadpilot_script::operation::BODIES_BYTES_MAX;

    use super::*;

    /// Broken if a target that answers many users with large bodies fills the memory, or if the
    /// room of released bodies is not returned.
    #[test]
    fn all_together_stay_within_their_limit() {
        static SUM: AtomicUsize = AtomicUsize::new(BODIES_BYTES_MAX - 100);
        let held = || SUM.load(Ordering::Relaxed) + 100 - BODIES_BYTES_MAX;
        let (mut one, mut other) = (ResponseCapture::default(), ResponseCapture::default());
        one.add(&[1; 60], &SUM);
        other.add(&[2; 41], &SUM);
        assert!(other.cut.is_some_and(|why| why.contains("512 MiB")));
        other.add(&[2; 40], &SUM);
        assert!(other.body.is_empty(), "a body with a hole");
        assert_eq!((one.body.len(), held()), (60, 60));
        let read = one.counted;
        assert_eq!(held(), 60, "a task still reads it");
        drop(read);
        assert_eq!(held(), 0);
        let mut next = ResponseCapture::default();
        next.add(&[3; 100], &SUM);
        assert_eq!((next.body.len(), next.cut, held()), (100, None, 100));
    }
}
