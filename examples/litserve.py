"""A LitServe server: a tensor as JSON, written here or read from a file.

Start a server that checks every request, then load it:

    python examples/stubs/litserve_stub.py --port 8601
    ./dev loadpilot run examples/litserve.py --scenario LitServe --target http://127.0.0.1:8601

`LitServe` sends the same tensor each time, compiled; `Checked` draws new ones for each arrival,
and looks at what comes back (`--scenario` chooses). Both fit a LitServe server whose
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
    """Two ways to say the same thing."""

    @task(weight=3)
    def literal(self, client: LoadClient) -> None:
        """Write the tensor in the scenario."""
        client.post("/predict", json=TENSOR)

    @task(weight=1)
    def from_file(self, client: LoadClient) -> None:
        """Read it from a file beside this one: preprocessed once, sent many times."""
        client.post("/predict", content=file("stubs/tensor.json"))


@scenario(
    rps=50,
    duration="10s",
    mode="constant",
    users=8,
    thresholds={"p99_ms": 200, "error_rate": 0, "checks": 100},
)
class Checked(VUser):
    """Each arrival draws a tensor of its own; the sums of its rows must come back."""

    def on_start(self, client: LoadClient) -> None:
        """Wait for nobody whose model is not loaded."""
        client.get("/health").raise_for_status()
        self.sums: list[int] = []

    @task
    async def predict(self, client: LoadClient) -> None:
        """Two rows of whole numbers, which add up exactly."""
        rows = [[rand.int(0, 9) for _ in range(16)] for _ in range(2)]
        self.sums = [sum(row) for row in rows]
        await client.post("/predict", json={"input": rows})

    def check_predict(self, status_code: int, body: dict[str, list[int]]) -> None:
        """Compare sum by sum."""
        assert status_code == 200
        assert body == {"output": self.sums}
