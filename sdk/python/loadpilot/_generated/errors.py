"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Annotated
from pydantic import BaseModel, Field, StringConstraints
from typing_extensions import TypeAliasType
from enum import StrEnum


CausesAdditionalProperty = TypeAliasType("CausesAdditionalProperty", Annotated[int, Field(ge=0)])


OutcomesAdditionalProperty = TypeAliasType(
    "OutcomesAdditionalProperty", Annotated[int, Field(ge=0)]
)


class CallErrors(BaseModel):
    """
    What went wrong in one call.
    """

    call: str
    """
    Its name.
    """
    causes: dict[str, dict[str, CausesAdditionalProperty]]
    """
    Why those without a complete answer had none.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Those that were not ok.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Finished calls of the slice.
    """
    outcomes: dict[str, OutcomesAdditionalProperty]
    """
    How they ended, ok and unfinished ones too.
    """
    status: dict[str, dict[Annotated[str, StringConstraints(pattern=r"^\d+$")], int]]
    """
    Answers by outcome and status code.
    """


class RaisedBy(StrEnum):
    """
    Which part of a scenario in Python raised an error, or what else is to be said of it.
    """

    check = "check"
    """
    `check_…`: the call that it looked at counts as `check_failed`.
    """
    task = "task"
    """
    The task itself: its arrival counts among the task errors.
    """
    blocking = "blocking"
    """
    Neither raised anything, but the task kept every user of its agent waiting.
    """


class TaskRaises(BaseModel):
    """
    Arrivals whose task raised an error, by how the last call of each had ended.
    """

    after_failed: Annotated[int | None, Field(ge=0)] = None
    """
    Its last call had failed or was cut off; it is not counted a second time.
    """
    after_ok: Annotated[int | None, Field(ge=0)] = None
    """
    Its last call was ok; that one counts as failed (`task_error`).
    """
    without_call: Annotated[int | None, Field(ge=0)] = None
    """
    It made no call: one more finished call that failed.
    """


class Raised(BaseModel):
    """
    What a check or a task raised in the whole run.
    """

    by: RaisedBy
    """
    What of the task.
    """
    count: Annotated[int, Field(ge=0)]
    """
    How many times.
    """
    text: str
    """
    The kind of the error, its message and its place.
    """
    trace: str | None = None
    """
    The lines of the user's that led to one of them, the outermost first, `shop.py:40 in buy`,
    each on a line of its own; absent where no agent told any.
    """


class TaskErrors(BaseModel):
    """
    What went wrong in one task.
    """

    calls: list[CallErrors]
    """
    By call: those of the plan in order, then those made in Python by name.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Those that were not ok; by rules 2 also the last one of each arrival that raised.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Finished calls of the slice; by rules 2 also one for each time that it raised without a
    call.
    """
    raised: list[Raised]
    """
    What its checks and itself raised, the most frequent first, in the whole run: the log does
    not say when.
    """
    raised_more: Annotated[int, Field(ge=0)]
    """
    How many more different texts there are.
    """
    task: str
    """
    Its name.
    """
    task_raises: TaskRaises | None = None
    """
    Arrivals of the slice in which it raised; null when there were none, by rules 1, and where
    calls or outcomes are picked out.
    """


class Errors(BaseModel):
    """
    How the calls of a slice ended that were not ok.
    """

    run: str
    """
    Of which run.
    """
    tasks: list[TaskErrors]
    """
    By task, in the order of the plan.
    """
