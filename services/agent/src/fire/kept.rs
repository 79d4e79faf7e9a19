//! An answer that somebody wants to read: its head and its body, kept as they come.
//!
//! Must never grow beyond its limit, whatever a target sends.

/// Most bytes of a body that are kept.
pub(crate) const KEPT_BYTES_MAX: usize = 64 << 20;

/// The final head and the body of one answer.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub head: Vec<u8>,
    pub body: Vec<u8>,
    /// Whether the body was longer than is kept.
    pub is_cut: bool,
}

impl Kept {
    /// More of the body.
    pub(crate) fn data(&mut self, bytes: &[u8]) {
        let room = KEPT_BYTES_MAX - self.body.len();
        self.is_cut |= bytes.len() > room;
        self.body.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }
}
