"""``loadpilot ui``: a stack of this directory, and a gateway on loopback that shows its runs.

The printed link opens one browser. Must never listen off loopback, nor end before the runs that it
started are sealed or the user insists.
"""

from __future__ import annotations

import html
import json
import os
import secrets
import webbrowser
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING

from loadpilot import _native
from loadpilot.control.exit_code import ExitCode
from loadpilot.control.identity import author
from loadpilot.control.outcome import FINAL_STATES
from loadpilot.control.protocols import ANSWER_TIMEOUT_SECS
from loadpilot.control.signals import Interruptions
from loadpilot.control.terminal import safe, say
from loadpilot.local.folders import CACHE, ROOT
from loadpilot.local.log_readers import connect
from loadpilot.local.stack import LOCAL_LEAD_US, LOCAL_WAIT_US, LocalStack, StackFault, relay_events

from .app import application
from .gateway import Gateway, RequestDefaults
from .runs.logs import Logs, OpenLog
from .scenario_files import ScenarioFiles
from .server.auth import Authenticator, digest
from .server.listen import bound
from .server.serve import server
from .tenants import Tenants

if TYPE_CHECKING:
    from socket import socket

    from loadpilot.local.stack import Address

    from .server.serve import Server

HOST = "127.0.0.1"
PORT = 8089
"""Default port, if it is free."""
PAGE = "open-ui.html"
"""A page that redirects a browser to the link: other users can read command lines."""
SEALED_SECS = 15.0
"""Timeout for stopped runs to be sealed."""
HEAR_SECS = 0.2


class Ui:
    """One stack and its gateway."""

    def __init__(self, agents: int) -> None:
        """Take the number of agents to start."""
        self.agents = agents
        self.fault: StackFault | None = None
        self._ended = False

    def serve(self, port: int | None, *, browser: bool) -> ExitCode:
        """Serve until Ctrl-C or SIGTERM; returns the exit code."""
        with Interruptions() as interruptions:
            try:
                listener = listening(port)
            except OSError as error:
                say(f"error: cannot listen at {HOST}:{port}: {error}")
                return ExitCode.INFRASTRUCTURE
            with listener:
                try:
                    return self._on_stack(listener, interruptions, browser=browser)
                except (StackFault, _native.Fault, OSError) as fault:
                    say(f"error: {safe(str(fault))}")
                    return ExitCode.INFRASTRUCTURE

    def _on_stack(
        self, listener: socket, interruptions: Interruptions, *, browser: bool
    ) -> ExitCode:
        stack = LocalStack.for_run(ROOT, self.agents)
        try:
            address = stack.ready(interruptions.any)
            if address is None:
                return interruptions.first or ExitCode.INTERRUPTED
            self._show(listener, stack, address, browser=browser)
            if self.fault is not None:
                raise self.fault
            stop_runs(address, interruptions)
        finally:
            stack.stop()
        return ExitCode.PASSED

    def _show(
        self, listener: socket, stack: LocalStack, address: Address, *, browser: bool
    ) -> None:
        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(32)
        authenticator = Authenticator(once=digest(token), user=author(), port=port)
        defaults = RequestDefaults(self.agents, LOCAL_WAIT_US, LOCAL_LEAD_US)
        log = OpenLog(address, ROOT / CACHE / address.log_dir.name)
        logs = Logs(log, ROOT / CACHE, ROOT)
        gateway = Gateway(logs, defaults, self.agents, ScenarioFiles(Path.cwd()))
        tenants = Tenants({"": gateway})
        app = application(tenants, authenticator, is_loopback=True)
        serving = server(app, tenants.close_views)
        relay = Thread(target=self._relay_events, args=(stack, serving), daemon=True)
        relay.start()
        link = f"http://{HOST}:{port}/#token={token}"
        page = address.log_dir / PAGE
        say(f"LoadPilot at {link}")
        say(f"the link opens one browser; logs {ROOT}, agents {self.agents}; Ctrl-C ends it")
        try:
            if browser:
                lead(page, link)
            serving.run([listener])
        finally:
            self._ended = True
            relay.join()
            page.unlink(missing_ok=True)

    def _relay_events(self, stack: LocalStack, serving: Server) -> None:
        """Print the events of the stack; when the stack fails, end the server."""
        while not self._ended:
            try:
                relay_events(stack, say, HEAR_SECS)
            except StackFault as fault:
                self.fault = fault
                serving.end()
                return


def listening(port: int | None) -> socket:
    """Bind the port of the flag, else the default one, else any; raises OSError."""
    if port is not None:
        return bound(HOST, port)
    with suppress(OSError):
        return bound(HOST, PORT)
    return bound(HOST, 0)


def lead(page: Path, link: str) -> None:
    """Write a page that only this user can read, and open it in a browser."""
    refresh = html.escape(f"0; url={link}", quote=True)
    text = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="{refresh}">'
    with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    if not webbrowser.open(page.absolute().as_uri()):
        say("cannot open a browser; open the link yourself")


def stop_runs(address: Address, interruptions: Interruptions) -> None:
    """Stop the runs that go on, so that each has a report; another Ctrl-C ends the wait."""
    count = interruptions.count
    session = connect(address)
    try:
        going = [
            one["run"] for one in json.loads(session.runs()) if one["state"] not in FINAL_STATES
        ]
        for run in going:
            say(f"stopping run {run}; again to leave at once")
            session.steer(run, "stop", author(), ANSWER_TIMEOUT_SECS)
        until = monotonic() + SEALED_SECS
        for run in going:
            watch = session.watch(run)
            while monotonic() < until and interruptions.count == count:
                if (watch.next(HEAR_SECS) or "").startswith('{"sealed"'):
                    break
    finally:
        session.close()
