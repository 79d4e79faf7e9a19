"""The files of ``loadpilot init``, as they are copied; the package must never import them."""
