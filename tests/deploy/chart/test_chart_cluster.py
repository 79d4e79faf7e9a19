"""The chart on a real kube-apiserver: it admits, changes and rolls back the objects. `./dev
nightly` runs it, since building the server from its sources takes minutes. No kubelet and no
controller runs: no pod is started.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.deploy.chart.api_server import ApiServer
from tests.deploy.chart.manifests import CHART, RELEASE, VALUE_SETS, Refused, helm, objects, pods
from tests.deploy.chart.schemas import CUSTOM
from tests.deploy.chart.tools import files
from tests.deploy.composition import BUILD_S

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.long, pytest.mark.timeout(2 * BUILD_S)]

RESTRICTED = {
    f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")
}
NOT_FOUND = 404


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server that knows the objects of KEDA and of the Prometheus operator."""
    with ApiServer(tmp_path_factory.mktemp("cluster")).up() as server:
        for module, paths in CUSTOM.items():
            for path in paths:
                crd = yaml.safe_load((files(module) / path).read_text("utf-8"))
                server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        yield server


class Namespace:
    """A namespace that admits restricted pods only, and Helm commands in it."""

    def __init__(self, server: ApiServer, name: str) -> None:
        self._server = server
        self.name = f"try-{re.sub(r'[^a-z0-9]+', '-', name.lower())}"
        body = {"metadata": {"name": self.name, "labels": RESTRICTED}}
        server.create("/api/v1/namespaces", body)

    def helm(self, *words: str, values: dict[str, Any] | None = None) -> str:
        """Runs a command of Helm in this namespace."""
        own = ["--namespace", self.name, "--kubeconfig", str(self._server.config)]
        file = [] if values is None else ["--values", "-"]
        return helm(*words, *own, *file, stdin=yaml.safe_dump(values or {}))

    def install(self, values: dict[str, Any]) -> None:
        """Installs or upgrades as `loadpilot deploy` does, which would also wait for pods."""
        words = ("--reset-then-reuse-values",)
        self.helm("upgrade", "--install", RELEASE, str(CHART), *words, values=values)

    def get(self, path: str) -> dict[str, Any]:
        """An object of this namespace."""
        group, _, rest = path.rpartition("/v1/")
        root = "/apis/" if group else "/api"
        status, found = self._server.ask("GET", f"{root}{group}/v1/namespaces/{self.name}/{rest}")
        assert status in {200, NOT_FOUND}, found
        return {} if status == NOT_FOUND else found

    def names(self, path: str) -> set[str]:
        """Names of the objects of a kind."""
        return {one["metadata"]["name"] for one in self.get(path)["items"]}

    def generations(self, path: str) -> dict[str, int]:
        """Number of changes of each object of a kind."""
        found = [one["metadata"] for one in self.get(path)["items"]]
        return {one["name"]: one["generation"] for one in found}

    def admits(self, pod: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The answer of the server to a pod, which is not stored."""
        metadata = {"labels": pod["metadata"]["labels"], "name": "tried"}
        spec = {"restartPolicy": "Always", **pod["spec"]}
        # A controller would replace a claim by a volume.
        claimed = {mount["name"] for one in spec["containers"] for mount in one["volumeMounts"]}
        spec["volumes"] = [*spec["volumes"]]
        known = {volume["name"] for volume in spec["volumes"]}
        spec["volumes"] += [{"name": name, "emptyDir": {}} for name in sorted(claimed - known)]
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        return self._server.ask("POST", f"/api/v1/namespaces/{self.name}/pods?dryRun=All", body)


@pytest.mark.parametrize("name", VALUE_SETS)
def test_every_object_and_pod_is_admitted(name: str, server: ApiServer) -> None:
    """Broken if the server refuses an object, or a pod under the restricted standard."""
    namespace = Namespace(server, name)
    namespace.install(VALUE_SETS[name])
    stored = set(namespace.names("apps/v1/deployments")) | set(
        namespace.names("apps/v1/statefulsets")
    )
    workloads = ("Deployment", "StatefulSet")
    expected = {one["metadata"]["name"] for one in objects(name) if one["kind"] in workloads}
    assert stored == expected
    for called, pod in pods(objects(name)).items():
        status, answer = namespace.admits(pod)
        assert status == 201, (called, answer.get("message"))


def test_a_pod_with_more_rights_is_refused(server: ApiServer) -> None:
    """Broken if the test above passes for any rights of a pod."""
    namespace = Namespace(server, "rights")
    namespace.install({})
    agent = pods(objects("default"))[f"{RELEASE}-agent"]
    (container,) = agent["spec"]["containers"]
    root = {**container, "securityContext": {"allowPrivilegeEscalation": True}}
    status, answer = namespace.admits({**agent, "spec": {**agent["spec"], "containers": [root]}})
    assert status == 403
    assert "allowPrivilegeEscalation" in answer["message"]


def test_an_upgrade_keeps_the_keys_and_a_rollback_brings_everything_back(
    server: ApiServer,
) -> None:
    """Broken if an upgrade locks agents out or restarts unchanged parts, if a field cannot be
    changed in place, or if objects are left after a rollback or the removal."""
    namespace = Namespace(server, "upgrades")
    namespace.install({})
    workloads = ("apps/v1/deployments", "apps/v1/statefulsets")
    first = [namespace.generations(path) for path in workloads]
    namespace.install({})
    assert [namespace.generations(path) for path in workloads] == first
    kinds = ("secrets", "services", "configmaps", "apps/v1/deployments", "apps/v1/statefulsets")
    paths = [kind if "/" in kind else f"/v1/{kind}" for kind in kinds]
    before = {path: namespace.names(path) for path in paths}
    keys = namespace.get(f"/v1/secrets/{RELEASE}-keys")["data"]
    token = namespace.get(f"/v1/secrets/{RELEASE}-agent-keys")["data"]["nats-token"]
    upgraded = {
        "agent": {"replicas": 5, "gracePeriodSeconds": 300, "python": True},
        "gateway": {"replicas": 2},
        "monitoring": {"enabled": False},
        "nats": {"extraConfig": "max_payload: 4MB"},
        "targets": {"public": True},
    }
    namespace.install(upgraded)
    assert namespace.get(f"apps/v1/deployments/{RELEASE}-agent")["spec"]["replicas"] == 5
    assert f"{RELEASE}-grafana" not in namespace.names("apps/v1/statefulsets")
    kept = namespace.get(f"/v1/secrets/{RELEASE}-keys")["data"]
    assert kept == keys
    assert namespace.get(f"/v1/secrets/{RELEASE}-agent-keys")["data"]["nats-token"] == token
    namespace.helm("rollback", RELEASE, "1")
    assert namespace.get(f"apps/v1/deployments/{RELEASE}-agent")["spec"]["replicas"] == 3
    restored = {path: namespace.names(path) for path in paths}
    releases = {name for name in restored["/v1/secrets"] if name.startswith("sh.helm.release")}
    restored["/v1/secrets"] -= releases
    before["/v1/secrets"] -= releases
    assert restored == before
    assert namespace.get(f"/v1/secrets/{RELEASE}-keys")["data"] == keys
    namespace.helm("uninstall", RELEASE)
    assert namespace.names("apps/v1/deployments") == set()
    assert namespace.names("/v1/secrets") == set()


def test_keys_outlive_the_release_that_made_them_where_they_are_kept(server: ApiServer) -> None:
    """Broken if `keys.create: false` deletes the keys of a running fleet, or the command that its
    refusal names does not keep them."""
    namespace = Namespace(server, "another hand")
    namespace.install({})
    made = {name for name in namespace.names("/v1/secrets") if name.endswith("-keys")}
    by_another_hand = {"keys": {"create": False}}
    with pytest.raises(Refused) as refused:
        namespace.install(by_another_hand)
    command = rf"kubectl annotate secret -n {namespace.name} (.+) (\S+)=keep"
    said = re.search(command, str(refused.value))
    assert said is not None, refused.value
    assert set(said[1].split()) == made
    for name in made:
        secret = namespace.get(f"/v1/secrets/{name}")
        secret["metadata"]["annotations"][said[2]] = "keep"
        path = f"/api/v1/namespaces/{namespace.name}/secrets/{name}"
        assert server.ask("PUT", path, secret)[0] == 200
    namespace.install(by_another_hand)
    namespace.install({"agent": {"replicas": 5}})
    assert made <= namespace.names("/v1/secrets")


def test_a_later_command_adds_to_what_earlier_ones_set(server: ApiServer) -> None:
    """Broken if more agents close the targets of a fleet, or monitoring gets no volume later."""
    namespace = Namespace(server, "later")
    namespace.install({"targets": {"public": True}})
    namespace.install({"agent": {"replicas": 5}})
    parts = ("prometheus", "grafana")
    lasting = {part: {"persistence": {"enabled": True}} for part in parts}
    namespace.install({"monitoring": lasting})
    assert namespace.get(f"apps/v1/deployments/{RELEASE}-agent")["spec"]["replicas"] == 5
    policy = namespace.get(f"networking.k8s.io/v1/networkpolicies/{RELEASE}-agent")
    assert "0.0.0.0/0" in repr(policy["spec"]["egress"])
    claims = {f"{RELEASE}-{part}" for part in parts}
    assert namespace.names("/v1/persistentvolumeclaims") == claims
    namespace.helm("uninstall", RELEASE)
    assert namespace.names("/v1/persistentvolumeclaims") == claims
    namespace.install({"monitoring": lasting})


def test_the_volumes_of_nats_change_with_a_new_statefulset_only(server: ApiServer) -> None:
    """Broken if the procedure of the guide for a larger log does not work, or is not needed any
    more."""
    namespace = Namespace(server, "larger")
    namespace.install({})
    larger = {"nats": {"persistence": {"size": "20Gi"}}}
    with pytest.raises(Refused) as refused:
        namespace.install(larger)
    assert "updates to statefulset spec" in str(refused.value)
    path = f"apps/v1/namespaces/{namespace.name}/statefulsets/{RELEASE}-nats"
    # Without a garbage collector, a StatefulSet whose deletion orphans its pods would stay.
    status, _ = server.ask("DELETE", f"/apis/{path}?propagationPolicy=Background")
    assert status == 200
    namespace.install(larger)
    (claim,) = namespace.get(f"apps/v1/statefulsets/{RELEASE}-nats")["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"] == {"storage": "20Gi"}


def test_certificates_for_other_names_are_made_by_hand_only(server: ApiServer) -> None:
    """Broken if new names are ignored, so that clients outside do not trust the server, or if an
    upgrade replaces keys that running parts use."""
    namespace = Namespace(server, "names")
    namespace.install({})
    outside = {"nats": {"service": {"type": "NodePort", "names": ["nats.example"]}}}
    with pytest.raises(Refused) as refused:
        namespace.install(outside)
    assert f"kubectl delete secret -n {namespace.name} {RELEASE}-keys" in str(refused.value)


def test_an_agents_number_is_left_to_its_autoscaler(server: ApiServer) -> None:
    """Broken if an upgrade during a run removes the agents that an autoscaler has added."""
    namespace = Namespace(server, "scaled")
    namespace.install(VALUE_SETS["autoscaling"])
    path = f"/apis/apps/v1/namespaces/{namespace.name}/deployments/{RELEASE}-agent/scale"
    _, scale = server.ask("GET", path)
    scale["spec"]["replicas"] = 17
    status, _ = server.ask("PUT", path, scale)
    assert status == 200
    namespace.install({**VALUE_SETS["autoscaling"], "gateway": {"replicas": 2}})
    assert namespace.get(f"apps/v1/deployments/{RELEASE}-agent")["spec"]["replicas"] == 17
