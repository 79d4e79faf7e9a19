"""Execution of scenarios in Python: the class and its users, during a run.

A firing thread of an agent loads a scenario from its bundle with :func:`load` and resumes each user
after its requests and sleeps; nothing here blocks. The submitter does the same with a class that it
has loaded (:mod:`.local_runner`), for setups, teardowns and prepared users. Loading a scenario
replaces ``time.sleep`` and ``asyncio.sleep``, so import this only where users run.
"""

from .scenario import ScenarioError, clear, load

__all__ = ["ScenarioError", "clear", "load"]
