"""Sections of the summary of a run: pure functions from a part of its report to text."""
