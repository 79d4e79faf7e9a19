"""The role that each route needs. A request that changes something and is not listed needs admin.

Must never allow more than the first row that fits a path.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

from loadpilot.local.keys.key import Role

from ..problem import ApiError, Code

if TYPE_CHECKING:
    from .identity import Identity

READING = frozenset({"GET", "HEAD", "OPTIONS"})
V1 = "/api/v1"
ROUTES = (
    ("GET", f"{V1}/keys", Role.ADMIN),
    ("POST", f"{V1}/plans/check", Role.VIEWER),
    ("POST", f"{V1}/plans/adjust", Role.VIEWER),
    ("POST", f"{V1}/runs/{{run}}/verdict", Role.VIEWER),
    ("POST", f"{V1}/runs", Role.RUNNER),
    ("POST", f"{V1}/scenarios/plan", Role.RUNNER),
    ("POST", f"{V1}/runs/{{run}}/annotations", Role.RUNNER),
    ("POST", f"{V1}/runs/{{run}}/rate", Role.RUNNER),
    ("POST", f"{V1}/runs/{{run}}/halt", Role.ADMIN),
    ("POST", f"{V1}/runs/{{run}}/{{wish}}", Role.RUNNER),
)
"""Routes that need another role than a viewer's for reading or an admin's for anything else."""
PATTERNS = tuple(
    (method, re.compile(re.sub(r"{\w+}", "[^/]+", path)), role) for method, path, role in ROUTES
)


def needed(method: str, path: str) -> Role:
    """Find the role that a request needs."""
    for one, pattern, role in PATTERNS:
        if one == method and pattern.fullmatch(path):
            return role
    return Role.VIEWER if method in READING else Role.ADMIN


def permit(identity: Identity, method: str, path: str) -> None:
    """Raise ApiError (403), which names the role, if the caller's role does not suffice."""
    role = needed(method, path)
    if identity.role.includes(role):
        return
    detail = f"needs the role {role.value}; the caller has {identity.role.value}"
    wrong = [{"field": "role", "rule": f"must be {role.value}", "value": identity.role.value}]
    raise ApiError(HTTPStatus.FORBIDDEN, Code.FORBIDDEN, detail, wrong)
