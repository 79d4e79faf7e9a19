"""Writes the reference pages from the code: ``python -m docs.generate``, a part of ``./dev gen``.

The pages are committed, so that a forge shows them and a change of a flag is read in review. A test
compares them with the code.
"""

from __future__ import annotations

from . import PAGES, ROOT

for path, written in PAGES.items():
    file = ROOT / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(written(), encoding="utf-8")
