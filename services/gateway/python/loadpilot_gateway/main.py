"""``loadpilot-gateway``: reports, live views and control of a fleet's runs over HTTP."""

from __future__ import annotations

import argparse
import os
import sys

from loadpilot.control.exit_code import ExitCode
from loadpilot.control.signals import Interruptions
from loadpilot.local.build import build_text
from loadpilot.local.keys.key_file import read_keys

from .app import application
from .config import PREFIX, Config, Settings, read
from .gateway import Gateway
from .runs.logs import Logs, OpenLog
from .server.auth import Authenticator, digest
from .server.listen import bound
from .server.proxy_rules import read_rules
from .server.request_limit import AddressBuckets
from .server.serve import server
from .server.watched_file import WatchedFile
from .tenants import RotatingServer, Tenants


def main(argv: list[str] | None = None) -> int:
    """Run a gateway until a signal ends it; returns the exit code."""
    flags = arguments().parse_args(argv)
    if flags.version:
        print(f"loadpilot-gateway {build_text()}")
        return ExitCode.PASSED
    config, problems = read(os.environ)
    for problem in problems:
        say(f"error: {problem}")
    if config is None:
        say("nothing was started; see `loadpilot-gateway --help`")
        return ExitCode.USAGE
    if flags.check_config:
        say(f"the configuration is valid: {config.server.place}")
        return ExitCode.PASSED
    return run(config)


def run(config: Config) -> int:
    """Serve a fleet."""
    try:
        listener = bound(config.host, config.port, config.address_connections, config.proxy)
    except OSError as error:
        say(f"error: cannot listen at {config.host}:{config.port}: {error}")
        return ExitCode.INFRASTRUCTURE
    port = listener.getsockname()[1]
    authenticator = Authenticator(
        config.token,
        metrics=config.metrics_token,
        proxy=config.proxy,
        port=port,
        is_tls=config.tls is not None,
        tenant=config.server.tenant,
        keys=WatchedFile(config.keys, lambda file: tuple(read_keys(file)), ())
        if config.keys
        else None,
        rules=WatchedFile(config.rules, read_rules, ()) if config.rules else None,
        group_header=config.group_header,
        session_secret=config.session_secret,
    )
    tenants = Tenants(
        {one.tenant: gateway_of(one, config) for one in config.tenants},
        AddressBuckets(config.server.limit),
    )
    app = application(tenants, authenticator, is_loopback=config.is_loopback)
    views = config.live_views * len(config.tenants)
    serving = server(app, tenants.close_views, config.tls, views)
    scheme = "https" if config.tls else "http"
    host = f"[{config.host}]" if ":" in config.host else config.host
    places = ", ".join(one.place for one in config.tenants)
    say(f"listening on {scheme}://{host}:{port}, log {places}")
    # The server handles signals, and raises them again at its end, which is not a failure.
    with listener, Interruptions():
        serving.run([listener])
    return ExitCode.PASSED


def gateway_of(tenant: RotatingServer, config: Config) -> Gateway:
    """Build the gateway of one tenant, with a cache of its own."""
    cache = config.cache / digest(tenant.place).hex()[:16]
    name = tenant.tenant if config.has_tenants_file else None
    logs = Logs(OpenLog(tenant, cache), cache)
    return Gateway(
        logs,
        tenant=name,
        views=config.live_views,
        limit=tenant.limit,
        connections=tenant.connections,
    )


def arguments() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    width = max(len(name) for name in Settings.model_fields) + len(PREFIX)
    lines = [
        f"  {PREFIX + name.upper():<{width}}  {one.description}"
        + (f" ({one.default})" if one.default is not None else "")
        for name, one in Settings.model_fields.items()
    ]
    parser = argparse.ArgumentParser(
        "loadpilot-gateway",
        description=__doc__,
        epilog="Settings, from the environment:\n" + "\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--check-config",
        action="store_true",
        help="print every mistake in the settings, and start nothing",
    )
    parser.add_argument(
        "--version", action="store_true", help="print version, commit and build profile"
    )
    return parser


def say(text: str) -> None:
    """Print a line for the operator on standard error."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
