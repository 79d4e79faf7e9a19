"""Runs as tables: series, sampled calls and runs, for data frames, files and SQL.

The engine computes every figure; what is here gives its answers columns.

- ``extras``: optional packages, and the command that installs them
- ``slice_query``: which part of a run a table is about
- ``series_table``, ``sample_table``, ``run_table``: the tables
- ``run``: a run, opened from Python
- ``database``: the tables of all runs, for SQL
- ``csv_text``, ``charts``: tables as CSV and as a picture
"""
