"""Fixtures of the deployment tests."""

from tests.e2e.support.fixtures import oracle

__all__ = ["oracle"]
