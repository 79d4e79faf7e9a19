"""Scenarios from the files of other tools.

In the order in which a file becomes a scenario:

- ``source``: the content of a file within limits, its mistakes, and its parts not carried over
- ``readers``: one for each kind of file
- ``imported_scenario``: the form between reader and writer
- ``recorded_exchanges``: recorded exchanges as a task
- ``urls``, ``bodies``: the parts of a request
- ``prepare``, ``secrets``: one target, headers that a scenario sets, no secret in a text
- ``names``, ``layout``, ``request_source``, ``python_source``: the scenario as Python

Nothing here does I/O but the reader of targets files, whose bodies are files: the command reads
and writes.
"""
