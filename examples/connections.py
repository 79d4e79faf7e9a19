"""How the target is reached is a part of a scenario, too.

    python examples/stubs/shop_stub.py &
    ./dev loadpilot run examples/connections.py --target http://127.0.0.1:8602

Each setting has a flag that overrides it: `--redirects 0` measures the redirects themselves, and
`--proxy http://127.0.0.1:8888` leads all connections through a proxy, as `"proxy"` beside the
settings below does.
"""

from loadpilot import LoadClient, VUser, scenario, task


@scenario(
    rps=40,
    duration="30s",
    mode="constant",
    connections={"redirects": 2, "reuse": 0.9, "ip": 4},
)
class Moved(VUser):
    """Nine of ten requests use an open connection, and an old address leads to the new one."""

    @task
    def look(self, client: LoadClient) -> None:
        """Open an old bookmark: one call, of two requests."""
        client.get("/api/old")
