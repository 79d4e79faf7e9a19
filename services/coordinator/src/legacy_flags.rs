//! Flags of a coordinator of another make, which scripts may still say: what does their work here.
//! Must never act on one: half of what such a script wants would be done.

use loadpilot_events::refusal::Problem;

/// Each flag, and what to say instead.
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
    let said = |flag: &str| {
        let of = |word: &&String| word.split('=').next() == Some(flag);
        args.iter().find(of)
    };
    let problem = |(flag, instead): &(&str, &str)| {
        let rule = format!("has no meaning here: {instead}");
        said(flag).map(|word| Problem::new(*flag, rule, word))
    };
    REPLACEMENTS.iter().filter_map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Broken if somebody who comes with a script of his own is told only that a flag is unknown,
    /// or if one flag is taken for another that begins with it.
    #[test]
    fn each_flag_is_answered_with_what_does_its_work() {
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
