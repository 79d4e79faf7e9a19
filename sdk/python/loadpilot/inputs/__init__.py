"""Inputs of a scenario: parameters, rows of feeds, files, random values, units."""
