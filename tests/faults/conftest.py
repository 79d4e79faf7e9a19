"""What every fault test may ask for."""

from tests.e2e.fixtures import loadpilot, oracle

__all__ = ["loadpilot", "oracle"]
