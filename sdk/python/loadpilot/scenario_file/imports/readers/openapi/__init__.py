"""Reads OpenAPI descriptions: ``reader``; ``parameter_encoding, schema_samples, yaml_document``."""
