"""Fixtures of the tests of commands."""

from sdk.tests.support.run_command import scene

__all__ = ["scene"]
