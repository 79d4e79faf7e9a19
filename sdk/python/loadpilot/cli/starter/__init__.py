"""The files of ``loadpilot init``, and the chart of ``loadpilot deploy``: files, not modules.

The package must never import them.
"""
