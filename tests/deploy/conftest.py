"""What tests of the deployment may ask for."""

from tests.e2e.support.fixtures import oracle

__all__ = ["oracle"]
