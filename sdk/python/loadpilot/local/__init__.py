"""The local stack: log, coordinator and agents on this machine, for the length of a command.

The stack itself is the supervisor's work; here is only its client. Must never start, end or signal
any process but the supervisor that this process started.
"""
