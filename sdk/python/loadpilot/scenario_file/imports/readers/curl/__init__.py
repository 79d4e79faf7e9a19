"""Reads curl commands: ``reader``, with ``options`` and ``shell_parser``."""
