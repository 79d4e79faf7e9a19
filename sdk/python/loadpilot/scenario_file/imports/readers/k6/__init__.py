"""Reads k6: ``reader``, with ``javascript``, ``statements``, ``options`` and ``archive``."""
