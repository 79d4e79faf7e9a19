//! What of a plan is refused, and where its calls may go.

mod base_path;
mod hang_up;
mod plan;
mod target_policy;
