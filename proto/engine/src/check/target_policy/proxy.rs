//! Whether agents may connect through a proxy: only where their operator says so.
//!
//! An agent sees the proxy's address only, so that a proxy leads around the target policy.

use loadpilot_events::plan::Plan;
use loadpilot_events::refusal::Problem;

use super::TargetPolicy;

impl TargetPolicy {
    /// Allows plans with a proxy, whose own address is judged as any other.
    #[must_use]
    pub fn with_proxies(mut self) -> Self {
        self.allows_proxies = true;
        self
    }

    /// Whether a plan has no proxy, or proxies are allowed.
    ///
    /// # Errors
    /// The field of the plan, and what allows proxies.
    pub fn judge_proxy(&self, plan: &Plan) -> Result<(), Problem> {
        match &plan.connections.proxy {
            Some(proxy) if !self.allows_proxies => {
                let rule = "not allowed: behind a proxy this agent judges no address \
                            (--allow-proxy allows proxies)";
                Err(Problem::new("connections.proxy", rule, &proxy.url))
            }
            _ => Ok(()),
        }
    }
}
