"""The golden files satisfy the schemas, with which readers in other languages check the log."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator
from tests.tidy.tracked import ROOT, tracked

OF_SHARDS = ("shards-ready", "shards-started", "shards-finished", "shards-failed")
FACTS = {"capacity-offered", "agent-leaving", "isolation-stop", "tail-reported"}


def schema_of(name: str) -> str:
    """Name the schema of a golden file."""
    if "-requested" in name or name.startswith(("setup-", "teardown-", "run-annotated")):
        return "req"
    if name in FACTS or name.startswith(OF_SHARDS):
        return "evt"
    if name == "plan" or name.startswith("plan-"):
        return "plan"
    if name in {"run-admitted", "run-released", "agents-reserved"}:
        return "adm"
    return "delta" if name.startswith("delta-") else "ctl"


@pytest.mark.parametrize("golden", [path.name for path in tracked("proto/golden/*.json")])
def test_a_golden_file_satisfies_its_schema(golden: str) -> None:
    """Broken if the schema refuses a stored form, as other readers of the log would."""
    name = schema_of(golden.split(".", 1)[0])
    schema = json.loads((ROOT / "proto" / "schema" / f"{name}.json").read_text(encoding="utf-8"))
    stored = json.loads((ROOT / "proto" / "golden" / golden).read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(stored)
