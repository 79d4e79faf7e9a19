"""Encoding of requests: path, body, headers, multipart forms, stream options.

A leaf: compiler and player both use it, and it imports neither.
"""
