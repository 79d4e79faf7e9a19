"""A scenario of requests that the demo target serves without a login."""

from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=100, duration="5s", mode="constant")
class Catalogue(VUser):
    @task
    def browse(self, client: LoadClient) -> None:
        client.get("/api/products")
