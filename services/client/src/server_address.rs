//! Where a log is, and how a command line gets to it: its own stack's, or that of a fleet.
//!
//! Must never create anything on a server that others keep before it knows that a fleet is there.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use loadpilot_bus::{Bus, Fault, Limits, Options, RequestError, Stream, without_userinfo};
use loadpilot_events::refusal::Problem;
use loadpilot_events::wire::subject::Subjects;

use super::session::{Session, SessionError};

/// How long a coordinator may take to answer.
const COORDINATOR_WITHIN: Duration = Duration::from_secs(3);

/// Where a log is and whose subjects are used.
#[derive(Debug, Clone)]
pub struct ServerAddress {
    /// `nats://host:port`.
    pub url: String,
    /// What the server asks for, if it does.
    pub token: Option<String>,
    /// A credentials file instead of a token.
    pub creds: Option<PathBuf>,
    /// Certificates to trust instead of those of this machine.
    pub cacert: Option<PathBuf>,
    /// Whose runs.
    pub tenant: String,
    /// The first token of all subjects.
    pub prefix: String,
    /// How large the streams are made when they do not exist yet.
    pub limits: Limits,
}

/// Why there is nobody to ask for a run.
#[derive(Debug, thiserror::Error)]
pub enum NoFleet {
    /// The server wants to know who this is.
    #[error(
        "NATS at {url} wants to know who you are: give its token in env NATS_TOKEN, or --creds FILE"
    )]
    Unknown {
        /// The address, without user and password.
        url: String,
    },
    /// The server does not believe who this is.
    #[error("NATS at {url} does not accept {what}")]
    Unauthorized {
        /// The address, without user and password.
        url: String,
        /// What was shown.
        what: &'static str,
    },
    /// No coordinator of the tenant is there.
    #[error(
        "no coordinator listens at {url} for the tenant {tenant}; start one: \
         loadpilot coordinator --nats-url {url}{flag}"
    )]
    NoCoordinator {
        /// The address, without user and password.
        url: String,
        /// Whose runs.
        tenant: String,
        /// What else to say to it.
        flag: String,
    },
    /// There is a coordinator, and it says nothing.
    #[error("the coordinator at {url} does not answer within {} s", COORDINATOR_WITHIN.as_secs())]
    Silent {
        /// The address, without user and password.
        url: String,
    },
}

impl ServerAddress {
    /// The address, fit for messages.
    #[must_use]
    pub fn shown(&self) -> String {
        without_userinfo(&self.url)
    }

    async fn connect(&self) -> Result<(Bus, Subjects), SessionError> {
        let subjects = Subjects::new(&self.prefix, &self.tenant)?;
        let options = Options {
            token: self.token.clone(),
            creds: self.creds.clone(),
            cacert: self.cacert.clone(),
            name: "loadpilot".to_owned(),
            prefix: self.prefix.clone(),
            limits: self.limits,
            ..Options::new(&self.url)
        };
        match Bus::connect(&options).await {
            Ok(bus) => Ok((bus, subjects)),
            Err(Fault::Unauthorized { url }) => Err(self.unauthorized(url).into()),
            Err(fault) => Err(fault.into()),
        }
    }

    fn unauthorized(&self, url: String) -> NoFleet {
        let what = match (&self.creds, &self.token) {
            (Some(_), _) => "these credentials",
            (None, Some(_)) => "this token",
            (None, None) if self.url.contains('@') => "the user of the address",
            (None, None) => return NoFleet::Unknown { url },
        };
        NoFleet::Unauthorized { url, what }
    }

    /// Asks for the time, which every coordinator tells.
    async fn meet(&self, bus: &Bus, subjects: &Subjects) -> Result<(), SessionError> {
        let asked = bus
            .request(&subjects.clock(), Bytes::new(), COORDINATOR_WITHIN)
            .await;
        let url = self.shown();
        match asked {
            Ok(_) => Ok(()),
            Err(RequestError::NoResponders { .. }) => {
                // A server that cannot hold a log has no coordinator: its JetStream is asked.
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

impl Session {
    /// Connects and opens the log of a stack of one's own, creating it if it is not there.
    ///
    /// # Errors
    /// When the server cannot be reached or its log is not as required.
    pub async fn open(address: &ServerAddress) -> Result<Self, SessionError> {
        let (bus, subjects) = address.connect().await?;
        bus.open_log().await?;
        Ok(Self::on(bus, subjects))
    }

    /// Connects to the log of a fleet that can be asked for runs.
    ///
    /// # Errors
    /// [`NoFleet`] when nobody would hear; or as [`Session::open`].
    pub async fn join(address: &ServerAddress) -> Result<Self, SessionError> {
        let (bus, subjects) = address.connect().await?;
        address.meet(&bus, &subjects).await?;
        bus.open_log().await?;
        Ok(Self::on(bus, subjects))
    }

    /// Connects to the log of a fleet to read what it holds, whoever is there.
    ///
    /// # Errors
    /// When the server cannot be reached or holds no log.
    pub async fn visit(address: &ServerAddress) -> Result<Self, SessionError> {
        let (bus, subjects) = address.connect().await?;
        // A server without JetStream has no streams either: the first is what to be told of.
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
