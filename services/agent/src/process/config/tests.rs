//! The door: what is taken, what is refused, and that nothing secret shows.

use super::*;

fn read(args: &[&str], env: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let args = std::iter::once("loadpilot-agent").chain(args.iter().copied());
    let find = |name: &str| {
        let found = env.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let world = World {
        env: &find,
        host: "Build-7.example".to_owned(),
        processors: 4,
        fds: 1_024,
        has_python: true,
    };
    Config::read(args.map(str::to_owned), &world)
}

/// The defaults are promises of the handbook.
#[test]
fn defaults_follow_the_machine() {
    let config = read(&["--nats-url", "nats://one:4222"], &[]).expect("enough is given");
    assert_eq!(config.cores, 4);
    assert_eq!(config.capacity, Rate::per_second(200_000));
    assert_eq!(config.max_in_flight, 924, "1,024 file descriptors less 100");
    assert!(config.id.as_str().starts_with("build-7-example-"));
    assert_eq!(config.timeouts, Timeouts::default());
    assert_eq!(config.nats.token, None);
    assert_eq!(config.rings, None, "no rings without a folder");
}

/// Calls of the open tick go where the flag says, else the environment, with a limit by name.
#[test]
fn the_state_directory_is_named_and_bounded() {
    let args = ["--nats-url", "nats://one", "--state-dir", "/flag"];
    let env = [("AGENT_STATE_DIR", "/env")];
    let place = |folder: &str, mib: u64| {
        Some(RingSettings {
            folder: PathBuf::from(folder),
            bytes_max: mib << 20,
        })
    };
    let rings = |args: &[&str], env| read(args, env).expect("enough is given").rings;
    assert_eq!(rings(&args[..2], &env), place("/env", 8));
    assert_eq!(rings(&args, &env), place("/flag", 8));
    let more = [&args[..], &["--ring-mib", "64"]].concat();
    assert_eq!(rings(&more, &[]), place("/flag", 64));
    let wrong = [&args[..2], &["--ring-mib", "0", "--state-dir", "/dev/null"]].concat();
    let refused = read(&wrong, &[]).expect_err("no room at all").to_string();
    assert!(
        refused.contains("ring-mib: must be a whole number"),
        "{refused}"
    );
    let wrong = [&args[..2], &["--state-dir", "/dev/null"]].concat();
    let refused = read(&wrong, &[]).expect_err("no folder").to_string();
    assert!(
        refused.contains("state-dir: must be a directory"),
        "{refused}"
    );
}

/// Broken if the folders of files of rows are taken from elsewhere, or a misspelt one is ignored.
#[test]
fn the_folders_of_rows_are_named_and_exist() {
    let args = [
        "--nats-url",
        "nats://one",
        "--feeds",
        "/",
        "--feeds",
        "/tmp",
    ];
    let env = [("AGENT_FEEDS", "/usr:/")];
    let feeds = |args: &[&str]| read(args, &env).expect("enough is given").feeds;
    assert_eq!(feeds(&args[..2]), ["/usr", "/"].map(PathBuf::from));
    assert_eq!(feeds(&args), ["/", "/tmp"].map(PathBuf::from));
    let wrong = ["--nats-url", "nats://one", "--feeds", "/dev/null"];
    let refused = read(&wrong, &[]).expect_err("no folder").to_string();
    assert!(refused.contains("feeds: must be a directory"), "{refused}");
}

/// Flags win over the environment.
#[test]
fn the_environment_fills_in() {
    let env = [
        ("NATS_URL", "tls://env"),
        ("NATS_TOKEN", "hunter2"),
        ("AGENT_ID", "a-1"),
    ];
    let config = read(&[], &env).expect("the environment is enough");
    assert_eq!(
        (config.nats.url.as_str(), config.id.as_str()),
        ("tls://env", "a-1")
    );
    assert_eq!(config.nats.token.as_deref(), Some("hunter2"));
    assert!(!format!("{config:?}").contains("hunter2"));
    let args = [
        "--id",
        "b-2",
        "--cores",
        "2",
        "--capacity",
        "3000/m",
        "--fence",
        "500ms",
    ];
    let config = read(&args, &env).expect("flags win");
    assert_eq!((config.id.as_str(), config.cores), ("b-2", 2));
    assert_eq!(config.capacity, Rate::per_second(50));
    assert_eq!(config.timeouts.fence, Duration::from_millis(500));
    assert!(read(&["--token", "x"], &env).is_err());
}

/// Broken if an agent of a run's own stack waits for others at its end, or the time of an operator
/// is not taken.
#[test]
fn the_time_to_hand_over_is_of_the_flag_else_of_the_environment() {
    let env = [("NATS_URL", "nats://one"), ("AGENT_HAND_OVER", "5s")];
    let secs = |args: &[&str]| {
        let config = read(args, &env).expect("enough is given");
        config.timeouts.hand_over.as_secs()
    };
    assert_eq!(secs(&[]), 5);
    assert_eq!(secs(&["--hand-over", "7s"]), 7);
    assert_eq!(secs(&["--local-stack"]), 0);
    assert_eq!(secs(&["--local-stack", "--hand-over", "7s"]), 7);
    let wrong = [env[0], ("AGENT_HAND_OVER", "soon")];
    let refused = read(&[], &wrong).expect_err("no duration").to_string();
    assert!(refused.contains("hand-over: "), "{refused}");
}

/// Broken if an operator must start the agent once per mistake to see all of them.
#[test]
fn every_mistake_is_named_at_once() {
    let args = [
        "--id",
        "Not A Token",
        "--capacity",
        "fast",
        "--cores",
        "0",
        "--tenant",
        "a.b",
        "--max-in-flight",
        "-1",
        "--fence",
        "soon",
    ];
    let args: Vec<String> = args.chunks(2).map(|pair| pair.join("=")).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let Err(ConfigError::Values(refusal)) = read(&args, &[]) else {
        panic!("everything is wrong");
    };
    let fields: Vec<&str> = refusal.problems.iter().map(|p| p.field.as_str()).collect();
    let expected = [
        "nats-url",
        "id",
        "tenant",
        "cores",
        "capacity",
        "max-in-flight",
        "fence",
    ];
    assert_eq!(fields, expected);
}

/// A stack file that others can read has given its token away; what it holds is never quoted.
#[cfg(unix)]
#[test]
fn stack_files_must_be_private_and_are_not_quoted() {
    use std::os::unix::fs::PermissionsExt as _;
    let name = format!("loadpilot-agent-config-{}.json", std::process::id());
    let path = std::env::temp_dir().join(name);
    let shown = path.to_str().expect("a plain path").to_owned();
    let write = |text: &str, mode| {
        std::fs::write(&path, text).expect("a place for temporary files");
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, mode).expect("our own file");
    };
    write(
        r#"{"url":"nats://127.0.0.1:1","token":"hunter2","more":1}"#,
        0o600,
    );
    let config = read(&["--connect", &shown], &[]).expect("a private file");
    assert_eq!(config.nats.token.as_deref(), Some("hunter2"));
    for (text, mode) in [
        (r#"{"url":"u","token":"hunter2"}"#, 0o644),
        ("{\"hunter2", 0o600),
    ] {
        write(text, mode);
        let error = read(&["--connect", &shown], &[]).expect_err("not usable");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    std::fs::remove_file(&path).expect("our own file");
    assert!(read(&["--connect", &shown], &[]).is_err(), "no file");
}

/// Broken if the variables of another fleet are not understood, or if the environment overrides a
/// flag.
#[test]
fn the_server_is_named_in_either_way() {
    let server = |args: &[&str], env: &[(&str, &str)]| read(args, env).expect("enough").nats;
    let other = server(&["--coordinator", "ci:4222", "--agent-id", "a-7"], &[]);
    assert_eq!(other.url, "nats://ci:4222");
    let env = [("COORDINATOR", "ci:4222"), ("NATS_TOKEN", "hunter2")];
    let exposed = read(&[], &env)
        .expect_err("a token in the clear")
        .to_string();
    assert!(exposed.contains("must be tls://"), "{exposed}");
    assert!(!exposed.contains("hunter2"), "{exposed}");
    let other = server(&["--insecure-nats"], &env);
    assert_eq!(
        (other.url.as_str(), other.token.as_deref()),
        ("nats://ci:4222", Some("hunter2"))
    );
    let args = ["--nats-url", "tls://one", "--nats-token", "mine"];
    let said = server(&args, &env);
    assert_eq!(
        (said.url.as_str(), said.token.as_deref()),
        ("tls://one", Some("mine"))
    );
    assert!(!format!("{said:?}").contains("mine"));
    let both = [&args[..], &["--creds", "/dev/null"]].concat();
    assert!(matches!(read(&both, &[]), Err(ConfigError::Flags(_))));
    let refused = read(&["--nats-url", "nats://one", "--creds", "/none"], &[]);
    let refused = refused.expect_err("no file").to_string();
    assert!(
        refused.contains("creds: must be a credentials file"),
        "{refused}"
    );
}

/// An agent that says it runs Python and cannot would be given runs that fail on it.
#[test]
fn what_an_agent_has_is_what_it_can_do() {
    let server = ["--nats-url", "nats://one"];
    let with = |more: &[&str]| read(&[&server[..], more].concat(), &[]);
    let config = with(&["--label", "zone=eu", "--label", "gpu=no"]).expect("labels");
    let labels: Vec<&str> = config.labels.iter().map(Capability::as_str).collect();
    assert_eq!(labels, ["gpu=no", "zone=eu"]);
    assert!(config.python);
    assert!(!with(&["--no-python"]).expect("less than it can").python);
    let refused = with(&["--label", "python"]).expect_err("a label is a pair");
    assert!(
        refused.to_string().contains("label: must be key=value"),
        "{refused}"
    );

    let args = ["loadpilot-agent", "--nats-url", "nats://one", "--python"];
    let plain = World {
        env: &|_| None,
        host: "one".to_owned(),
        processors: 1,
        fds: 1_024,
        has_python: false,
    };
    let refused = Config::read(args.map(str::to_owned).into_iter(), &plain);
    let refused = refused.expect_err("it has none").to_string();
    assert!(refused.contains("`loadpilot agent` has"), "{refused}");
}

/// Broken if a check of the configuration starts an agent, or leaves a liveness file.
#[test]
fn a_check_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("alive");
    let file = file.to_str().expect("plain text");
    let args = ["--nats-url", "nats://one:4222", "--alive-file", file];
    let config = read(&[&args[..], &["--check-config"]].concat(), &[]).expect("it is sound");
    assert!(config.is_check);
    assert_eq!(
        config.alive_file.as_deref(),
        Some(std::path::Path::new(file))
    );
    assert!(!std::path::Path::new(file).exists());
    assert!(!read(&args, &[]).expect("it is sound").is_check);
    let nowhere = [
        "--nats-url",
        "nats://one:4222",
        "--alive-file",
        "/none/alive",
    ];
    let refused = read(&nowhere, &[]).expect_err("no such folder").to_string();
    assert!(refused.contains("alive-file"), "{refused}");
}

/// An agent that serves others is shut in unless its operator says otherwise, in a flag or else in
/// the environment of its container; and nothing opens its own server.
#[test]
fn what_it_may_connect_to_is_said_by_its_operator() {
    let args = ["--nats-url", "nats://log.example:4222"];
    let env = [("AGENT_ALLOW_TARGET", "10.0.0.0/8,target")];
    let is_open = |config: &Config, host: &str, peer: &str| {
        let peer = peer.parse().expect("an address");
        config.targets.judge(host, peer).is_ok()
    };
    let with = |more: &[&str], env: &[(&str, &str)]| {
        read(&[&args[..], more].concat(), env).expect("enough is given")
    };
    let closed = with(&[], &[]);
    assert!(!is_open(&closed, "target", "10.0.0.1:80") && is_open(&closed, "a", "1.1.1.1:80"));
    let by_env = with(&[], &env);
    assert!(is_open(&by_env, "a", "10.0.0.1:80") && is_open(&by_env, "target", "127.0.0.1:80"));
    assert!(!is_open(&by_env, "log.example", "10.0.0.1:4222"));
    let by_flag = with(&["--allow-target", "::1"], &env);
    assert!(is_open(&by_flag, "a", "[::1]:80") && !is_open(&by_flag, "a", "10.0.0.1:80"));
    let through = |config: &Config| {
        let proxy = r#"{"url": "http://1.1.1.1:80"}"#;
        let text = format!(
            r#"{{"schema": "loadpilot.plan/1", "scenario": "S", "target": "http://a",
            "profile": {{"shape": "constant", "pieces": []}}, "tasks": [], "warm_up_us": 0,
            "timeout_us": 1, "max_wait_us": 1, "max_lateness_us": 1, "tick_us": 1,
            "connections": {{"proxy": {proxy}}}}}"#
        );
        let plan = serde_json::from_str(&text).expect("a plan");
        config.targets.judge_proxy(&plan).is_ok()
    };
    assert!(!through(&closed) && !through(&with(&["--local-stack"], &[])));
    assert!(through(&with(&["--allow-proxy"], &env)));
    assert!(through(&with(&[], &[("AGENT_ALLOW_PROXY", "true")])));
    assert!(read(&args, &[("AGENT_ALLOW_PROXY", "yes")]).is_err());
    let local = with(&["--local-stack"], &[]);
    assert!(is_open(&local, "a", "127.0.0.1:80") && !is_open(&local, "a", "169.254.1.1:80"));
    let wrong = [&args[..], &["--allow-target", "10.0.0.1/8"]].concat();
    let refused = read(&wrong, &[])
        .expect_err("bits beside the network")
        .to_string();
    assert!(
        refused.contains("allow-target: must be a network"),
        "{refused}"
    );
}
