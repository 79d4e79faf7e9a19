"""What every end-to-end test may ask for."""

from tests.e2e.support.fixtures import fleet, loadpilot, oracle
from tests.e2e.sinks.prometheus import prometheus

__all__ = ["fleet", "loadpilot", "oracle", "prometheus"]
