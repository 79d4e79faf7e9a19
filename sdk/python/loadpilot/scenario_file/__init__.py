"""Scenario files: loading, the source of their functions, their feeds and their bundle.

A leaf: compiler and player both use it, and it imports neither.
"""
