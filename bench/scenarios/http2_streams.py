"""One small request over HTTP/2, the load of *http2*. BENCH_STREAMS: streams a connection."""

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
        client.get("/")
