"""A LitServe server: a tensor as JSON, written here or read from a file.

Start a server that checks every request, then load it:

    python examples/stubs/litserve_stub.py --port 8601
    ./dev loadpilot run examples/litserve.py --target http://127.0.0.1:8601

The same scenario fits a LitServe server whose `decode_request` reads `request["input"]`.
"""

from loadpilot import LoadClient, VUser, file, scenario, task

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
