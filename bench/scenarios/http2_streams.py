"""One small request over HTTP/2: what *http2* sends. The environment says how many streams."""

import os

from loadpilot import LoadClient, VUser, scenario, task

STREAMS = int(os.environ["BENCH_STREAMS"])


@scenario(
    rps=1000,
    duration="10s",
    mode="constant",
    connections={"http": "2", "streams_max": STREAMS},
)
class Streams(VUser):
    """Nothing but arrivals."""

    @task
    def get(self, client: LoadClient) -> None:
        """Request the root."""
        client.get("/")
