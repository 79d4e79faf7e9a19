"""Rules that every object of the chart must satisfy, for all value sets."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.deploy.chart.manifests import (
    CHART,
    EXTERNAL,
    NAMESPACE,
    RELEASE,
    VALUE_SETS,
    helm,
    objects,
    of_kind,
    pods,
    render,
)
from tests.deploy.test_compose import USERS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
"""Helm and kubeconform are built from their sources, once."""

IDS = {name: int(user.split(":")[0]) for name, user in USERS.items()} | {"test": 10_006}
"""User id of each part: those of the compose file and its images."""
LONGEST_CALL_S = 60
"""Longest timeout of a call that a plan may have by default."""
SECRETS = re.compile(r"(?i)password|token|secret|creds")
TEST_POD = "helm.sh/hook"
KEYS = {"grafana", "agent", "gateway-token", "session-secret", "ca.pem"}
WITHOUT_POLICIES = {"no policies"}


def part(pod: dict[str, Any]) -> str:
    """The part of the fleet that a pod runs."""
    return str(pod["metadata"]["labels"]["app.kubernetes.io/component"])


def every_pod(name: str) -> dict[str, dict[str, Any]]:
    found = pods(objects(name))
    assert found
    return found


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    spec = pod["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]


@pytest.mark.parametrize("name", VALUE_SETS)
def test_a_pod_has_no_more_rights_than_its_part_needs(name: str) -> None:
    """Broken if a part runs as root or as the user of another part, can change its image, keeps a
    capability, or can reach the API of the cluster."""
    for called, pod in every_pod(name).items():
        spec = pod["spec"]
        user = IDS[part(pod)]
        expected = {
            "runAsNonRoot": True,
            "runAsUser": user,
            "runAsGroup": user,
            "fsGroup": user,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert {key: spec["securityContext"][key] for key in expected} == expected, called
        assert spec["automountServiceAccountToken"] is False, called
        assert spec["enableServiceLinks"] is False, called
        for one in containers(pod):
            assert one["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, called
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys(), called
        assert not any("hostPath" in one for one in spec["volumes"]), called


@pytest.mark.parametrize("name", VALUE_SETS)
def test_an_image_has_a_version(name: str) -> None:
    """Broken if the same chart installs other programs tomorrow."""
    for called, pod in every_pod(name).items():
        for one in containers(pod):
            image, _, tag = one["image"].rpartition(":")
            assert image, called
            assert re.search(r"\d", tag), (called, one["image"])
            assert tag != "latest"


@pytest.mark.parametrize("name", VALUE_SETS)
def test_a_pod_says_what_it_needs_and_how_it_fares(name: str) -> None:
    """Broken if pods use more memory than their node has, or if a part that is not ready gets
    callers."""
    for called, pod in every_pod(name).items():
        is_test = TEST_POD in pod["metadata"].get("annotations", {})
        for one in containers(pod):
            assert one["resources"]["requests"].keys() == {"cpu", "memory"}, called
            # A CPU limit would delay arrivals that are due.
            assert one["resources"]["limits"].keys() == {"memory"}, called
            assert is_test or {"readinessProbe", "livenessProbe"} <= one.keys(), called


def test_no_node_has_two_copies_of_the_log() -> None:
    """Broken if the loss of one node takes two of three copies, and with them the log."""
    (spread,) = pods(objects("a log on three nodes"))[f"{RELEASE}-nats"]["spec"][
        "topologySpreadConstraints"
    ]
    assert spread["topologyKey"] == "kubernetes.io/hostname"
    assert spread["whenUnsatisfiable"] == "DoNotSchedule"
    # With two nodes the third pod must wait: a maximum skew of 1 alone would place 2 pods and 1.
    assert (spread["maxSkew"], spread["minDomains"]) == (1, 3)
    single = pods(objects("default"))[f"{RELEASE}-nats"]["spec"]["topologySpreadConstraints"]
    assert [one["whenUnsatisfiable"] for one in single] == ["ScheduleAnyway"]


def test_a_new_version_of_the_chart_leaves_nats_alone(tmp_path: Path) -> None:
    """Broken if an upgrade restarts an unchanged nats-server: with one node of the log, all agents
    wait for it."""
    versions = ("--version", "9.9.9", "--app-version", "9.9.9")
    helm("package", str(CHART), *versions, "--destination", str(tmp_path))
    packed = str(tmp_path / "loadpilot-9.9.9.tgz")
    text = helm("template", RELEASE, packed, "--namespace", NAMESPACE)
    found = [one for one in yaml.load_all(text, yaml.CSafeLoader) if one is not None]
    assert {one["metadata"]["labels"]["helm.sh/chart"] for one in found} == {"loadpilot-9.9.9"}
    before, after = pods(objects("default")), pods(found)
    same = {name.removeprefix(f"{RELEASE}-") for name in before if before[name] == after[name]}
    assert {name for name in same if "test" not in name} == {"nats", "prometheus", "grafana"}


@pytest.mark.parametrize("part", ["prometheus", "grafana"])
def test_an_upgrade_can_add_and_enlarge_a_volume(part: str) -> None:
    """Broken if an upgrade changes an immutable field of a StatefulSet, or if the removal of a
    fleet deletes the data of Prometheus."""
    large = {"enabled": True, "size": "50Gi"}
    name = f"{RELEASE}-{part}"
    found = [
        objects("default"),
        objects("lasting monitoring"),
        render({"monitoring": {part: {"persistence": large}}}),
    ]
    kept = [
        {key: value for key, value in spec.items() if key not in {"replicas", "template"}}
        for spec in (of_kind(one, "StatefulSet")[name]["spec"] for one in found)
    ]
    assert kept[0] == kept[1] == kept[2]
    assert "volumeClaimTemplates" not in kept[0]
    assert of_kind(found[0], "PersistentVolumeClaim") == {}
    for one in found[1:]:
        claim = of_kind(one, "PersistentVolumeClaim")[name]
        assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
        (volume,) = (v for v in pods(one)[name]["spec"]["volumes"] if v["name"] == "data")
        assert volume == {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    assert claim["spec"]["resources"]["requests"] == {"storage": "50Gi"}


def test_probes_of_agents_can_be_left_out() -> None:
    """Broken if values of an earlier chart are ignored."""
    off = {"livenessProbe": {"enabled": False}, "readinessProbe": {"enabled": False}}
    agent = pods(render({"agent": off}))[f"{RELEASE}-agent"]
    assert not {"readinessProbe", "livenessProbe"} & agent["spec"]["containers"][0].keys()


@pytest.mark.parametrize("name", VALUE_SETS)
def test_an_agent_has_time_to_leave(name: str) -> None:
    """Broken if a rollout kills calls in flight, or terminates all agents at once."""
    deployment = of_kind(objects(name), "Deployment")
    (agent,) = (one for key, one in deployment.items() if key.endswith("-agent"))
    spec = agent["spec"]["template"]["spec"]
    assert spec["terminationGracePeriodSeconds"] > LONGEST_CALL_S
    assert agent["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert ("replicas" in agent["spec"]) is not ("autoscaling" in name or "operator" in name)


@pytest.mark.parametrize("name", VALUE_SETS)
def test_no_secret_is_in_the_description_of_a_pod(name: str) -> None:
    """Broken if every user who may view pods can read a password, or if it is the same in every
    installation."""
    found = objects(name)
    secrets = of_kind(found, "Secret")
    stored = [value for one in secrets.values() for value in one["data"].values()]
    texts = {base64.b64decode(value).decode() for value in stored}
    passwords = {text for text in texts if re.fullmatch(r"[A-Za-z0-9]{48}", text)}
    assert bool(passwords) is (name != "keys by another hand")
    others = repr([one for one in found if one["kind"] != "Secret"])
    assert [text for text in passwords if text in others] == []
    for called, pod in pods(found).items():
        for one in containers(pod):
            for variable in one.get("env", []):
                is_file = str(variable.get("value", "/")).startswith("/")
                named = SECRETS.search(variable["name"])
                assert not named or is_file, (called, variable)
            words = " ".join([*one.get("command", []), *one.get("args", [])])
            for flag in re.findall(r"--\S*(?:token|password|creds)\S*", words):
                assert re.match(r"--[a-z-]*-file=/", flag), (called, flag)


@pytest.mark.parametrize("name", ["default", "open to the outside"])
def test_every_installation_has_keys_of_its_own(name: str) -> None:
    """Broken if a password or a certificate is the same everywhere."""
    (one, another) = (
        of_kind(found, "Secret")[f"{RELEASE}-keys"]["data"]
        for found in (objects(name), render(VALUE_SETS[name]))
    )
    assert one.keys() == another.keys() >= KEYS
    same = {key for key, value in one.items() if value == another[key]}
    assert same == {"names"}


def test_a_password_of_grafana_is_stored_in_its_secret() -> None:
    """Broken if a given password is not used, or is stored outside of Secrets."""
    chosen = "correct-horse-battery"
    found = render({"monitoring": {"grafana": {"adminPassword": chosen}}})
    secret = of_kind(found, "Secret")[f"{RELEASE}-grafana-keys"]
    assert base64.b64decode(secret["data"]["admin-password"]).decode() == chosen
    assert chosen not in repr([one for one in found if one["kind"] != "Secret"])


def test_a_new_address_of_nats_restarts_what_connects_to_it() -> None:
    """Broken if a changed connection file restarts no pod."""
    moved = {"nats": {"external": {**EXTERNAL, "url": "tls://other.example:4222"}}}
    before, after = pods(objects("a server outside")), pods(render(moved))
    for part in ("coordinator", "agent", "gateway"):
        assert before[f"{RELEASE}-{part}"] != after[f"{RELEASE}-{part}"], part
    assert pods(objects("default")) == pods(render({})), (
        "pods differ between renderings, whose keys differ"
    )


@pytest.mark.parametrize("name", VALUE_SETS)
def test_a_part_mounts_its_own_keys(name: str) -> None:
    """Broken if one part can read the keys of another, or if other users can read keys."""
    for called, pod in every_pod(name).items():
        for volume in pod["spec"]["volumes"]:
            mounted = [volume.get("secret"), *volume.get("projected", {}).get("sources", [])]
            for one in filter(None, mounted):
                secret = one.get("secretName") or one["secret"]["name"]
                if secret.endswith("-keys"):
                    owner = {"test": "watcher"}.get(part(pod), part(pod))
                    assert secret.endswith(f"-{owner}-keys"), (called, secret)
            source = volume.get("secret") or volume.get("projected")
            assert source is None or source["defaultMode"] == 0o440, (called, volume)


@pytest.mark.parametrize("name", sorted(VALUE_SETS.keys() - WITHOUT_POLICIES))
def test_a_policy_selects_each_pod(name: str) -> None:
    """Broken if a pod may connect to anything, or a policy is for pods that do not exist."""
    policies = of_kind(objects(name), "NetworkPolicy").values()
    selectors = [one["spec"]["podSelector"]["matchLabels"] for one in policies]
    for one in policies:
        assert one["spec"]["policyTypes"] == ["Ingress", "Egress"], one["metadata"]["name"]
    labels = {called: pod["metadata"]["labels"].items() for called, pod in every_pod(name).items()}
    for called, own in labels.items():
        chosen = [selector for selector in selectors if selector.items() <= own]
        assert len(chosen) == 2, (
            called,
            "a pod needs the default denial and the policy of its part",
        )
    for selector in selectors:
        assert any(selector.items() <= own for own in labels.values()), selector
    deny = of_kind(objects(name), "NetworkPolicy")
    (denial,) = (one for key, one in deny.items() if key.endswith("-default-deny"))
    assert not {"ingress", "egress"} & denial["spec"].keys()


@pytest.mark.parametrize("name", sorted(VALUE_SETS.keys() - WITHOUT_POLICIES))
def test_each_part_has_a_budget_for_disruptions(name: str) -> None:
    """Broken if draining a node stops all pods of a part."""
    found = objects(name)
    budgets = of_kind(found, "PodDisruptionBudget").values()
    chosen = [one["spec"]["selector"]["matchLabels"] for one in budgets]
    workloads = of_kind(found, "Deployment", "StatefulSet").values()
    own = [one["spec"]["selector"]["matchLabels"] for one in workloads]
    assert sorted(map(repr, chosen)) == sorted(map(repr, own))
    assert {one["spec"]["maxUnavailable"] for one in budgets} == {1}


def opened(name: str, called: str) -> str:
    """The destinations that the policy of agents opens, as text."""
    policy = of_kind(objects(name), "NetworkPolicy")[f"{RELEASE}-{called}"]
    return repr(policy["spec"]["egress"])


def test_agents_reach_named_targets_only() -> None:
    """Broken if a fleet may load targets that the operator has not named, or cannot load those that
    are named."""
    assert "ipBlock" not in opened("default", "agent")
    agent = pods(objects("default"))[f"{RELEASE}-agent"]["spec"]["containers"][0]
    assert "AGENT_ALLOW_TARGET" not in {one["name"] for one in agent["env"]}
    named = opened("targets", "agent")
    for text in ("203.0.113.0/24", "2001:db8::/32", "0.0.0.0/0", "'app': 'shop'", "8080"):
        assert text in named
    public = next(
        one["ipBlock"]
        for rule in of_kind(objects("targets"), "NetworkPolicy")[f"{RELEASE}-agent"]["spec"][
            "egress"
        ]
        for one in rule["to"]
        if one.get("ipBlock", {}).get("cidr") == "0.0.0.0/0"
    )
    assert {"10.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"} <= set(public["except"])
    agent = pods(objects("targets"))[f"{RELEASE}-agent"]["spec"]["containers"][0]
    (allowed,) = (one["value"] for one in agent["env"] if one["name"] == "AGENT_ALLOW_TARGET")
    assert allowed == "203.0.113.0/24,2001:db8::/32,shop.default.svc.cluster.local"


@pytest.mark.parametrize(
    ("url", "ports"),
    [
        ("tls://nats.example:4222", [4222]),
        ("tls://10.0.0.5", [4222]),
        ("tls://nats1", [4222]),
        ("tls://nats1:4443/", [4443]),
        ("tls://[2001:db8::7]", [4222]),
        ("tls://[2001:db8::7]:4443", [4443]),
        ("tls://fleet:1234@nats1, tls://nats2:4443,tls://nats3", [4222, 4443]),
    ],
)
def test_parts_reach_the_port_of_a_server_outside(url: str, ports: list[int]) -> None:
    """Broken if a policy closes the port that clients use: 4222 where the address has none."""
    found = render({"nats": {"external": {**EXTERNAL, "url": url}}})
    policies = of_kind(found, "NetworkPolicy")
    for part in ("coordinator", "agent", "gateway", "test"):
        (rule,) = (
            rule
            for rule in policies[f"{RELEASE}-{part}"]["spec"]["egress"]
            if {"ipBlock": {"cidr": "::/0"}} in rule["to"]
        )
        assert rule["ports"] == [{"port": port} for port in ports], part


def test_parts_reach_what_they_need() -> None:
    """Broken if a network policy separates a part from a server that it needs. A part reaches
    another one where both policies agree."""
    policies = of_kind(objects("default"), "NetworkPolicy")

    def reaches(caller: str, callee: str, port: int) -> bool:
        labels = policies[f"{RELEASE}-{callee}"]["spec"]["podSelector"]["matchLabels"]
        own = policies[f"{RELEASE}-{caller}"]["spec"]["podSelector"]["matchLabels"]
        out = policies[f"{RELEASE}-{caller}"]["spec"]["egress"]
        into = policies[f"{RELEASE}-{callee}"]["spec"].get("ingress", [])

        def opens(rules: list[dict[str, Any]], key: str, other: dict[str, str]) -> bool:
            return any(
                {"port": port} in rule["ports"]
                and (
                    key not in rule
                    or any(
                        one.get("podSelector", {}).get("matchLabels") == other for one in rule[key]
                    )
                )
                for rule in rules
            )

        return opens(out, "to", labels) and opens(into, "from", own)

    needed = {
        ("coordinator", "nats", 4222),
        ("agent", "nats", 4222),
        ("gateway", "nats", 4222),
        ("nats", "nats", 6222),
        ("prometheus", "gateway", 8443),
        ("prometheus", "coordinator", 8080),
        ("grafana", "prometheus", 9090),
        *(("test", callee, port) for callee, port in PORTS.items()),
    }
    parts = [name.removeprefix(f"{RELEASE}-") for name in policies]
    found = {
        (caller, callee, port)
        for caller in parts
        for callee in parts
        for port in {*PORTS.values(), 6222}
        if "default-deny" not in (caller, callee) and reaches(caller, callee, port)
    }
    # The gateway is open to all: it authenticates its callers.
    assert found == needed


PORTS = {"nats": 4222, "coordinator": 8080, "gateway": 8443, "prometheus": 9090, "grafana": 3000}
