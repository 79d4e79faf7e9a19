//! Figures of streamed answers, from the times of their tokens.

use loadpilot_events::answers::streams::StreamReport;
use loadpilot_events::log::delta::Phase;

use crate::report::figures::percentiles::ladders;
use crate::tally::aggregates::AnatomySums;

/// Figures of streamed answers; `None` without any.
#[must_use]
pub(crate) fn streams(sums: &AnatomySums) -> Option<StreamReport> {
    let mut ladders = ladders(sums);
    let first_token = ladders.remove(&Phase::FirstToken)?;
    let token_gap = ladders.remove(&Phase::TokenGap);
    let gaps = token_gap.as_ref().map_or(0, |gap| gap.count);
    Some(StreamReport {
        tokens: first_token.count.saturating_add(gaps),
        first_token: Some(first_token),
        first_token_service: ladders.remove(&Phase::FirstTokenService),
        token_gap,
    })
}
