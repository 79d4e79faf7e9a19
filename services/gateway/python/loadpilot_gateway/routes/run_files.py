"""A run as a file to keep: the page of its report, and its run file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response

from loadpilot.control.report_page import report_page

from .dependencies import OF_RUN, Here, Run

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from loadpilot import _native

router = APIRouter(tags=["runs"])
Described = dict[int | str, dict[str, Any]]
HTML: Described = {200: {"content": {"text/html": {}}, "description": "The page, to be saved."}}
ZIP: Described = {
    200: {"content": {"application/zip": {}}, "description": "The file, to be saved."}
}


class RemovedFile(FileResponse):
    """A temporary file, which is removed after any answer.

    It is always sent as a whole: the next request has another file.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file."""
        whole = [one for one in scope["headers"] if one[0] != b"range"]
        try:
            await super().__call__({**scope, "headers": whole}, receive, send)
        finally:
            Path(self.path).unlink()  # noqa: ASYNC240  (also after a cancellation)


@router.get("/runs/{run}/page", response_class=Response, responses=OF_RUN | HTML)
async def page(here: Here, run: Run) -> Response:
    """Make the report as one HTML page, as `loadpilot report --html` does.

    It is sent to be saved: shown here, its script would be that of another origin.
    """
    hint = f"This page needs scripts. Without them: loadpilot report {run}."

    def made(reading: _native.Reading) -> str:
        return report_page(reading.report(), reading, hint, time_ns() // 1000)

    text = await here.of_reading(run, made)
    return Response(text, media_type="text/html", headers=attachment(f"{run}.html"))


@router.get("/runs/{run}/file", response_class=Response, responses=OF_RUN | ZIP)
async def run_file(here: Here, run: Run) -> Response:
    """Write the run to a file, as `loadpilot export` does. The run must be over."""

    def written(session: _native.Session) -> Path:
        handle, name = tempfile.mkstemp(suffix=".lprun")
        os.close(handle)
        path = Path(name)
        try:
            session.export(run, path)
        except BaseException:
            path.unlink()
            raise
        return path

    path = await here.of_run(run, written)
    headers = attachment(f"{run}.lprun") | {"Accept-Ranges": "none"}
    return RemovedFile(path, media_type="application/zip", headers=headers)


def attachment(name: str) -> dict[str, str]:
    """Header of an answer that browsers save; ids of runs need no quoting."""
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
