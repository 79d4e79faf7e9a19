"""Reports, live views and control of runs over HTTP, and their web UI.

The gateway stores no state of runs: every answer is a fold of the log by the native module. Must
never fold in Python, execute a scenario, or keep anything beside the log but a cache.
"""
