"""The caller of a request: its name, its tenant, and its role there.

Must never hold a secret.
"""

from __future__ import annotations

from dataclasses import dataclass

from loadpilot.local.keys.key import Role


@dataclass(frozen=True, slots=True)
class Identity:
    """An authenticated caller."""

    user: str
    """The author of its requests."""
    tenant: str
    """The one tenant whose runs it sees."""
    role: Role = Role.ADMIN
    key: str | None = None
    """Id of its key; None for a caller without one."""
    expires: int | None = None
    """When the key ends, in seconds since 1970; None: never."""
    groups: frozenset[str] | None = None
    """Groups that the proxy named; None for a caller that was not admitted by a rule."""

    @property
    def scope(self) -> str:
        """The owner of Idempotency-Keys: tenants share names, and may share an account of NATS."""
        return f"{self.tenant}/{self.user}"


METRICS_READER = Identity("a reader of metrics", "", Role.VIEWER)
"""A caller that shows the token of metrics: it reads those of all tenants, and nothing else."""
