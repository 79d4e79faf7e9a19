"""Reads Postman collections: ``reader``, with ``scripts``."""
