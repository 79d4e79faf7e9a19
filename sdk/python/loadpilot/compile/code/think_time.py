"""Compiles think time: `time.sleep`, `asyncio.sleep`, `self.wait`."""

from __future__ import annotations

import ast
import sys
import time
from typing import TYPE_CHECKING, Any

from ...scenario_file.constants import describe
from .literals import reject
from .signatures import global_value, root

if TYPE_CHECKING:
    from .expressions import Lowering

SLEEPS = ("time.sleep", "asyncio.sleep")
SLEEP_MAX_S = 86_400
_time_sleep = time.sleep


def rest(lowering: Lowering, node: ast.expr) -> Any:
    """Compile a sleep into a statement; None for another expression."""
    call = node.value if isinstance(node, ast.Await) else node
    if not isinstance(call, ast.Call) or lowering.client is None:
        return None
    is_awaited = isinstance(node, ast.Await)
    match call.func:
        case ast.Attribute(value=ast.Name(id=user), attr="wait") if (
            user == lowering.user and lowering.context.can_wait
        ):
            if is_awaited != lowering.is_async or len(call.args) not in (1, 2):
                reject(node, f"contains {describe(call)}")
            return _computed(lowering, node, call, "wait")
        case _:
            pass
    origin = lowering.file.bindings.origin_of(call.func)
    name = root(call.func)
    if origin not in SLEEPS or lowering.hides(name):
        return None
    found = global_value(lowering.function, call.func)
    if found not in _known(origin) or is_awaited != (origin == "asyncio.sleep"):
        reject(node, f"contains {describe(call)}")
    if origin == "time.sleep" and lowering.is_awaiting:
        reject(node, "calls `time.sleep()` in an async def")
    match call:
        case ast.Call(args=[ast.Constant(value=int() | float() as seconds)], keywords=[]) if (
            not isinstance(seconds, bool) and 0 <= seconds <= SLEEP_MAX_S
        ):
            return {"sleep": {"us": _microseconds(seconds)}}
        case ast.Call(args=[_]):
            return _computed(lowering, node, call, origin.replace(".", "_"))
        case _:
            return reject(node, f"contains {describe(call)}")


def _known(origin: str) -> tuple[object, ...]:
    """Return the valid values of a sleep function; ``play`` may have replaced it."""
    if origin == "time.sleep":
        return _time_sleep, time.sleep
    # Not imported here, because that is slow; a file that uses it has imported it.
    asyncio = sys.modules.get("asyncio")
    return () if asyncio is None else (asyncio.tasks.sleep, asyncio.sleep)


def _computed(lowering: Lowering, node: ast.expr, call: ast.Call, how: str) -> Any:
    if call.keywords or not node.lineno == call.lineno == call.func.end_lineno:
        reject(node, f"contains {describe(call)}")
    times = [lowering.expression(lowering.not_starred(one)) for one in call.args]
    return {"rest": {"how": how, "times": times, "line": lowering.note_line(node.lineno)}}


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)
