"""``loadpilot admin ownership-token``: what a host publishes so that a tenant may load it.

Must never print the key.
"""

from __future__ import annotations

import json

from ..... import _native
from .....control.exit_code import ExitCode
from .....control.terminal import safe
from .....problem import Problem, rule
from ....output.refusal import refuse

OUTCOME = "no token was made"
PATH = "/.well-known/loadpilot"


def ownership_token(tenant: str, host: str, key_file: str | None) -> ExitCode:
    """Print the token on standard output, and where it belongs."""
    if key_file is None:
        return refuse([Problem("--key-file", "is needed")], OUTCOME)
    try:
        token = _native.ownership_token(key_file, tenant, host)
    except _native.Refused as refused:
        found = json.loads(refused.problems)
        problems = [rule(one["field"], one["rule"], one["value"]) for one in found]
        return refuse(problems, OUTCOME)
    print(token)
    print(f"\nPublish it as a line of {PATH} at the address that tenant {safe(tenant)} loads,")
    print("with status 200 and without a redirect; other lines may be there, too.")
    return ExitCode.PASSED
