"""One small request at a constant rate, the usual load. Flags set rate and duration."""

from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=1000, duration="10s", mode="constant")
class Steady(VUser):
    """Nothing but arrivals."""

    @task
    def get(self, client: LoadClient) -> None:
        client.get("/")
