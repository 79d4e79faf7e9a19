"""From a scenario file to a plan: load, judge, record, encode, check.

The result is data. Must never execute a task other than to record what was judged to be nothing
but requests, and must never turn what it does not understand into a request.
"""

from __future__ import annotations

from .load import Loaded, choose, load
from .plan import Compiled, compile_scenario
from .problem import Problem, Refused
from .settings import Overrides

__all__ = [
    "Compiled",
    "Loaded",
    "Overrides",
    "Problem",
    "Refused",
    "choose",
    "compile_scenario",
    "load",
]
