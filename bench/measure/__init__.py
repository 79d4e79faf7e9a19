"""Rounds, the cost of a process tree, and the statistics of measured values."""
