"""Two user types that examine responses: each has its own start, state, check and feed."""

from loadpilot import LoadClient, VUser, feed, scenario, task


@scenario(share=2, rps=90, duration="3s", mode="constant")
class Reader(VUser):
    kind = "reader"
    rows = feed([{"n": n} for n in range(30)], cycle=True)

    def on_start(self, client: LoadClient) -> None:
        self.path = f"/reader/{client.get('/start/reader').status_code}"

    @task
    def read(self, client: LoadClient) -> None:
        row = next(self.rows)
        client.get(f"{self.path}/{self.kind}", params={"row": row["n"]}, name="read")

    def check_read(self, status_code: int, body: bytes) -> None:
        assert status_code == 200
        assert body is not None


@scenario(share=1)
class Writer(VUser):
    kind = "writer"
    rows = feed([{"n": n} for n in range(100, 130)], cycle=True)

    def on_start(self, client: LoadClient) -> None:
        self.path = f"/writer/{client.get('/start/writer').status_code}"

    @task
    def write(self, client: LoadClient) -> None:
        row = next(self.rows)
        client.post(f"{self.path}/{self.kind}", json={"row": row["n"]}, name="write")

    def on_stop(self, client: LoadClient) -> None:
        client.get("/stop/writer")
