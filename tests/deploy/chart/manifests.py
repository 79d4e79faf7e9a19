"""The chart's objects for some values, as the real Helm renders them."""

from __future__ import annotations

import base64
import subprocess
from functools import cache
from typing import Any

import yaml
from tests.deploy.chart.tools import program
from tests.deploy.composition import ROOT

CHART = ROOT / "deploy" / "helm" / "loadpilot"
RELEASE, NAMESPACE = "loadpilot", "load"
HELM_S = 60
EXTERNAL = {
    "url": "tls://nats.example:4222",
    "credsSecret": "nats-creds",
    "caSecret": "nats-ca",
    "copies": 3,
}
Files = dict[str, dict[str, str]]
"""Files by the Secret that holds them."""
VALUE_SETS: dict[str, dict[str, Any]] = {
    "default": {},
    "without monitoring": {"monitoring": {"enabled": False}},
    "a log on three nodes": {"nats": {"replicas": 3, "extraConfig": "max_payload: 4MB"}},
    "a server outside": {"nats": {"external": EXTERNAL}},
    "a server outside, public": {"nats": {"external": {**EXTERNAL, "caSecret": ""}}},
    "a server outside, by token and certificate": {
        "nats": {
            "external": {
                "url": "tls://nats.example:4222",
                "tokenSecret": "nats-tokens",
                "tokenKeys": {"watcher": "token"},
                "tlsSecret": "gateway-tls",
                "caSecret": "nats-ca",
                "domain": "hub",
                "connections": 12,
                "logStorage": "1GiB",
            }
        }
    },
    "a server outside, by certificate alone": {
        "nats": {
            "external": {
                "url": "tls://nats.example:4222",
                "tlsSecret": "gateway-tls",
                "apiPrefix": "JS.team.API",
            }
        }
    },
    "agents with Python": {
        "agent": {"python": True, "labels": {"zone": "eu"}, "capacity": "500/s", "cores": 2},
        "image": {"registry": "registry.example/loadpilot/"},
        "imagePullSecrets": [{"name": "registry"}],
    },
    "autoscaling": {
        "agent": {"autoscaling": {"enabled": True, "min": 0, "max": 50}},
        "monitoring": {"serviceMonitor": {"enabled": True, "labels": {"release": "kube"}}},
    },
    "an operator's Prometheus": {
        "monitoring": {"enabled": False, "serviceMonitor": {"enabled": True}},
        "agent": {
            "autoscaling": {"enabled": True, "prometheusUrl": "http://prometheus.monitoring:9090"}
        },
        "gateway": {"from": [{"namespaceSelector": {}}], "tlsSecret": "gateway-tls"},
    },
    "open to the outside": {
        "nats": {
            "service": {
                "type": "NodePort",
                "nodePort": 30422,
                "names": ["nats.example", "192.0.2.7"],
            },
            "from": [{"ipBlock": {"cidr": "192.0.2.0/24"}}],
        },
        "gateway": {
            "service": {"type": "LoadBalancer", "names": ["load.example"]},
            "keysSecret": "gateway-callers",
            "ingress": {
                "enabled": True,
                "host": "load.example",
                "className": "nginx",
                "annotations": {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"},
                "tlsSecret": "load-tls",
            },
        },
    },
    "targets": {
        "targets": {
            "networks": ["203.0.113.0/24", "2001:db8::/32"],
            "public": True,
            "services": [
                {
                    "host": "shop.default.svc.cluster.local",
                    "namespace": "default",
                    "podLabels": {"app": "shop"},
                    "ports": [8080],
                }
            ],
        }
    },
    "lasting monitoring": {
        "monitoring": {
            "prometheus": {"persistence": {"enabled": True, "storageClass": "fast"}},
            "grafana": {"persistence": {"enabled": True}, "anonymousViewer": True},
        }
    },
    "agents alone": {
        "nats": {"external": EXTERNAL},
        "coordinator": {"enabled": False},
        "gateway": {"enabled": False},
        "monitoring": {"enabled": False},
    },
    "keys by another hand": {"keys": {"create": False}, "fullnameOverride": "fleet"},
    "no policies": {
        "networkPolicy": {"enabled": False},
        "podDisruptionBudget": {"enabled": False},
        "nats": {"persistence": {"enabled": False}},
        "coordinator": {"compiledOnly": True, "extraArgs": ["--behind-after=3s"]},
    },
}
"""Values with which all tests of rendered objects run."""


class Refused(Exception):
    """Helm did not render the chart; its text says why."""


def helm(*words: str, stdin: str = "") -> str:
    """Runs a command of Helm that needs no cluster; raises Refused when it fails."""
    ran = subprocess.run(
        [str(program("helm")), *words],
        input=stdin,
        check=False,
        capture_output=True,
        text=True,
        timeout=HELM_S,
    )
    if ran.returncode != 0:
        raise Refused(ran.stderr)
    return ran.stdout


def render(values: dict[str, Any], namespace: str = NAMESPACE) -> list[dict[str, Any]]:
    """All objects of the chart."""
    text = helm(
        "template", RELEASE, str(CHART), "--namespace", namespace, "--values", "-",
        stdin=yaml.safe_dump(values),
    )  # fmt: skip
    return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one is not None]


@cache
def objects(name: str) -> list[dict[str, Any]]:
    """The objects of a value set."""
    return render(VALUE_SETS[name])


def of_kind(found: list[dict[str, Any]], *kinds: str) -> dict[str, dict[str, Any]]:
    """Objects of some kinds by their names."""
    return {one["metadata"]["name"]: one for one in found if one["kind"] in kinds}


def pods(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Every pod that the objects describe: labels (`metadata`) and `spec`, by name."""
    pods = of_kind(found, "Pod")
    for name, one in of_kind(found, "Deployment", "StatefulSet").items():
        pods[name] = one["spec"]["template"]
    return pods


class Release:
    """The objects of one release, and the files, variables and replicas of its pods."""

    def __init__(self, values: dict[str, Any], secrets: Files | None = None) -> None:
        """Renders the chart; `secrets` are those that the user of the chart made."""
        self.objects = render(values)
        self.described = pods(self.objects)
        self.secrets: Files = dict(secrets or {})
        for name, one in of_kind(self.objects, "Secret").items():
            decoded = {k: base64.b64decode(v).decode() for k, v in one["data"].items()}
            self.secrets[name] = decoded
        self._maps = {name: one["data"] for name, one in of_kind(self.objects, "ConfigMap").items()}

    @property
    def parts(self) -> dict[str, str]:
        """The part of each pod description, by name."""
        return {
            name: one["metadata"]["labels"]["app.kubernetes.io/component"]
            for name, one in self.described.items()
        }

    def replicas(self, part: str) -> int:
        """Number of pods of a part that the chart installs."""
        found = of_kind(self.objects, "Deployment", "StatefulSet")[f"{RELEASE}-{part}"]
        return int(found["spec"]["replicas"])

    def files(self, volume: dict[str, Any]) -> dict[str, str]:
        """The files of a volume by their names; empty if a pod begins with an empty volume."""
        if "secret" in volume:
            return self.secrets[volume["secret"]["secretName"]]
        if "configMap" in volume:
            held = self._maps[volume["configMap"]["name"]]
            return _chosen(held, volume["configMap"].get("items"))
        found: dict[str, str] = {}
        for source in volume.get("projected", {}).get("sources", []):
            held = self.secrets[source["secret"]["name"]]
            found |= _chosen(held, source["secret"].get("items"))
        return found


def environ(container: dict[str, Any], pod: str) -> dict[str, str]:
    """The environment variables of a container in the pod of this name."""
    found = {}
    for one in container.get("env", []):
        if "valueFrom" in one:
            assert one["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
        found[one["name"]] = pod if "valueFrom" in one else one["value"]
    return found


def _chosen(held: dict[str, str], items: list[dict[str, str]] | None) -> dict[str, str]:
    return held if items is None else {one["path"]: held[one["key"]] for one in items}
