//! The targets that flags or environment allow this agent to connect to.

use loadpilot_engine::check::target_policy::TargetPolicy;
use loadpilot_events::refusal::Problem;

/// Variable that is read when no flag allows a target.
pub(super) const VARIABLE: &str = "AGENT_ALLOW_TARGET";

/// Variable that is read when no flag allows proxies.
pub(super) const PROXY_VARIABLE: &str = "AGENT_ALLOW_PROXY";

/// Whether the environment allows proxies.
///
/// # Errors
/// A value other than true or false.
pub(super) fn allows_proxies(from_env: Option<String>) -> Result<bool, Problem> {
    match from_env.as_deref().unwrap_or_default().trim() {
        "true" => Ok(true),
        "" | "false" => Ok(false),
        other => Err(Problem::new(PROXY_VARIABLE, "must be true or false", other)),
    }
}

/// Policy of flags and environment on top of `base`.
///
/// # Errors
/// All problems of the values.
pub(super) fn read(
    base: TargetPolicy,
    flags: &[String],
    from_env: &str,
) -> Result<TargetPolicy, Vec<Problem>> {
    let policy = match flags.is_empty() {
        // Flags take precedence over the environment.
        false => base.allow("allow-target", flags.iter().map(String::as_str)),
        true => {
            let words = from_env.split([',', ' ']).filter(|word| !word.is_empty());
            base.allow(VARIABLE, words)
        }
    };
    policy.map(followed)
}

/// Also allows the folders that allowed links lead to: sockets are judged by their real path.
fn followed(policy: TargetPolicy) -> TargetPolicy {
    let real = policy
        .folders()
        .filter_map(|folder| folder.canonicalize().ok());
    let real: Vec<_> = real.collect();
    real.into_iter().fold(policy, TargetPolicy::with_folder)
}
