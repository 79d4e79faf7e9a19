//! Flags of another product's coordinator that scripts may still use, each with its replacement.
//! Such a flag is always an error: honouring some of them would do only half of what the script
//! needs.

use loadpilot_events::refusal::Problem;

/// Each flag, and the advice for it.
const REPLACEMENTS: [(&str, &str); 5] = [
    (
        "--local-agents",
        "`loadpilot run --agents N` starts agents of its own",
    ),
    (
        "--external-agents",
        "each run says how many: `loadpilot run --external-agents N`",
    ),
    (
        "--broker-addr",
        "name the NATS server with --nats-url; `loadpilot run --listen HOST:PORT` opens one",
    ),
    ("--serve", "take runs over HTTP with --http HOST:PORT"),
    (
        "--serve-agents",
        "each request says how many: {\"agents\": {\"want\": N}}",
    ),
];

/// A problem for each of these flags among `args`.
pub(crate) fn problems(args: &[String]) -> Vec<Problem> {
    let argument = |flag: &str| {
        args.iter()
            .find(|word| word.split('=').next() == Some(flag))
    };
    let problem = |(flag, advice): &(&str, &str)| {
        let rule = format!("has no meaning here: {advice}");
        argument(flag).map(|word| Problem::new(*flag, rule, word))
    };
    REPLACEMENTS.iter().filter_map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if such a flag is only reported as unknown, or is confused with another flag that
    /// begins with the same letters.
    #[test]
    fn each_flag_is_reported_with_its_replacement() {
        let args = [
            "coordinator",
            "--serve-agents=2",
            "--broker-addr",
            "127.0.0.1:4222",
        ];
        let found = problems(&args.map(str::to_owned));
        let fields: Vec<&str> = found.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, ["--broker-addr", "--serve-agents"]);
        assert!(found[0].rule.contains("--nats-url"));
        let ours = [
            "coordinator",
            "--nats-url",
            "nats://x",
            "--http",
            "127.0.0.1:8080",
        ];
        assert_eq!(problems(&ours.map(str::to_owned)), []);
    }
}
