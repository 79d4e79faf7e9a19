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
    Errors of one call.
    """

    call: str
    """
    Name of the call.
    """
    causes: dict[str, dict[str, CausesAdditionalProperty]]
    """
    Number of calls without a complete response, by outcome and cause.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Number of those that were not ok.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Number of finished calls of the slice.
    """
    outcomes: dict[str, OutcomesAdditionalProperty]
    """
    Number of calls by outcome, ok and unfinished ones included.
    """
    status: dict[str, dict[Annotated[str, StringConstraints(pattern=r"^\d+$")], int]]
    """
    Number of responses by outcome and status code.
    """


class RaisedBy(StrEnum):
    """
    Part of a Python scenario that raised an error, or another remark about it.
    """

    check = "check"
    """
    `check_…`: the call that it examined counts as `check_failed`.
    """
    task = "task"
    """
    The task itself: its arrival counts as a task error.
    """
    blocking = "blocking"
    """
    No error: the task blocked every user of its agent.
    """


class TaskRaises(BaseModel):
    """
    Number of arrivals whose task raised an error, by how their last call ended.
    """

    after_failed: Annotated[int | None, Field(ge=0)] = None
    """
    The last call had failed or was cut off; it is not counted a second time.
    """
    after_ok: Annotated[int | None, Field(ge=0)] = None
    """
    The last call was ok; it counts as failed (`task_error`).
    """
    without_call: Annotated[int | None, Field(ge=0)] = None
    """
    The task made no call; each counts as one more finished call that failed.
    """


class Raised(BaseModel):
    """
    Error that a check or a task raised, with its count in the whole run.
    """

    by: RaisedBy
    """
    Part of the scenario that raised it.
    """
    count: Annotated[int, Field(ge=0)]
    """
    Number of times.
    """
    text: str
    """
    Type of the error, its message and its line.
    """
    trace: str | None = None
    """
    Traceback of one of them: the user's lines, outermost first, such as `shop.py:40 in buy`,
    one per line. Absent: no agent reported one.
    """


class TaskErrors(BaseModel):
    """
    Errors of one task.
    """

    calls: list[CallErrors]
    """
    Calls of the plan in order, then those made in Python by name.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Number of those that were not ok; by rules 2 including the last call of each arrival that
    raised.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Number of finished calls of the slice; by rules 2 plus one for each time that the task
    raised without a call.
    """
    raised: list[Raised]
    """
    Errors that the task and its check raised, the most frequent first, in the whole run: the
    log does not contain their times.
    """
    raised_more: Annotated[int, Field(ge=0)]
    """
    Number of further distinct texts.
    """
    task: str
    """
    Name of the task.
    """
    task_raises: TaskRaises | None = None
    """
    Number of arrivals of the slice that raised an error. Null without any, by rules 1, and
    where calls or outcomes are selected.
    """


class Errors(BaseModel):
    """
    Calls of a slice that were not ok, by how they ended.
    """

    run: str
    """
    Id of the run.
    """
    tasks: list[TaskErrors]
    """
    Tasks, in the order of the plan.
    """
