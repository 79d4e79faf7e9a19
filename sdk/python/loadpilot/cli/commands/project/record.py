"""``loadpilot record``: writes a scenario of the requests that pass through a reverse proxy."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

from ....control.exit_code import ExitCode
from ....control.signals import Interruptions
from ....control.terminal import note, safe, say
from ....library.tables.extras import MissingPackage
from ....local.recording_proxy import RecordingProxy
from ....problem import Problem, Refused, rule
from ....scenario_file.imports.prepare import prepare
from ....scenario_file.imports.python_source import python_source
from ....scenario_file.imports.recorded_exchanges import of_recording
from ....scenario_file.imports.source import Source
from ....scenario_file.imports.urls import origin_of
from ...flags.target import problems as problems_of_target
from ...flags.target import resolve
from ...output.refusal import refuse
from .import_scenario import show_notes
from .new_file import NOTHING, write_new

if TYPE_CHECKING:
    from ....scenario_file.imports.recorded_exchanges import Exchange

PORT_MAX = 65_535
COMMAND = "record"


def record(
    target: str,
    listen: str,
    output: str | None,
    *,
    cacert: str | None,
    insecure: bool,
    with_assets: bool,
) -> ExitCode:
    """Record until Ctrl-C, and write the scenario of the recorded requests."""
    chosen = resolve([target])
    problems = problems_of_target(chosen)
    # In the form of the origins of recorded requests, which are compared with it.
    origin = None if chosen.url.count("/") > len("//") else origin_of(chosen.url)
    if not problems and origin is None:
        must = "must be an origin, http://host[:port]: the proxy passes on whole paths"
        problems.append(rule("--target", must, target))
    if not listen.isascii() or not listen.isdigit() or int(listen) > PORT_MAX:
        must = "must be a port of this machine, 0 to 65535; 0 takes a free one"
        problems.append(rule("--listen", must, listen))
    tls = _tls(cacert, problems, insecure=insecure)
    if problems or origin is None or tls is None:
        return refuse(problems, NOTHING)
    with Interruptions() as interruptions:
        try:
            proxy = RecordingProxy(int(listen), origin, lambda line: note(safe(line)), tls)
            return write_new(output, lambda: _recorded(proxy, interruptions, with_assets))
        except OSError as error:
            say(f"error: --listen: port {listen} cannot be opened: {error.strerror or error}")
            return ExitCode.INFRASTRUCTURE


def _tls(cacert: str | None, problems: list[Problem], *, insecure: bool) -> ssl.SSLContext | None:
    """Return what is checked of the certificate of the target; adds the problem of the file."""
    try:
        context = ssl.create_default_context(cafile=cacert)
    except ssl.SSLError:
        problems.append(rule("--cacert", "must be a PEM file with a CERTIFICATE", cacert))
        return None
    except OSError as error:
        problems.append(Problem("--cacert", f"{cacert} cannot be read: {error.strerror}"))
        return None
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _recorded(proxy: RecordingProxy, interruptions: Interruptions, with_assets: bool) -> str:  # noqa: FBT001
    """Record, and write the recorded requests as a scenario."""

    def started() -> None:
        note(f"recording: {proxy.origin} -> {safe(proxy.target)}; Ctrl-C ends and writes")

    try:
        asyncio.run(proxy.record(interruptions.any, started))
    except MissingPackage as missing:
        raise Refused([Problem(COMMAND, str(missing))]) from None
    note(f"{len(proxy.exchanges):,} requests were recorded")
    if proxy.unrecorded:
        why = "beyond the limits of a scenario, or said above"
        note(f"{proxy.unrecorded:,} requests were not recorded: {why}")
    return _scenario(proxy.target, proxy.exchanges, with_assets=with_assets)


def _scenario(target: str, exchanges: list[Exchange], *, with_assets: bool) -> str:
    source = Source("recording", b"")
    imported = of_recording(COMMAND, exchanges, source, with_assets=with_assets)
    imported.origin = target
    try:
        return python_source(imported, prepare(imported, source, target).names)
    finally:  # also where nothing is left: the notes say why
        show_notes(source)
