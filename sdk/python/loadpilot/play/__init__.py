"""Scenarios while they run: what an agent does with a class and its users.

An agent's firing thread loads a scenario from its bundle with :func:`load` and moves each user on
from request to request; nothing here waits for anything itself. A command line does the same with
a class that it has loaded (:mod:`.at_hand`), for what is played aside of a run. Must be imported
only where users are played: it changes what ``time.sleep`` and ``asyncio.sleep`` do.
"""

from .scenario import ScenarioError, clear, load

__all__ = ["ScenarioError", "clear", "load"]
