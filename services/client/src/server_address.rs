//! Address and credentials of a NATS server, and how a command line connects: to its own stack or
//! to a fleet.
//!
//! On a fleet's server the client creates no stream before a coordinator has answered.

use bytes::Bytes;
use loadpilot_bus::{Account, Bus, Fault, Options, Reach, RequestError, Stream, without_userinfo};
use loadpilot_events::refusal::Problem;
use loadpilot_events::wire::subject::Subjects;
use serde::Serialize;

use super::session::Session;
use super::session::session_error::{COORDINATOR_TIMEOUT, SessionError};

pub use super::session::session_error::NoFleet;

/// Server, credentials and subjects of a log.
#[derive(Debug, Clone)]
pub struct ServerAddress {
    /// Address and credentials, first token of all subjects, size limits of the streams.
    pub options: Options,
    /// Tenant of the runs.
    pub tenant: String,
}

impl ServerAddress {
    /// The address without user and password, for messages.
    #[must_use]
    pub fn shown(&self) -> String {
        without_userinfo(&self.options.url)
    }

    async fn connect(&self) -> Result<(Bus, Subjects), SessionError> {
        let subjects = Subjects::new(&self.options.prefix, &self.tenant)?;
        let options = Options {
            reach: Reach::Within(subjects.everything_of_all_runs()),
            ..self.options.clone()
        };
        match Bus::connect(&options).await {
            Ok(bus) => Ok((bus, subjects)),
            Err(Fault::Unauthorized { url }) => Err(self.unauthorized(url).into()),
            Err(fault) => Err(fault.into()),
        }
    }

    fn unauthorized(&self, url: String) -> NoFleet {
        let options = &self.options;
        let what = if options.creds.is_some() {
            "these credentials"
        } else if options.token.is_some() || options.token_file.is_some() {
            "this token"
        } else if options.url.contains('@') {
            "the user of the address"
        } else {
            return NoFleet::Unknown { url };
        };
        NoFleet::Unauthorized { url, what }
    }

    /// Requests a clock sample, which every coordinator answers.
    async fn check_coordinator(&self, bus: &Bus, subjects: &Subjects) -> Result<(), SessionError> {
        let answer = bus
            .request(&subjects.clock(), Bytes::new(), COORDINATOR_TIMEOUT)
            .await;
        let url = self.shown();
        match answer {
            Ok(_) => Ok(()),
            Err(RequestError::NoResponders { .. }) => {
                // Without JetStream there is no coordinator either; that fault is more specific.
                bus.flush().await?;
                let tenant = self.tenant.clone();
                let is_default = tenant == loadpilot_events::wire::subject::DEFAULT_TENANT;
                let flag = match is_default {
                    true => String::new(),
                    false => format!(" --tenant {tenant}"),
                };
                Err(NoFleet::NoCoordinator { url, tenant, flag }.into())
            }
            Err(RequestError::TimedOut { .. }) => Err(NoFleet::Silent { url }.into()),
            Err(RequestError::Fault(fault)) => Err(fault.into()),
        }
    }
}

/// The limits and the use of a server's account, as [`read_account`] finds them.
#[derive(Debug, Clone, Serialize)]
pub struct AccountReport {
    /// Limits and use.
    #[serde(flatten)]
    pub account: Option<Account>,
    /// Number of connections now, this one included; `None` if the server does not report it.
    pub connections: Option<u64>,
    /// All limits in one line.
    pub shown: Option<String>,
    /// The limits that do not suffice for large fleets.
    pub warnings: Vec<String>,
    /// Why a log does not fit; `None` if it fits or exists.
    pub shortage: Option<String>,
}

/// Reads the limits and the use of a server's account, with or without a log in it. Creates
/// nothing.
///
/// # Errors
/// When the server cannot be reached or has no JetStream.
pub async fn read_account(address: &ServerAddress) -> Result<AccountReport, SessionError> {
    let (bus, _) = address.connect().await?;
    let account = bus.account().await?;
    let shortage = match bus.check_room().await {
        Err(fault @ Fault::Shortage { .. }) => Some(fault.to_string()),
        // A user without permission to read the state of the streams does not create them either.
        _ => None,
    };
    Ok(AccountReport {
        shown: account.as_ref().map(ToString::to_string),
        warnings: account.as_ref().map(Account::warnings).unwrap_or_default(),
        account,
        connections: bus.connections().await,
        shortage,
    })
}

impl Session {
    /// Connects to the caller's own stack and opens its log, creating it if it is absent.
    ///
    /// # Errors
    /// When the server cannot be reached or its log is not as required.
    pub async fn open(address: &ServerAddress) -> Result<Self, SessionError> {
        let (bus, subjects) = address.connect().await?;
        bus.open_log().await?;
        Ok(Self::on(bus, subjects))
    }

    /// Connects to the log of a fleet that can take runs.
    ///
    /// # Errors
    /// [`NoFleet`] when no coordinator answers; or as [`Session::open`].
    pub async fn join(address: &ServerAddress) -> Result<Self, SessionError> {
        let (bus, subjects) = address.connect().await?;
        address.check_coordinator(&bus, &subjects).await?;
        bus.open_log().await?;
        Ok(Self::on(bus, subjects))
    }

    /// Connects to a fleet without its log, which may be gone: a kill switch needs none.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub async fn reach(address: &ServerAddress) -> Result<Self, SessionError> {
        let (bus, subjects) = address.connect().await?;
        Ok(Self::on(bus, subjects))
    }

    /// Connects to the log of a fleet to read it, with or without a coordinator.
    ///
    /// # Errors
    /// When the server cannot be reached or holds no log.
    pub async fn visit(address: &ServerAddress) -> Result<Self, SessionError> {
        let (bus, subjects) = address.connect().await?;
        // Without JetStream there are no streams either; that fault is more specific.
        bus.flush().await?;
        match bus.head(Stream::Ctl).await {
            Ok(_) => Ok(Self::on(bus, subjects)),
            Err(Fault::Missing { .. }) => {
                let rule = "must be that of a fleet: it holds no log of runs";
                Err(Problem::new("--nats-url", rule, address.shown()).into())
            }
            Err(fault) => Err(fault.into()),
        }
    }
}
