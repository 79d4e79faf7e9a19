"""Which scenarios of the named files run: one, or several together as user types with shares.

Several run together if each has a share, by ``@scenario(share=…)`` or ``--share NAME=INT``. A share
of 0 leaves a scenario out; beside others that have one, a scenario without a share is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..dsl import spec_of
from ..problem import Problem, Refused, nearest, rule
from .load import choose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .load import Loaded

SHARE_MAX = 1_000_000
"""Maximum share of a user type."""
FLAG = "--share"
SHARE_RULE = f"must be a whole number from 0 to {SHARE_MAX}"


@dataclass(frozen=True, slots=True)
class UserType:
    """A scenario, and its share in a mix."""

    loaded: Loaded
    cls: type
    share: int
    share_place: str
    """Place of the share: its flag, or file and line."""

    @property
    def name(self) -> str:
        """The name of the type: that of its class."""
        return self.cls.__name__

    @property
    def at(self) -> str:
        """File and line of the class."""
        return place_of(self.loaded, self.cls)


def place_of(loaded: Loaded, cls: type) -> str:
    """Return file and line of a scenario."""
    return loaded.file.at(loaded.file.class_line(cls.__name__))


def chosen(
    files: Sequence[Loaded], scenario: str | None, shares: Mapping[str, str]
) -> list[UserType]:
    """Return the scenarios that run; raises :class:`Refused` with all problems.

    ``scenario`` is that of ``--scenario``, ``shares`` are those of ``--share`` as text.
    """
    if scenario is not None:
        if shares:
            what = "is for scenarios that run together, and --scenario chooses one; drop one"
            raise Refused([Problem(FLAG, what)])
        return [_alone(_file_of(files, scenario), scenario)]
    stems = [Path(loaded.file.path).stem for loaded in files]
    for place, loaded in enumerate(files):
        if stems[place] in stems[:place]:
            what = "has the name of an earlier file; rename one, as with two modules of a program"
            raise Refused([Problem(loaded.file.shown, what)])
    every = [(loaded, cls) for loaded in files for cls in loaded.scenarios.values()]
    if not shares and (len(every) == 1 or not any(_has_share(cls) for _, cls in every)):
        if len(files) > 1:
            names = ", ".join(cls.__name__ for _, cls in every)
            what = "scenarios of several files run together, and need shares"
            raise Refused(
                [Problem(FLAG, f"{what}: set @scenario(share=…), or the flag, of {names}")]
            )
        return [_alone(files[0], None)]
    return _together(every, shares)


def _alone(loaded: Loaded, name: str | None) -> UserType:
    cls = choose(loaded, name)
    return UserType(loaded, cls, 1, place_of(loaded, cls))


def _file_of(files: Sequence[Loaded], scenario: str) -> Loaded:
    """Return the file that defines a scenario, or the first one."""
    return next((loaded for loaded in files if scenario in loaded.scenarios), files[0])


def _has_share(cls: type) -> bool:
    spec = spec_of(cls)
    return spec is not None and "share" in spec.arguments


def _together(every: list[tuple[Loaded, type]], shares: Mapping[str, str]) -> list[UserType]:
    """Return the scenarios that have a share above 0."""
    problems = []
    names = [cls.__name__ for _, cls in every]
    for name in shares:
        if name not in names:
            near = nearest(name, names)
            hint = f"did you mean {near!r}? " if near else ""
            what = f"unknown scenario {name!r}; {hint}known: {', '.join(names)}"
            problems.append(Problem(FLAG, what))
    types: list[UserType] = []
    for loaded, cls in every:
        name, at = cls.__name__, place_of(loaded, cls)
        earlier = next((one.at for one in types if one.name == name), None)
        if earlier is not None:
            what = f"scenario {name} has the name of that of {earlier}; rename one"
            problems.append(Problem(at, what))
        place, value = _share(cls, shares, at)
        if value is None:
            what = (
                f"scenario {name} has no share, and others have: set share= (0 leaves it out), or "
                f"{FLAG} {name}=INT; --scenario runs one alone"
            )
            problems.append(Problem(at, what))
            continue
        share = _whole(value)
        if share is None:
            problems.append(rule(place, SHARE_RULE, value))
            continue
        types.append(UserType(loaded, cls, share, place))
    if problems:
        raise Refused(problems)
    types = [one for one in types if one.share > 0]
    if not types:
        raise Refused([Problem(FLAG, "must leave a scenario: all shares are 0")])
    return types


def _share(cls: type, shares: Mapping[str, str], at: str) -> tuple[str, object]:
    """Return the place and the value of a share; None for none."""
    if cls.__name__ in shares:
        return f"{FLAG} {cls.__name__}", shares[cls.__name__]
    spec = spec_of(cls)
    return f"{at}: share", spec.arguments.get("share") if spec is not None else None


def _whole(value: object) -> int | None:
    """Read a share; None for an invalid one."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) <= 10 else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= SHARE_MAX else None
