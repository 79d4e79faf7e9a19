//! A crowd of light agents for measurements: each speaks the real protocol on a connection of its
//! own and sends real deltas, of calls that are never made. `./dev bench scale` starts it against a
//! real server and a real coordinator.
//!
//!     crowd agents COUNT         takes part in one run and prints the times of its deltas
//!     crowd run COUNT SECS       requests that run, follows and folds it, and prints its figures
//!     crowd laws COUNT           measures the laws for that number of agents, without a server
//!
//! NATS_URL and NATS_TOKEN name the server; the result is printed as one line of JSON. It must
//! never be part of the product.

mod follow;
mod laws;
mod light_agent;
mod plan;
mod rows;
mod spread;

use std::error::Error;
use std::process::ExitCode;

use loadpilot_bus::{Bus, Options};
use loadpilot_events::wire::subject::{DEFAULT_PREFIX, DEFAULT_TENANT, Subjects};
use serde_json::Value;
use tokio::runtime::Builder;

/// An error that prevents the measurement.
type Trouble = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = Builder::new_current_thread().enable_all().build();
    let found = runtime.map_err(Trouble::from).and_then(|runtime| {
        runtime.block_on(async {
            match words[..] {
                ["agents", count] => light_agent::crowd(count.parse()?).await,
                ["run", count, secs] => follow::run(count.parse()?, secs.parse()?).await,
                ["laws", count] => laws::laws(count.parse()?),
                _ => Err("usage: crowd agents COUNT | run COUNT SECS | laws COUNT".into()),
            }
        })
    });
    match found {
        Ok(found) => {
            say(&found);
            ExitCode::SUCCESS
        }
        Err(trouble) => {
            eprintln!("crowd: {trouble}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a line for the parent process.
fn say(found: &Value) {
    println!("{found}");
}

/// Opens a new connection.
async fn connect(name: &str) -> Result<Bus, Trouble> {
    let options = Options {
        token: std::env::var("NATS_TOKEN").ok(),
        name: name.to_owned(),
        ..Options::new(std::env::var("NATS_URL")?)
    };
    Ok(Bus::connect(&options).await?)
}

fn subjects() -> Result<Subjects, Trouble> {
    Ok(Subjects::new(DEFAULT_PREFIX, DEFAULT_TENANT)?)
}
