//! A run as far as it was read: the input of the figures for systems of metrics.

use loadpilot_events::answers::report::Report;

use crate::control::Control;
use crate::fold::gauge_windows::NewestWindows;
use crate::fold::project::Projection;

/// A run as far as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Folded<'a> {
    /// The control side.
    pub control: &'a Control,
    /// The data side.
    pub data: &'a Projection,
    /// The newest window of each process.
    pub newest: &'a NewestWindows,
    /// The report of both sides; its series are not used.
    pub report: &'a Report,
}
