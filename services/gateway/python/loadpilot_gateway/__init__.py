"""Reports, live views and control of runs over HTTP, and their web UI.

The gateway holds no truth: every answer is a fold of the log, made by the native module. Must never
fold in Python, execute a scenario, or keep what is not in the log for longer than a cache.
"""
