//! Effects of flags and variables, and their problems.

use super::*;

fn read(args: &[&str], token: Option<&str>) -> Result<Config, ConfigError> {
    let args = std::iter::once("coordinator").chain(args.iter().copied());
    let env = |name: &str| token.filter(|_| name == "NATS_TOKEN").map(str::to_owned);
    Config::read(args.map(str::to_owned), env)
}

fn fields(error: ConfigError) -> Vec<String> {
    match error {
        ConfigError::Values(problems) => problems.into_iter().map(|p| p.field).collect(),
        ConfigError::Usage(error) => panic!("parsed by clap: {error}"),
    }
}

/// Broken if a user who fixes one problem learns of the next one only then.
#[test]
fn all_problems_are_listed_at_once() {
    let args = [
        "--tenant",
        "A b",
        "--lost-after",
        "soon",
        "--ready-within",
        "0s",
        "--fence-after",
        "1h",
    ];
    let found = fields(read(&args, None).expect_err("four problems and no server"));
    let expected = [
        "--nats-url",
        "--lost-after",
        "--ready-within",
        "--fence-after",
        "tenant",
    ];
    assert_eq!(found, expected);
    let both = ["--connect", "x", "--nats-url", "nats://x"];
    assert_eq!(fields(read(&both, None).expect_err("both")), ["--connect"]);
}

/// Broken if a flag has no effect, such as a shared fleet that runs Python after all.
#[test]
fn flags_take_effect() {
    let args = [
        "--nats-url",
        "nats://localhost:1",
        "--compiled-only",
        "--allow-target",
        "169.254.8.0/24",
        "--nats-token",
        "mine",
    ];
    let config = read(&args, Some("s3cret")).expect("a sound configuration");
    assert!(config.settings.policy.compiled_only);
    let link_local = "169.254.8.1:80".parse().expect("an address");
    let judge = |config: &Config| config.settings.policy.targets.judge("a", link_local);
    assert!(judge(&config).is_ok());
    assert_eq!(config.bus.token.as_deref(), Some("mine"));
    let plain = read(&args[..2], None).expect("a sound configuration");
    assert!(!plain.is_check);
    assert!(!plain.settings.policy.compiled_only);
    assert!(judge(&plain).is_err());
    let none = ["--nats-url", "nats://localhost:1", "--creds", "/none"];
    assert_eq!(fields(read(&none, None).expect_err("no file")), ["--creds"]);
}

/// Broken if other machines of a network can read the token.
#[test]
fn an_unencrypted_token_is_refused_unless_the_user_insists() {
    let args = ["--nats-url", "nats://far:4222", "--insecure-nats"];
    let refused = read(&args[..2], Some("s3cret")).expect_err("off loopback and unencrypted");
    assert_eq!(fields(refused), ["--nats-url"]);
    assert!(read(&args, Some("s3cret")).is_ok());
    assert!(read(&args[..2], None).is_ok());
}

/// Broken if the token does not reach the connection, or reaches a text.
#[test]
fn the_token_comes_from_file_or_environment_and_is_not_shown() {
    let config = read(
        &[
            "--nats-url",
            "nats://localhost:1",
            "--lost-after",
            "3s",
            "--fence-after",
            "2s",
        ],
        Some("s3cret"),
    );
    let config = config.expect("a sound configuration");
    assert_eq!(config.bus.token.as_deref(), Some("s3cret"));
    assert_eq!(config.settings.policy.lost_us, 3_000_000);
    assert!(!format!("{config:?}").contains("s3cret"));

    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("stack.json");
    let json =
        r#"{"url":"nats://127.0.0.1:7","token":"s3cret","ctl_bytes":9,"replicas":3,"pid":1}"#;
    std::fs::write(&file, json).expect("a file");
    let path = file.to_str().expect("plain text");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |bits| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(bits));
        mode(0o644).expect("a mode");
        assert_eq!(
            fields(read(&["--connect", path], None).expect_err("open")),
            ["--connect"]
        );
        mode(0o600).expect("a mode");
    }
    let config = read(&["--connect", path], None).expect("a sound configuration");
    assert_eq!(config.bus.token.as_deref(), Some("s3cret"));
    let limits = config.bus.limits;
    assert_eq!(
        (config.bus.url.as_str(), limits.ctl_bytes, limits.replicas),
        ("nats://127.0.0.1:7", 9, 3)
    );
    let smaller = ["--connect", path, "--log-storage", "1GiB"];
    let limits = read(&smaller, None).expect("both may be given").bus.limits;
    assert_eq!((limits.total() >> 20, limits.replicas), (1023, 3));
    let none = r#"{"url":"nats://127.0.0.1:7","token":"s3cret","replicas":0}"#;
    std::fs::write(&file, none).expect("a file");
    let error = read(&["--connect", path], None).expect_err("no copy");
    assert!(error.to_string().contains("`replicas` of 1 to 5 (got 0)"));
    std::fs::write(&file, r#"{"token":"s3cret"}"#).expect("a file");
    let error = read(&["--connect", path], None).expect_err("no url");
    assert!(!format!("{error} {error:?}").contains("s3cret"));
}

/// Broken if a log is larger than the account that its operator named, or if a typing error leads
/// to the default size.
#[test]
fn the_storage_of_a_log_can_be_smaller() {
    let of = |size: &str| {
        read(
            &["--nats-url", "nats://localhost:1", "--log-storage", size],
            None,
        )
    };
    let total = of("1GiB").expect("a size").bus.limits.total();
    assert!(((1 << 30) - 4..=1 << 30).contains(&total), "{total}");
    for size in ["127MiB", "1", "GiB", "1TiB", "99999999999999GiB"] {
        assert_eq!(
            fields(of(size).expect_err(size)),
            ["--log-storage"],
            "{size}"
        );
    }
}
