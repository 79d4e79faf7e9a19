"""Requests that must be equal when httpx and a task in Python make them: method, path, keywords."""

from __future__ import annotations

import io
from typing import Any

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/plain", {}),
    ("GET", "/space and ü", {"params": {"q": "a b", "n": 1, "flag": True, "none": None}}),
    ("GET", "/list", {"params": {"a": ["1", "2"], "b": "&="}}),
    ("GET", "/headers", {"headers": {"X-One": "1", "Accept": "text/html"}}),
    ("POST", "/json", {"json": {"a": [1, 2.5, None, True], "ü": "ß"}}),
    ("POST", "/json-own-type", {"json": 1, "headers": {"Content-Type": "application/x"}}),
    ("POST", "/form", {"data": {"a": "1 2", "b": ["x", "y"]}}),
    ("PUT", "/text", {"content": "grün"}),
    ("PATCH", "/bytes", {"content": b"\x00\xff"}),
    ("POST", "/nothing", {}),
    ("POST", "/auth", {"auth": ("user", "pässword"), "json": {}}),
    ("GET", "/cookies", {"cookies": {"a": "1", "b": "2"}}),
    ("POST", "/file", {"files": {"f": ("name.txt", b"content", "text/plain")}}),
    ("POST", "/file-guessed", {"files": {"f": ("picture.png", b"\x89PNG")}}),
    ("POST", "/file-bare", {"files": {"f": b"content"}}),
    ("POST", "/file-open", {"files": {"f": ("a.bin", io.BytesIO(b"opened"))}}),
    ("POST", "/files-and-fields", {"data": {"k": "v", "l": ["1", "2"]}, "files": {"f": b"x"}}),
    ("POST", "/files-list", {"files": [("f", ("1.txt", b"1")), ("f", ("2.txt", b"2"))]}),
    ("POST", "/file-quotes", {"files": {'a"b': ('c"d.txt', b"x")}}),
    ("DELETE", "/gone", {}),
    ("HEAD", "/head", {}),
    ("OPTIONS", "/options", {"params": {"a": "b"}}),
    ("GET", "/timeout", {"timeout": 5.0}),
    ("GET", "/set-cookies", {}),
    ("GET", "/with-cookies", {}),
    ("GET", "/deep/with-cookies", {}),
    ("POST", "/with-cookies-too", {"json": {}}),
    ("GET", "/redirect/301/GET", {"follow_redirects": True}),
    ("POST", "/redirect/301/POST", {"follow_redirects": True, "json": {"a": 1}}),
    ("POST", "/redirect/302/POST", {"follow_redirects": True, "content": "x"}),
    ("PUT", "/redirect/303/PUT", {"follow_redirects": True, "content": "x"}),
    ("POST", "/redirect/307/POST", {"follow_redirects": True, "json": {"a": 1}}),
    ("PUT", "/redirect/308/PUT", {"follow_redirects": True, "content": "x"}),
    ("GET", "/redirect/302/GET", {"follow_redirects": False}),
    ("GET", "/redirect-relative/here/", {"follow_redirects": True}),
    ("GET", "/gzip", {"headers": {"Accept-Encoding": "gzip"}}),
    ("GET", "/deflate", {"headers": {"Accept-Encoding": "deflate"}}),
    ("GET", "/latin", {}),
]


def described(response: Any) -> list[str]:
    """Describe the visible parts of a response, as text that both can send back."""
    return [
        str(response.status_code),
        repr(response.text),
        repr(response.content),
        response.headers.get("content-type", ""),
        response.headers.get("X-Twice", ""),
    ]
