"""The reference pages that are generated, each by a function that returns its text."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from loadpilot.local.fleet_server.server_config import roles_text

from .api import api_page
from .cli import cli_page
from .dsl import dsl_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = Path(__file__).parents[2]
PAGES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "deploy/nats/roles.conf": roles_text,
        "docs/reference/api.md": api_page,
        "docs/reference/cli.md": cli_page,
        "docs/reference/dsl.md": dsl_page,
    }
)
