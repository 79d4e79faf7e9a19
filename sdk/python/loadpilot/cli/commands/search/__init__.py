"""``loadpilot search``: the highest rate at which a target works.

- ``search_command``: its declaration
- ``search_flags``: its flags, and what they mean
- ``probe_plan``: the plan of one probe
- ``search_list``: searches of this directory or of a fleet, from their runs
- ``search_run``: the command
- ``probe_view``: the live view of a probe
- ``search_text``: its lines
- ``max_rate``: two searches beside each other, for ``loadpilot compare --max-rate``
- ``load_chart``: latency against load, for ``loadpilot plot``
"""
