"""The file of a gateway's keys: read strictly, replaced atomically, with one writer at a time.

Must never be read in part: a file with any mistake has no valid key.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...problem import Problem, Refused, one_of, rule
from .. import private_file
from ..private_file import is_open_to_others
from .key import NAME, NAME_RULE, TENANT, TENANT_RULE, Key, Role, parsed, written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERSION = 1
BYTES_MAX = 8 << 20
"""Maximum bytes of the file."""
FIELDS = ("id", "name", "tenant", "role", "created", "expires", "revoked", "sha256")
HEX = frozenset("0123456789abcdef")
ID_CHARS, SHA256_CHARS = 12, 64


def read_keys(file: Path) -> list[Key]:
    """Read all keys; raises Refused with every mistake, OSError."""
    place = str(file)
    with file.open("rb") as opened:
        if is_open_to_others(os.fstat(opened.fileno())):
            raise Refused([Problem(place, "must be readable by its owner only (chmod 600)")])
        content = opened.read(BYTES_MAX + 1)
    try:
        found = json.loads(content)
    except ValueError:
        raise Refused([Problem(place, "must be a file of `loadpilot keys`")]) from None
    is_known = isinstance(found, dict) and found.get("version") == VERSION
    if not is_known or set(found) != {"version", "keys"} or not isinstance(found["keys"], list):
        raise Refused([Problem(place, f"must be a file of `loadpilot keys`, version {VERSION}")])
    problems: list[Problem] = []
    keys = [_key(f"{place}: keys[{at}]", one, problems) for at, one in enumerate(found["keys"])]
    read = [one for one in keys if one is not None]
    if len({one.id for one in read}) < len(read):
        problems.append(Problem(place, "must have each id once"))
    if problems:
        raise Refused(problems)
    return read


@contextmanager
def changing(file: Path) -> Iterator[list[Key]]:
    """Lend the keys to one writer and store them at the end; raises Refused, OSError."""
    with private_file.locked(file):
        keys = read_keys(file)
        yield keys
        _replace(file, keys)


def create_file(file: Path, keys: list[Key]) -> None:
    """Create the file with its first keys; raises Refused where there is one, OSError."""
    with private_file.locked(file):
        if os.path.lexists(file):
            must = "must be a new file; `loadpilot keys create` adds a key to this one"
            raise Refused([rule("--file", must, str(file))])
        _replace(file, keys)


def _replace(file: Path, keys: list[Key]) -> None:
    text = json.dumps({"version": VERSION, "keys": [_fields(one) for one in keys]}, indent=2)
    private_file.replace(file, f"{text}\n")


def _fields(key: Key) -> dict[str, Any]:
    fields = {name: getattr(key, name) for name in FIELDS}
    for name in ("created", "expires", "revoked"):
        fields[name] = None if fields[name] is None else written(fields[name])
    return fields


def _key(place: str, entry: object, problems: list[Problem]) -> Key | None:
    """Read one key; None, with its mistakes, for an invalid one. No value of a hash is quoted."""
    if not isinstance(entry, dict) or set(entry) != set(FIELDS):
        problems.append(Problem(place, f"must have the members {', '.join(FIELDS)}"))
        return None
    before = len(problems)
    times: dict[str, int | None] = {}
    for name in ("created", "expires", "revoked"):
        try:
            is_absent = entry[name] is None and name != "created"
            times[name] = None if is_absent else parsed(str(entry[name]))
        except ValueError:
            must = "must be a time such as 2030-01-31T12:00:00Z"
            problems.append(rule(f"{place}.{name}", must, entry[name]))
    for name, length in (("id", ID_CHARS), ("sha256", SHA256_CHARS)):
        value = entry[name]
        if not isinstance(value, str) or len(value) != length or not HEX.issuperset(value):
            what = f"must be {length} hexadecimal digits"
            problems.append(Problem(f"{place}.{name}", what))
    for name, pattern, must in (("name", NAME, NAME_RULE), ("tenant", TENANT, TENANT_RULE)):
        if not isinstance(entry[name], str) or not pattern.fullmatch(entry[name]):
            problems.append(rule(f"{place}.{name}", must, entry[name]))
    if entry["role"] not in list(Role):
        problems.append(one_of(f"{place}.role", list(Role), entry["role"]))
    if len(problems) > before:
        return None
    return Key(
        entry["id"],
        entry["name"],
        entry["tenant"],
        Role(entry["role"]),
        times["created"] or 0,
        times["expires"],
        times["revoked"],
        entry["sha256"],
    )
