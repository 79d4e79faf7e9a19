"""JSON Schemas for kubeconform, made of the OpenAPI documents and custom resources of the modules.

They are strict: a field that no object of the kind has is an error.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml
from tests.deploy.chart.tools import BUILT, KEDA, KUBERNETES, PROMETHEUS_OPERATOR, building, files

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = ("api__v1", "apis__apps__v1", "apis__networking.k8s.io__v1", "apis__policy__v1")
CUSTOM = {
    KEDA: ("config/crd/bases/keda.sh_scaledobjects.yaml",),
    PROMETHEUS_OPERATOR: (
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
}
LOCATION = "{{ .Group }}-{{ .ResourceAPIVersion }}-{{ .ResourceKind }}.json"


@cache
def location() -> str:
    """Where kubeconform finds the schemas; writes them first where they are absent."""
    folder = BUILT / f"schemas-{KUBERNETES.version}"
    with building():
        if not (folder / "complete").exists():
            folder.mkdir(exist_ok=True)
            _write_groups(folder)
            _write_custom(folder)
            (folder / "complete").touch()
    return str(folder / LOCATION)


def _write_groups(folder: Path) -> None:
    for group in GROUPS:
        document = files(KUBERNETES) / f"api/openapi-spec/v3/{group}_openapi.json"
        text = document.read_text("utf-8").replace("#/components/schemas/", "#/definitions/")
        schemas: dict[str, Any] = json.loads(text)["components"]["schemas"]
        definitions = {name: _strict(schema) for name, schema in schemas.items()}
        for schema in definitions.values():
            for kind in schema.get("x-kubernetes-group-version-kind", []):
                whole = {**schema, "definitions": definitions}
                _write(
                    folder, kind["group"] or kind["version"], kind["version"], kind["kind"], whole
                )


def _write_custom(folder: Path) -> None:
    for module, paths in CUSTOM.items():
        for path in paths:
            crd = yaml.safe_load((files(module) / path).read_text("utf-8"))["spec"]
            for version in crd["versions"]:
                schema = _strict(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}
                _write(folder, crd["group"], version["name"], crd["names"]["kind"], schema)


def _write(folder: Path, group: str, version: str, kind: str, schema: dict[str, Any]) -> None:
    path = folder / f"{group}-{version}-{kind.lower()}.json"
    path.write_text(json.dumps(schema), encoding="utf-8")


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema, with all other fields than the named ones forbidden."""
    found = copy.deepcopy(schema)
    _close(found)
    return found


def _close(schema: object) -> None:
    if isinstance(schema, list):
        for one in schema:
            _close(one)
        return
    if not isinstance(schema, dict):
        return
    is_open = schema.get("x-kubernetes-preserve-unknown-fields", False)
    if "properties" in schema and "additionalProperties" not in schema and not is_open:
        schema["additionalProperties"] = False
    for value in schema.values():
        _close(value)
