//! Subjects. They are built and parsed here and nowhere else.

use crate::id::{AgentId, OwnerId, RunId, TenantId};
use crate::refusal::Problem;

/// First token of every subject by default.
pub const DEFAULT_PREFIX: &str = "lp";

/// Tenant by default: a laptop has one.
pub const DEFAULT_TENANT: &str = "local";

/// Subjects of one tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjects {
    prefix: String,
    tenant: TenantId,
}

/// Parsed stored subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSubject {
    /// Tenant of the subject.
    pub tenant: TenantId,
    /// Run of the subject.
    pub run: RunId,
    /// Kind of the events there.
    pub kind: Kind,
}

/// Kind of the events on a stored subject of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Request events of users.
    Req,
    /// Decisions of coordinators.
    Ctl,
    /// Facts of one agent.
    Evt(AgentId),
    /// Deltas of one agent.
    Delta(AgentId),
}

impl Subjects {
    /// Subjects of `tenant` under `prefix`.
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

    /// First token of all subjects.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Tenant whose subjects these are.
    #[must_use]
    pub fn tenant(&self) -> &str {
        self.tenant.as_str()
    }

    /// Subjects of another tenant under the same prefix.
    #[must_use]
    pub fn of_tenant(&self, tenant: &TenantId) -> Self {
        Self {
            prefix: self.prefix.clone(),
            tenant: tenant.clone(),
        }
    }

    /// The subjects that stand for those of all tenants; for subscriptions only.
    fn of_all_tenants(&self) -> String {
        format!("{}.*", self.prefix)
    }

    /// Id of the tenant whose subjects these are.
    #[must_use]
    pub fn tenant_id(&self) -> &TenantId {
        &self.tenant
    }

    /// Tenant of any subject under the prefix; `None` for other subjects.
    #[must_use]
    pub fn tenant_of(&self, subject: &str) -> Option<TenantId> {
        let mut tokens = subject.split('.');
        let is_ours = tokens.next()? == self.prefix;
        let tenant = TenantId::parse(tokens.next()?).ok()?;
        is_ours.then_some(tenant)
    }

    /// Request events about one run.
    #[must_use]
    pub fn req(&self, run: &RunId) -> String {
        format!("{}.{}.run.{run}.req", self.prefix, self.tenant)
    }

    /// Decisions of coordinators about one run.
    #[must_use]
    pub fn ctl(&self, run: &RunId) -> String {
        format!("{}.{}.run.{run}.ctl", self.prefix, self.tenant)
    }

    /// Admission decisions of a shared fleet, whose home tenant this is.
    #[must_use]
    pub fn admission(&self) -> String {
        format!("{}.{}.adm", self.prefix, self.tenant)
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

    /// Request events about all runs of the tenant.
    #[must_use]
    pub fn req_of_all_runs(&self) -> String {
        format!("{}.{}.run.*.req", self.prefix, self.tenant)
    }

    /// Everything in LP_CTL about all runs of the tenant.
    #[must_use]
    pub fn control_of_all_runs(&self) -> Vec<String> {
        let base = format!("{}.{}.run.*", self.prefix, self.tenant);
        vec![
            self.req_of_all_runs(),
            format!("{base}.ctl"),
            format!("{base}.evt.*"),
        ]
    }

    /// Everything stored about all runs of the tenant, in both streams.
    #[must_use]
    pub fn everything_of_all_runs(&self) -> String {
        format!("{}.{}.run.>", self.prefix, self.tenant)
    }

    /// Everything in LP_CTL about all runs of all tenants.
    #[must_use]
    pub fn control_of_all_tenants(&self) -> Vec<String> {
        let base = format!("{}.run.*", self.of_all_tenants());
        let kinds = ["req", "ctl", "evt.*"];
        kinds.map(|kind| format!("{base}.{kind}")).to_vec()
    }

    /// Everything stored about one run, in both streams.
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

    /// Heartbeats of one agent.
    #[must_use]
    pub fn heartbeat(&self, agent: &AgentId) -> String {
        format!("{}.{}.hb.{agent}", self.prefix, self.tenant)
    }

    /// Heartbeats of an owner.
    #[must_use]
    pub fn owner_heartbeat(&self, owner: &OwnerId) -> String {
        format!("{}.{}.hb.{owner}", self.prefix, self.tenant)
    }

    /// Heartbeats of all agents and owners of the tenant.
    #[must_use]
    pub fn heartbeat_all(&self) -> String {
        format!("{}.{}.hb.*", self.prefix, self.tenant)
    }

    /// Heartbeats of all agents and of the owners of all tenants.
    #[must_use]
    pub fn heartbeat_of_all_tenants(&self) -> String {
        format!("{}.hb.*", self.of_all_tenants())
    }

    /// Requests for clock samples.
    #[must_use]
    pub fn clock(&self) -> String {
        format!("{}.{}.clock", self.prefix, self.tenant)
    }

    /// Requests for clock samples of all tenants, whose commands find a coordinator by them.
    #[must_use]
    pub fn clock_of_all_tenants(&self) -> String {
        format!("{}.clock", self.of_all_tenants())
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

    /// Handover of one run's secrets to one agent.
    #[must_use]
    pub fn secret(&self, run: &RunId, agent: &AgentId) -> String {
        format!("{}.{}.secret.{run}.{agent}", self.prefix, self.tenant)
    }

    /// Handover of one run's secrets by coordinators of earlier versions: it does not name the
    /// agent.
    #[must_use]
    pub fn secret_of_any_agent(&self, run: &RunId) -> String {
        format!("{}.{}.secret.{run}", self.prefix, self.tenant)
    }

    /// Handover of the secrets of all runs of the tenant.
    #[must_use]
    pub fn secret_all(&self) -> String {
        format!("{}.{}.secret.*.*", self.prefix, self.tenant)
    }

    /// Handover of the secrets of all runs of all tenants.
    #[must_use]
    pub fn secret_of_all_tenants(&self) -> String {
        format!("{}.secret.*.*", self.of_all_tenants())
    }

    /// Run and agent of a [`Subjects::secret`]; `None` for any other subject.
    #[must_use]
    pub fn secret_of(subject: &str) -> Option<(RunId, AgentId)> {
        let (before, agent) = subject.rsplit_once('.')?;
        let run = RunId::parse(Self::last_token(before)).ok()?;
        Some((run, AgentId::parse(agent).ok()?))
    }

    /// Key of one run's secrets in the key-value bucket.
    #[must_use]
    pub fn secret_key(&self, run: &RunId) -> String {
        format!("{}.secret.{run}", self.tenant)
    }

    /// Key without content: putting it shows whether the server stores anything.
    #[must_use]
    pub fn probe_key(&self, run: &RunId) -> String {
        format!("{}.probe.{run}", self.tenant)
    }

    /// Key of the secrets for the teardown of one run, in the key-value bucket.
    #[must_use]
    pub fn owed_key(&self, run: &RunId) -> String {
        format!("{}.owed.{run}", self.tenant)
    }

    /// Key, in the same bucket, of the setup state with this hash.
    #[must_use]
    pub fn owed_state_key(&self, run: &RunId, sha256: &str) -> String {
        format!("{}.{sha256}", self.owed_key(run))
    }

    /// Name of a body in the object store; it contains the tenant.
    #[must_use]
    pub fn object(&self, sha256: &str) -> String {
        format!("{}{sha256}", self.objects())
    }

    /// Common prefix of the names of all bodies of the tenant.
    #[must_use]
    pub fn objects(&self) -> String {
        format!("{}.{}.body.", self.prefix, self.tenant)
    }

    /// Last token of a core subject such as `….hb.<agent>` or `….live.<run>`.
    #[must_use]
    pub fn last_token(subject: &str) -> &str {
        subject.rsplit('.').next().unwrap_or(subject)
    }

    /// Parses a stored subject; `None` for any other subject.
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
