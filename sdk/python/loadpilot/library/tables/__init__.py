"""Runs as tables: series, sampled calls and runs, for data frames, files and SQL.

The engine computes every figure; these modules turn its answers into columns.

- ``extras``: optional packages, and the command that installs them
- ``slice_query``: the part of a run that a table covers
- ``series_table``, ``sample_table``, ``run_table``: the tables
- ``run``: a run, opened from Python
- ``database``: the tables of all runs, for SQL
- ``csv_text``, ``charts``: tables as CSV and as a picture
"""
