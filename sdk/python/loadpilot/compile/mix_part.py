"""A user type of a mix while it is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..scenario_file.user_types import UserType
    from .recorded.tasks import Tasks
    from .scenario.settings import Settings


@dataclass(frozen=True, slots=True)
class Part:
    """A user type, its settings and its tasks."""

    type: UserType
    settings: Settings
    """The settings of its own scenario."""
    tasks: Tasks

    @property
    def name(self) -> str:
        """The name of the type."""
        return self.type.name

    def task(self, name: str) -> str:
        """Return the name of a task, or of a feed, in the plan."""
        return f"{self.name}/{name}"
