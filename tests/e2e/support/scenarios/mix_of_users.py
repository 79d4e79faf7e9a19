"""Two user types, 7 : 3, of twenty users; one of them thinks."""

from loadpilot import LoadClient, VUser, scenario, task


@scenario(share=70, users=20, duration="4s", wait="400ms")
class Browse(VUser):
    @task(weight=3)
    def list(self, client: LoadClient) -> None:
        client.get("/list")

    @task
    def view(self, client: LoadClient) -> None:
        client.get("/view")


@scenario(share=30)
class Buy(VUser):
    @task
    def view(self, client: LoadClient) -> None:
        client.get("/cart")
