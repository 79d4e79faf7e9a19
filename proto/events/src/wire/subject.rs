//! Subjects. They are built and taken apart here and nowhere else.

use crate::id::{AgentId, OwnerId, RunId, TenantId};
use crate::refusal::Problem;

/// The default first token of every subject.
pub const DEFAULT_PREFIX: &str = "lp";

/// The default tenant: a laptop has one.
pub const DEFAULT_TENANT: &str = "local";

/// The subjects of one tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjects {
    prefix: String,
    tenant: TenantId,
}

/// A stored subject, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSubject {
    /// Whose.
    pub tenant: TenantId,
    /// Which run.
    pub run: RunId,
    /// What stands there.
    pub kind: Kind,
}

/// What stands on a stored subject of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Requests of users.
    Req,
    /// Decisions of coordinators.
    Ctl,
    /// Facts of one agent.
    Evt(AgentId),
    /// Deltas of one agent.
    Delta(AgentId),
}

impl Subjects {
    /// The subjects of `tenant` under `prefix`.
    ///
    /// # Errors
    /// When either is not a token.
    pub fn new(prefix: &str, tenant: &str) -> Result<Self, Problem> {
        AgentId::parse(prefix).map_err(|p| Problem {
            field: "prefix".to_owned(),
            ..p
        })?;
        Ok(Self {
            prefix: prefix.to_owned(),
            tenant: TenantId::parse(tenant)?,
        })
    }

    /// Requests of users about one run.
    #[must_use]
    pub fn req(&self, run: &RunId) -> String {
        format!("{}.{}.run.{run}.req", self.prefix, self.tenant)
    }

    /// Decisions of coordinators about one run.
    #[must_use]
    pub fn ctl(&self, run: &RunId) -> String {
        format!("{}.{}.run.{run}.ctl", self.prefix, self.tenant)
    }

    /// Facts of one agent about one run.
    #[must_use]
    pub fn evt(&self, run: &RunId, agent: &AgentId) -> String {
        format!("{}.{}.run.{run}.evt.{agent}", self.prefix, self.tenant)
    }

    /// Facts of all agents about one run.
    #[must_use]
    pub fn evt_all(&self, run: &RunId) -> String {
        format!("{}.{}.run.{run}.evt.*", self.prefix, self.tenant)
    }

    /// Deltas of one agent about one run.
    #[must_use]
    pub fn delta(&self, run: &RunId, agent: &AgentId) -> String {
        format!("{}.{}.run.{run}.delta.{agent}", self.prefix, self.tenant)
    }

    /// Deltas of all agents about one run.
    #[must_use]
    pub fn delta_all(&self, run: &RunId) -> String {
        format!("{}.{}.run.{run}.delta.*", self.prefix, self.tenant)
    }

    /// Every request about any run of the tenant.
    #[must_use]
    pub fn req_of_all_runs(&self) -> String {
        format!("{}.{}.run.*.req", self.prefix, self.tenant)
    }

    /// Everything stored in LP_CTL about all runs of the tenant.
    #[must_use]
    pub fn control_of_all_runs(&self) -> Vec<String> {
        let base = format!("{}.{}.run.*", self.prefix, self.tenant);
        vec![
            self.req_of_all_runs(),
            format!("{base}.ctl"),
            format!("{base}.evt.*"),
        ]
    }

    /// Everything stored about one run, in either stream.
    #[must_use]
    pub fn everything_of(&self, run: &RunId) -> String {
        format!("{}.{}.run.{run}.>", self.prefix, self.tenant)
    }

    /// New decisions about one run, on core NATS.
    #[must_use]
    pub fn live(&self, run: &RunId) -> String {
        format!("{}.{}.live.{run}", self.prefix, self.tenant)
    }

    /// New decisions about all runs of the tenant, on core NATS.
    #[must_use]
    pub fn live_all(&self) -> String {
        format!("{}.{}.live.*", self.prefix, self.tenant)
    }

    /// Signs of life of one agent.
    #[must_use]
    pub fn heartbeat(&self, agent: &AgentId) -> String {
        format!("{}.{}.hb.{agent}", self.prefix, self.tenant)
    }

    /// Signs of life of an owner.
    #[must_use]
    pub fn owner_heartbeat(&self, owner: &OwnerId) -> String {
        format!("{}.{}.hb.{owner}", self.prefix, self.tenant)
    }

    /// Signs of life of everybody in the tenant.
    #[must_use]
    pub fn heartbeat_all(&self) -> String {
        format!("{}.{}.hb.*", self.prefix, self.tenant)
    }

    /// Clock samples on request.
    #[must_use]
    pub fn clock(&self) -> String {
        format!("{}.{}.clock", self.prefix, self.tenant)
    }

    /// The kill switch of one run: agents obey it without a coordinator.
    #[must_use]
    pub fn halt(&self, run: &RunId) -> String {
        format!("{}.{}.halt.{run}", self.prefix, self.tenant)
    }

    /// The kill switches of all runs of the tenant.
    #[must_use]
    pub fn halt_all(&self) -> String {
        format!("{}.{}.halt.*", self.prefix, self.tenant)
    }

    /// The hand-over of one run's secrets to one agent.
    #[must_use]
    pub fn secret(&self, run: &RunId, agent: &AgentId) -> String {
        format!("{}.{}.secret.{run}.{agent}", self.prefix, self.tenant)
    }

    /// The same where coordinators of before answer: it does not name the agent.
    #[must_use]
    pub fn secret_of_anyone(&self, run: &RunId) -> String {
        format!("{}.{}.secret.{run}", self.prefix, self.tenant)
    }

    /// The hand-over of the secrets of all runs of the tenant.
    #[must_use]
    pub fn secret_all(&self) -> String {
        format!("{}.{}.secret.*.*", self.prefix, self.tenant)
    }

    /// The run and the agent of a [`Subjects::secret`]; `None` when it is not one.
    #[must_use]
    pub fn secret_of(subject: &str) -> Option<(RunId, AgentId)> {
        let (before, agent) = subject.rsplit_once('.')?;
        let run = RunId::parse(Self::last_token(before)).ok()?;
        Some((run, AgentId::parse(agent).ok()?))
    }

    /// The key of one run's secrets in the key-value bucket.
    #[must_use]
    pub fn secret_key(&self, run: &RunId) -> String {
        format!("{}.secret.{run}", self.tenant)
    }

    /// A key that holds nothing: it is put to see whether the server stores anything.
    #[must_use]
    pub fn probe_key(&self, run: &RunId) -> String {
        format!("{}.probe.{run}", self.tenant)
    }

    /// The key of the secrets that the teardown of one run needs, in the key-value bucket.
    #[must_use]
    pub fn owed_key(&self, run: &RunId) -> String {
        format!("{}.owed.{run}", self.tenant)
    }

    /// There, the key of what its setup left under this hash.
    #[must_use]
    pub fn owed_state_key(&self, run: &RunId, sha256: &str) -> String {
        format!("{}.{sha256}", self.owed_key(run))
    }

    /// The name of a body in the object store; a tenant never reads another's.
    #[must_use]
    pub fn object(&self, sha256: &str) -> String {
        format!("{}{sha256}", self.objects())
    }

    /// What the names of all bodies of the tenant begin with.
    #[must_use]
    pub fn objects(&self) -> String {
        format!("{}.{}.body.", self.prefix, self.tenant)
    }

    /// The last token of a core subject such as `….hb.<agent>` or `….live.<run>`.
    #[must_use]
    pub fn last_token(subject: &str) -> &str {
        subject.rsplit('.').next().unwrap_or(subject)
    }

    /// Takes a stored subject apart; `None` when it is not one of ours.
    #[must_use]
    pub fn parse(&self, subject: &str) -> Option<RunSubject> {
        let mut tokens = subject.split('.');
        if tokens.next()? != self.prefix {
            return None;
        }
        let tenant = TenantId::parse(tokens.next()?).ok()?;
        if tokens.next()? != "run" {
            return None;
        }
        let run = RunId::parse(tokens.next()?).ok()?;
        let kind = match (tokens.next()?, tokens.next()) {
            ("req", None) => Kind::Req,
            ("ctl", None) => Kind::Ctl,
            ("evt", Some(agent)) => Kind::Evt(AgentId::parse(agent).ok()?),
            ("delta", Some(agent)) => Kind::Delta(AgentId::parse(agent).ok()?),
            _ => return None,
        };
        tokens
            .next()
            .is_none()
            .then_some(RunSubject { tenant, run, kind })
    }
}
