"""What tests of commands share."""

from sdk.tests.support.run_command import scene

__all__ = ["scene"]
