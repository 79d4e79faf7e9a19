"""The Python interface for load tests: ``loadpilot.run``, its results, a pytest fixture.

A run is the command ``loadpilot run`` in a process of its own, so that a program, a notebook or a
test has its semantics, and no scenario is loaded into the caller.
"""
