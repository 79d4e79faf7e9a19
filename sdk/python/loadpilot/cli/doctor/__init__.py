"""Checks of ``loadpilot doctor``: each finds one fact, judges it and names the mend.

- :mod:`.finding`: the result of a check.
- :mod:`.installation`: Python, native module, nats-server, extras, certificates.
- :mod:`.limits`: open files, memory, disk, ports.
- :mod:`.clock`: clocks of this machine.
- :mod:`.stack`: a local stack, started and ended.
- :mod:`.fleet`: the fleet that flags or a configuration name.
"""
