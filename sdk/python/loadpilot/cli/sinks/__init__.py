"""Outputs that are written while a run goes on: the sinks of ``--out`` and ``--metrics``.

They read the log beside the follower. Must never wait for a sink in the thread of the follower, nor
change the exit code: a sink that fails is named at the end, with the number of points it missed.

- ``outs``: the flag, checked before the start
- ``live_run``: the log of a run that goes on, read again and again
- ``worker``: a thread with a bounded queue, one for each sink
- ``table_file``: rows in a file or on standard output
- ``metric_server``: counters and histograms, sent to Prometheus or an OpenTelemetry collector
- ``scrape_endpoint``: the same figures, for a Prometheus that scrapes this command
- ``live_sinks``: all sinks of a command
"""
