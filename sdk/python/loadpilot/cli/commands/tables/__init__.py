"""Commands that hand out the data of runs: dump, sql, plot."""
