"""The local stack: log, coordinator and agents on this machine, for the length of a command.

The supervisor runs the stack; this package is its client. It must never start, end or signal any
process but the supervisor that this process started.
"""
