"""``loadpilot attack``: a URL or a list of requests as a run, without a scenario file.

- ``attack_command``: its declaration
- ``attack_flags``: the flags beside those of ``loadpilot run``
- ``requests``: the list of requests that they name
- ``attack_run``: the command
"""
