"""Live views of runs, as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from ..runs.follow import Watcher
from .dependencies import INT_MAX, OF_RUN, Authenticated, Here, Run

router = APIRouter(tags=["live"])


async def _watching(
    here: Here,
    run: Run,
    caller: Authenticated,
    request: Request,
    last_event_id: Annotated[
        int,
        Header(ge=0, le=INT_MAX, description="Id of the last `story` event that the caller has."),
    ] = 0,
) -> AsyncIterator[Watcher]:
    log = await here.log_of(run)
    authenticator = request.app.state.authenticator
    followed, watcher = here.hub.join(
        run, log, last_event_id, lambda: authenticator.is_current(caller), caller
    )
    try:
        yield watcher
    finally:
        here.hub.leave(followed, watcher)


@router.get("/runs/{run}/live", response_class=EventSourceResponse, responses=OF_RUN)
async def live(watcher: Annotated[Watcher, Depends(_watching)]) -> AsyncIterable[ServerSentEvent]:
    """Follow a run: `snapshot` (a Snapshot), `story` (a StoryLine, its id resumes), then `sealed`.

    `killed` ends it where no process is left that could end the run: `loadpilot resume` continues
    it. `unstored` (a string) says why the log stores nothing of the run at the moment, `fault` (a
    Problem) why following ended. A comment is sent every 15 s.
    """
    async for event in watcher.events():
        yield event
