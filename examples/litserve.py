"""Load for a LitServe server: a tensor as JSON, from this file or another.

Start a server that checks every request, then load it:

    python examples/stubs/litserve_stub.py --port 8601
    ./dev loadpilot run examples/litserve.py --scenario LitServe --target http://127.0.0.1:8601

`LitServe` always sends the same tensor and is compiled. `Checked` draws a new tensor for each
arrival and checks the answers (`--scenario` chooses). Both fit a LitServe server whose
`decode_request` reads `request["input"]`.
"""

from loadpilot import LoadClient, VUser, file, rand, scenario, task

TENSOR = {"input": [[0.5] * 16]}


@scenario(
    rps=50,
    duration="10s",
    mode="constant",
    thresholds={"p99_ms": 100, "error_rate": 0},
)
class LitServe(VUser):
    """Two ways to send the same kind of body."""

    @task(weight=3)
    def literal(self, client: LoadClient) -> None:
        """Send the tensor from this file."""
        client.post("/predict", json=TENSOR)

    @task(weight=1)
    def from_file(self, client: LoadClient) -> None:
        """Send a tensor from a file: preprocessed once, sent many times."""
        client.post("/predict", content=file("stubs/tensor.json"))


@scenario(
    rps=50,
    duration="10s",
    mode="constant",
    users=8,
    thresholds={"p99_ms": 200, "error_rate": 0, "checks": 100},
)
class Checked(VUser):
    """Each arrival draws its own tensor; the answer must be the sums of its rows."""

    def on_start(self, client: LoadClient) -> None:
        """Fail the run before it starts if the model is not loaded."""
        client.get("/health").raise_for_status()
        self.sums: list[int] = []

    @task
    async def predict(self, client: LoadClient) -> None:
        """Send two rows of whole numbers, whose sums are exact."""
        rows = [[rand.int(0, 9) for _ in range(16)] for _ in range(2)]
        self.sums = [sum(row) for row in rows]
        await client.post("/predict", json={"input": rows})

    def check_predict(self, status_code: int, body: dict[str, list[int]]) -> None:
        """Compare the sums."""
        assert status_code == 200
        assert body == {"output": self.sums}
