"""The command over a log and a stack that are stand-ins."""

from sdk.tests.support.run_command import scene

__all__ = ["scene"]
