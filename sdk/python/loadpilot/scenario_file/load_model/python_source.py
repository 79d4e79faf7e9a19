"""A load model as a scenario in Python: a class for each type, a task for each action."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from ...dsl import VUser
from ...inputs.distribution import of_flag
from .model import is_python_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .model import Action, LoadModel, UserType

INDENT = "    "
LETTERS_MAX = 60
"""Maximum length of the name of a method."""
RESERVED_PREFIX = "check_"
"""Prefix of the methods that examine the answer of a task."""


def python_source(model: LoadModel, origin: str) -> str:
    """Write the scenario; ``origin`` names the model."""
    times = [time for one in model.types for time in (one.wait, one.session) if time is not None]
    distributions = {of_flag("time", time).name for time in times if ":" in time}
    has_feeds = any(len(action.paths) > 1 for one in model.types for action in one.actions)
    names = {"LoadClient", "VUser", "scenario", "task", *distributions}
    if has_feeds:
        names.add("feed")
    ordered = sorted(names, key=lambda name: (name[0].islower(), name))
    # A name is quoted, so that no file name is code.
    lines = [
        f"# Written from {quoted(origin)}.",
        "",
        f"from loadpilot import {', '.join(ordered)}",
        "",
    ]
    for one in model.types:
        lines += ["", *_user_type(model, one)]
    return "\n".join(lines) + "\n"


def _user_type(model: LoadModel, one: UserType) -> Iterator[str]:
    yield "@scenario("
    yield f"{INDENT}users={model.scaled_users},"
    yield f"{INDENT}duration={quoted(model.duration)},"
    if len(model.types) > 1:
        yield f"{INDENT}share={one.share},"
    if one.wait is not None:
        yield f"{INDENT}wait={_time(one.wait)},"
    if one.session is not None:
        yield f"{INDENT}session={_time(one.session)},"
    yield ")"
    yield f"class {one.name}(VUser):"
    names = _method_names(one.actions)
    for name, action in zip(names, one.actions, strict=True):
        if len(action.paths) > 1:
            yield f"{INDENT}{name}_paths = feed("
            yield f"{INDENT * 2}["
            yield from (f'{INDENT * 3}{{"path": {quoted(path)}}},' for path in action.paths)
            yield f"{INDENT * 2}],"
            yield f'{INDENT * 2}order="shuffled",'
            yield f"{INDENT * 2}cycle=True,"
            yield f"{INDENT})"
    for name, action in zip(names, one.actions, strict=True):
        yield ""
        yield f"{INDENT}@task(weight={action.share})"
        yield f"{INDENT}def {name}(self, client: LoadClient) -> None:"
        path = (
            f'next(self.{name}_paths)["path"]' if len(action.paths) > 1 else quoted(action.paths[0])
        )
        given = [path, f"name={quoted(action.name)}"]
        given += [f"headers={dict(action.headers)!r}"] if action.headers else []
        given += [f"json={action.json!r}"] if action.json is not None else []
        yield f"{INDENT * 2}client.{action.method.lower()}({', '.join(given)})"


def quoted(text: str) -> str:
    """Write a text in double quotes, which is the same in TOML and in Python."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _time(text: str) -> str:
    """Write a think time or the length of sessions."""
    if ":" not in text:
        return quoted(text)
    time = of_flag("time", text)
    given = ", ".join(f"{name}={quoted(value)}" for name, value in time.parameters.items())
    return f"{time.name}({given})"


def _method_names(actions: tuple[Action, ...]) -> list[str]:
    """Name the method of each action: the name of the action in letters that Python takes."""
    names: list[str] = []
    for action in actions:
        words = re.sub(r"[^0-9a-z]+", "_", action.name.lower()).strip("_")[:LETTERS_MAX]
        base = f"{words}_root" if words == action.method.lower() else words
        is_free = is_python_name(base) and not hasattr(VUser, base)
        if not is_free or base.startswith(RESERVED_PREFIX):
            base = f"action_{base}".rstrip("_")
        name, number = base, 1
        while name in names:
            number += 1
            name = f"{base}_{number}"
        names.append(name)
    return names
