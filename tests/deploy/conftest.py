"""What tests of the deployment may ask for."""

from tests.e2e.fixtures import oracle

__all__ = ["oracle"]
