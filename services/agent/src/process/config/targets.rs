//! Where this agent may connect to: what flags or environment open.

use loadpilot_engine::check::target_policy::TargetPolicy;

use super::{Flags, Problems, World};

/// Says what is open when no flag does.
const VARIABLE: &str = "AGENT_ALLOW_TARGET";

pub(super) fn read(flags: &Flags, world: &World<'_>, desk: &mut Problems) -> TargetPolicy {
    let policy = || match flags.local_stack {
        true => TargetPolicy::local(),
        false => TargetPolicy::fleet(),
    };
    let from_env = (world.env)(VARIABLE).unwrap_or_default();
    let allowed = match flags.allow_target.is_empty() {
        // What a flag says goes before all of the environment.
        false => policy().allow(
            "allow-target",
            flags.allow_target.iter().map(String::as_str),
        ),
        true => {
            let words = from_env.split([',', ' ']).filter(|word| !word.is_empty());
            policy().allow(VARIABLE, words)
        }
    };
    match allowed {
        Ok(policy) => followed(policy),
        Err(problems) => {
            desk.problems.extend(problems);
            policy()
        }
    }
}

/// Opens the folders that links stand for, too: sockets are judged by their real path.
fn followed(policy: TargetPolicy) -> TargetPolicy {
    let real = policy
        .folders()
        .filter_map(|folder| folder.canonicalize().ok());
    let real: Vec<_> = real.collect();
    real.into_iter().fold(policy, TargetPolicy::with_folder)
}
