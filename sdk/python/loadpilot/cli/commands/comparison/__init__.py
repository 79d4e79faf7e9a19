"""The commands that compare: runs with earlier ones, and two targets.

- ``comparison_commands``: their declarations
- ``compare``: runs, or the results of two searches
- ``versus``, ``versus_flags``: two targets of one run
"""
