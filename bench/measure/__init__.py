"""Rounds, the cost of a process tree, and the statistics of what was measured."""
