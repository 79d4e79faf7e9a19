"""A run as a file of JUnit's XML: one test suite, in the form that Jenkins and GitLab read.

Both show a case by class name and name, and count a suite's failures and errors by its cases.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ...control.terminal import safe
from .run_end import ENDED, Case, Kind

if TYPE_CHECKING:
    from .run_end import RunEnd


def junit(end: RunEnd) -> str:
    """Write the file; its text has no character that XML forbids."""
    kinds = [case.kind for case in end.cases]
    report, name = end.report, safe(end.scenario)
    secs = "0" if report is None else f"{report['duration_secs']:.3f}"
    counts = {
        "tests": str(len(kinds)),
        "failures": str(kinds.count(Kind.FAILURE)),
        "errors": str(kinds.count(Kind.ERROR)),
        "time": secs,
    }
    root = ET.Element("testsuites", {"name": "LoadPilot", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": name, **counts, "skipped": "0"})
    if report is not None:
        run = report["run"]
        at_us = run.get("start_at") or run["created_at"]
        start = datetime.fromtimestamp(at_us // 1_000_000, UTC)
        suite.set("timestamp", start.strftime("%Y-%m-%dT%H:%M:%S"))
        properties = ET.SubElement(suite, "properties")
        for key, value in (
            ("run", run["id"]),
            ("target", report["target_url"]),
            ("seed", str(run["seed"])),
            ("certificate", report["certificate"]["grade"]),
        ):
            ET.SubElement(properties, "property", {"name": key, "value": safe(value)})
    for case in end.cases:
        suite.append(_test_case(case, f"loadpilot.{name}", secs if case.name == ENDED else "0"))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, "unicode")}\n'


def _test_case(case: Case, class_name: str, secs: str) -> ET.Element:
    attributes = {"classname": class_name, "name": case.name, "time": secs}
    element = ET.Element("testcase", attributes)
    if case.kind in {Kind.FAILURE, Kind.ERROR}:
        first = case.text.split("\n", 1)[0]
        found = ET.SubElement(element, case.kind.value, {"type": case.kind.value, "message": first})
    else:
        found = ET.SubElement(element, "system-out")
    found.text = case.text
    return element
