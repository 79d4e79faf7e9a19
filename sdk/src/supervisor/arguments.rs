//! The supervisor's command line. Must never carry a secret: every user of the machine can read it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;

use super::config::Config;
use super::folder::LogFolder;
use super::listen::{Listen, ProvidedCertificate};

/// Maximum number of agents or coordinators of one local stack.
const CHILDREN_MAX: i64 = 256;

/// Runs nats-server, coordinators and agents for one local log.
///
/// Speaks JSON lines on stdout; ends on `stop` or end of file on stdin.
#[derive(Parser)]
#[command(name = "loadpilot-supervisor")]
struct Arguments {
    /// Use the first free folder log-1, log-2, … in this one.
    #[arg(long, conflicts_with = "log_dir", required_unless_present = "log_dir")]
    root: Option<PathBuf>,
    /// Use this folder and no other; exit with 5 when a running stack has it.
    #[arg(long)]
    log_dir: Option<PathBuf>,
    /// Path of nats-server.
    #[arg(long)]
    nats_server: PathBuf,
    #[arg(long, default_value_t = 0, value_parser = count())]
    agents: u32,
    #[arg(long, default_value_t = 0, value_parser = count())]
    coordinators: u32,
    /// Program and first arguments of an agent, as a JSON list.
    #[arg(long, value_parser = command, required_unless_present = "reader")]
    agent_command: Option<Command>,
    /// Program and first arguments of a coordinator, as a JSON list.
    #[arg(long, value_parser = command, required_unless_present = "reader")]
    coordinator_command: Option<Command>,
    /// Start the server only, to read an old log.
    #[arg(long, conflicts_with_all = ["agents", "coordinators"])]
    reader: bool,
    /// Listen for agents of other machines at HOST:PORT, with TLS and a token.
    #[arg(long, value_parser = Listen::parse, conflicts_with = "reader")]
    listen: Option<Listen>,
    /// Certificate for --listen instead of a generated one.
    #[arg(long, requires = "listen", requires = "listen_key")]
    listen_cert: Option<PathBuf>,
    /// Private key of --listen-cert.
    #[arg(long, requires = "listen_cert")]
    listen_key: Option<PathBuf>,
    /// Authority of --listen-cert.
    #[arg(long, requires = "listen_cert")]
    listen_cacert: Option<PathBuf>,
}

fn count() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=CHILDREN_MAX)
}

#[derive(Clone)]
struct Command(Vec<OsString>);

fn command(text: &str) -> Result<Command, String> {
    let words: Vec<String> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if words.is_empty() {
        return Err("a program is needed".to_owned());
    }
    Ok(Command(words.into_iter().map(OsString::from).collect()))
}

/// Reads the arguments that follow the program's name.
///
/// # Errors
/// clap's, ready to print: the mistake and the usage.
pub fn parse(argv: Vec<OsString>) -> Result<Config, clap::Error> {
    let program = OsString::from("loadpilot-supervisor");
    let arguments = Arguments::try_parse_from(std::iter::once(program).chain(argv))?;
    let log_folder = match (arguments.log_dir, arguments.root) {
        (Some(folder), _) => LogFolder::Exactly(folder),
        (None, Some(root)) => LogFolder::FirstFree(root),
        (None, None) => unreachable!("clap requires one of the two"),
    };
    let certificate = arguments.listen_cert.zip(arguments.listen_key);
    let cacert = arguments.listen_cacert;
    let certificate = certificate.map(|(cert, key)| ProvidedCertificate { cert, key, cacert });
    let words = |command: Option<Command>| command.map_or_else(Vec::new, |command| command.0);
    Ok(Config {
        log_folder,
        nats_server: arguments.nats_server,
        agents: arguments.agents,
        coordinators: arguments.coordinators,
        agent_command: words(arguments.agent_command),
        coordinator_command: words(arguments.coordinator_command),
        listen: arguments.listen.map(|listen| Listen {
            certificate,
            ..listen
        }),
    })
}
