"""A first scenario: `loadpilot run scenarios/example.py --target http://localhost:8000`."""

from loadpilot import LoadClient, VUser, env, scenario, task

HOME = env("HOME_PATH", "/")
"""A parameter: `loadpilot run … --env HOME_PATH=/shop` sets another path."""


@scenario(
    rps=10,  # arrivals a second: starts of a task
    duration="10s",
    ramp_up="2s",
    thresholds={"p99_ms": 1000, "error_rate": 1},  # the exit code is 1 when one does not hold
)
class Example(VUser):
    """Visitors of a site; replace the paths by those of the service under test."""

    @task(weight=3)
    def home(self, client: LoadClient) -> None:
        """Three of four arrivals."""
        client.get(HOME)

    @task(weight=1)
    def search(self, client: LoadClient) -> None:
        """One of four arrivals."""
        client.get(HOME, params={"q": "load test"})
