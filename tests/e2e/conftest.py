"""What every end-to-end test may ask for."""

from tests.e2e.sinks.prometheus import prometheus
from tests.e2e.support.fixtures import closed_port, fleet, loadpilot, oracle

__all__ = ["closed_port", "fleet", "loadpilot", "oracle", "prometheus"]
