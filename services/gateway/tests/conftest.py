"""Fixtures of the tests of the gateway."""

from services.gateway.tests.gateways import gateways
from tests.e2e.support.fixtures import fleet, loadpilot, oracle

__all__ = ["fleet", "gateways", "loadpilot", "oracle"]
