"""Targets files: lists of HTTP requests in the formats of vegeta.

- ``target_request``: one request, and how its URL is read
- ``targets_file``: the requests of a file, one at a time
- ``request_list``: the calls that a list of requests is reported as, and its file of rows
"""
