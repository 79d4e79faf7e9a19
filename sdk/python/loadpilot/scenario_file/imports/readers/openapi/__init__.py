"""Reads OpenAPI descriptions: ``reader``, with ``schema_samples`` and ``yaml_document``."""
