"""A report in one HTML file: the committed page and the answers of one run.

The page is built from the pages of the gateway (services/gateway/web/src/report_file). Must never
compute a figure, and no text of a run may become markup.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .. import _native

PAGE = Path(__file__).with_name("report_page.html")
DATA, SUMMARY = "{{run-data}}", "{{summary}}"
"""Places of the page: the answers as JSON, and the text for readers without scripts."""


def report_page(
    report_json: str, reading: _native.Reading | None, summary: str, written_at_us: int
) -> str:
    """Fill the page; ``reading`` is None where only the report is known.

    Raises Fault where the log cannot be read.
    """
    from .. import __version__

    report = without_ticks(report_json)
    has_started = json.loads(report)["run"]["start_at"] is not None
    answers = answers_json(reading) if reading is not None and has_started else "null"
    version = json.dumps(__version__)
    data = (
        f'{{"report":{report},"answers":{answers},"written_at":{written_at_us},'
        f'"version":{version}}}'
    )
    head, rest = PAGE.read_text(encoding="utf-8").split(SUMMARY)
    body, tail = rest.split(DATA)
    # Only a `<` could end the script element that holds the data.
    return head + html.escape(summary) + body + data.replace("<", "\\u003c") + tail


def answers_json(reading: _native.Reading) -> str:
    """Collect the answers that the charts and tables show, as JSON."""
    judged = json.loads(reading.verdict("{}"))
    answers = {
        "series": reading.series("{}"),
        "heat": reading.heat("{}"),
        "errors": reading.errors("{}"),
        "agents": reading.agents(),
        "first_breach_us": json.dumps(judged["broke_at_us"]),
    }
    return "{" + ",".join(f'"{name}":{text}' for name, text in answers.items()) + "}"


def without_ticks(report_json: str) -> str:
    """Empty the ticks of a report, which grow with the run; its series has them, too."""
    shorter = json.loads(report_json) | {"series": []}
    return json.dumps(shorter, ensure_ascii=False, separators=(",", ":"))
