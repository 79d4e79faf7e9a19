"""The subjects of NATS that each role of a fleet may publish and subscribe to.

Must never allow a tenant's user a request whose subject does not name what it reads: a server
restricts subjects, and nothing inside a payload (ADR 0062).
"""

from __future__ import annotations

from dataclasses import dataclass

EVERY = "*"
"""Tenant of a role that serves all of them."""
STREAMS = ("LP_CTL", "LP_DATA")


@dataclass(frozen=True, slots=True)
class Permissions:
    """Subjects of one role, without its inboxes; the server refuses all others."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    answers: bool = False
    """Whether it may answer requests: heartbeats, clock samples, secrets."""


def _api(*requests: str) -> tuple[str, ...]:
    return tuple(f"$JS.API.{one}" for one in requests)


def _of_streams(*requests: str) -> tuple[str, ...]:
    # Not `format`: the name of a tenant may be a template of the server, with braces of its own.
    return _api(*(one.replace("{}", stream) for stream in STREAMS for one in requests))


CONSUMERS = ("CONSUMER.MSG.NEXT.{}.*", "CONSUMER.INFO.{}.*", "CONSUMER.DELETE.{}.*")
"""Requests that name a consumer: names of confined users' consumers are random, and no role may
list them."""
READ_LOG = (
    *_api("INFO"),
    *_of_streams("STREAM.INFO.{}", "STREAM.MSG.GET.{}", "CONSUMER.CREATE.{}.>", *CONSUMERS),
)
STORES = (
    *_api("STREAM.INFO.KV_LP", "STREAM.CREATE.KV_LP", "STREAM.MSG.GET.KV_LP"),
    *_api("STREAM.MSG.DELETE.KV_LP"),
    "$KV.LP.>",
    *_api("STREAM.INFO.OBJ_LP", "STREAM.CREATE.OBJ_LP", "STREAM.MSG.GET.OBJ_LP"),
    *_api("STREAM.PURGE.OBJ_LP"),
    "$O.LP.>",
)


def _requests(tenant: str) -> tuple[str, ...]:
    """Build the subjects that request, steer and hold runs."""
    names = ("run.*.req", "hb.*", "halt.*", "clock")
    return tuple(f"lp.{tenant}.{name}" for name in names)


def _watched(tenant: str) -> tuple[str, ...]:
    return (f"lp.{tenant}.live.*", f"lp.{tenant}.hb.*")


def coordinator(tenant: str = EVERY) -> Permissions:
    """Build the only role that writes decisions, creates the log and hands out secrets.

    With --http it also requests runs.
    """
    lp = f"lp.{tenant}"
    return Permissions(
        publish=(
            *(f"{lp}.run.*.ctl", f"{lp}.live.*", f"{lp}.adm", *_requests(tenant)),
            *_of_streams("STREAM.CREATE.{}"),
            *READ_LOG,
            *STORES,
        ),
        subscribe=(f"{lp}.hb.*", f"{lp}.clock", f"{lp}.secret.*.*", f"{lp}.live.*"),
        answers=True,
    )


def agent(tenant: str = EVERY) -> Permissions:
    """Build the role that states facts, reports deltas and reads bodies.

    It reads neither the log nor the bucket of secrets: a coordinator sends it the secrets of runs
    whose shards it holds.
    """
    names = ("run.*.evt.*", "run.*.delta.*", "hb.*", "clock", "secret.*.*")
    return Permissions(
        publish=(
            *(f"lp.{tenant}.{name}" for name in names),
            *_api("INFO", "STREAM.MSG.GET.OBJ_LP"),
        ),
        subscribe=(f"lp.{tenant}.live.*", f"lp.{tenant}.halt.*"),
    )


def submitter(tenant: str = EVERY) -> Permissions:
    """Build the role that requests, steers and follows runs: `loadpilot run`, `stop`, `resume`."""
    return Permissions((*_requests(tenant), *READ_LOG, *STORES), _watched(tenant))


def watcher(tenant: str = EVERY) -> Permissions:
    """Build the role that reads runs: `loadpilot runs`, `report`, `watch`, `agents`."""
    return Permissions(READ_LOG, _watched(tenant))


def operator(tenant: str = EVERY) -> Permissions:
    """Build the submitter that may also remove runs from the log: `nats stream purge`."""
    purge = _of_streams("STREAM.PURGE.{}")
    return Permissions((*submitter(tenant).publish, *purge), _watched(tenant))


def confined_watcher(tenant: str) -> Permissions:
    """Build the watcher of one tenant, which shares an account with others."""
    runs = f"lp.{tenant}.run.>"
    reads = _of_streams(f"CONSUMER.CREATE.{{}}.*.{runs}", *CONSUMERS)
    created = _api("DIRECT.GET.KV_LP.$KV.LP.CREATED.*")
    return Permissions((*_api("INFO"), *reads, *created), _watched(tenant))


def confined_submitter(tenant: str) -> Permissions:
    """Build the submitter of one tenant, which shares an account with others."""
    values = f"$KV.LP.{tenant}.>"
    objects = (f"$O.LP.M.lp.{tenant}.body.*", f"$O.LP.C.lp.{tenant}.body.*.*.*")
    direct = _api(f"DIRECT.GET.KV_LP.{values}", *(f"DIRECT.GET.OBJ_LP.{one}" for one in objects))
    reads = confined_watcher(tenant).publish
    publish = (*_requests(tenant), *reads, values, *objects, *direct)
    return Permissions(publish, _watched(tenant))


FLEET = {"coordinator": coordinator, "agent": agent, "operator": operator}
"""Roles that serve all tenants of an account."""
TENANT = {
    "submitter": confined_submitter,
    "gateway": confined_submitter,
    "watcher": confined_watcher,
}
"""Roles of one tenant among others in an account."""
ALONE = {**FLEET, "submitter": submitter, "gateway": submitter, "watcher": watcher}
"""Roles of a tenant that has an account to itself."""
