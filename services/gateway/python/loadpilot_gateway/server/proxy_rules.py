"""The file of rules that give the users and groups of a proxy a tenant and a role.

    [[rule]]
    user = "*@shop.example"
    tenant = "shop"
    role = "runner"

The first rule that fits decides. Must never give a role to a caller that no rule fits.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loadpilot.local.keys.key import TENANT, TENANT_RULE, Role
from loadpilot.problem import Problem, Refused, nearest, one_of, rule

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from pathlib import Path

FIELDS = ("user", "group", "tenant", "role")
PATTERN_CHARS_MAX = 128


@dataclass(frozen=True, slots=True)
class ProxyRule:
    """One rule; a caller has to fit both user and group where both are set."""

    user: re.Pattern[str] | None
    group: re.Pattern[str] | None
    tenant: str
    role: Role

    def fits(self, user: str, groups: AbstractSet[str]) -> bool:
        """Whether the rule is about a user in these groups."""
        if self.user is not None and not self.user.fullmatch(user):
            return False
        return self.group is None or any(self.group.fullmatch(one) for one in groups)


def read_rules(file: Path) -> tuple[ProxyRule, ...]:
    """Read the rules in their order; raises Refused with every mistake, OSError."""
    place = str(file)
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise Refused([Problem(place, f"must be TOML: {error}")]) from None
    problems = [unknown(place, name, ("rule",)) for name in found if name != "rule"]
    tables = found.get("rule", [])
    if not isinstance(tables, list):
        tables = []
        problems.append(Problem(f"{place}: rule", "must be tables [[rule]]"))
    read = [_rule(f"{place}: rule[{at}]", one, problems) for at, one in enumerate(tables)]
    if problems:
        raise Refused(problems)
    return tuple(one for one in read if one is not None)


def unknown(place: str, name: str, known: tuple[str, ...]) -> Problem:
    """Build the problem of an unknown key."""
    near = nearest(name, known)
    hint = f"; did you mean {near}?" if near else f"; known: {', '.join(known)}"
    return Problem(f"{place}: {name}", f"is not a key{hint}")


def _rule(place: str, table: Any, problems: list[Problem]) -> ProxyRule | None:
    if not isinstance(table, dict):
        problems.append(Problem(place, "must be a table"))
        return None
    before = len(problems)
    problems += [unknown(place, name, FIELDS) for name in table if name not in FIELDS]
    for name in ("user", "group"):
        value = table.get(name, "*")
        if not isinstance(value, str) or not 1 <= len(value) <= PATTERN_CHARS_MAX:
            must = f"must be 1 to {PATTERN_CHARS_MAX} characters, * for any"
            problems.append(rule(f"{place}.{name}", must, value))
    if "user" not in table and "group" not in table:
        problems.append(Problem(place, "must have a user, a group or both"))
    tenant = table.get("tenant")
    if not isinstance(tenant, str) or not TENANT.fullmatch(tenant):
        problems.append(rule(f"{place}.tenant", TENANT_RULE, tenant))
    if table.get("role") not in list(Role):
        problems.append(one_of(f"{place}.role", list(Role), table.get("role")))
    if len(problems) > before or not isinstance(tenant, str):
        return None
    patterns = [pattern(table[name]) if name in table else None for name in ("user", "group")]
    return ProxyRule(patterns[0], patterns[1], tenant, Role(table["role"]))


def pattern(text: str) -> re.Pattern[str]:
    """Compile a text in which * stands for any characters."""
    return re.compile(".*".join(re.escape(part) for part in re.split(r"\*+", text)), re.DOTALL)
