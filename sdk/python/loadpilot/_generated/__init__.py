"""Types of the formats, for type checkers only: ``./dev gen`` writes them from ``proto/schema``."""
