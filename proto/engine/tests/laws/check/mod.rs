//! Checking plans: every refusal, and the addresses that calls may reach.

mod base_path;
mod changes;
mod closed_loop;
mod hang_up;
mod hold;
pub(crate) mod plan;
mod proxies;
mod redirects;
mod requests;
mod target_policy;
mod targets;
mod tenant_targets;
