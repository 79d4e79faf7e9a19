"""Load for an inference server with Triton's protocol: tensors as bytes, not JSON.

Start a server that checks every request, then load it:

    python examples/stubs/triton_stub.py --port 8600
    ./dev loadpilot run examples/triton.py --scenario Triton --target http://127.0.0.1:8600

`Triton` always sends the same tensors and is compiled. `Checked` draws new tensors for each arrival
and checks the answers (`--scenario` chooses). Both fit a Triton or KServe server with such a
model: only the target changes.
"""

import json
from array import array

from loadpilot import LoadClient, Response, VUser, rand, scenario, task
from loadpilot.infer import triton_binary

INFER = "/v2/models/simple/infer"

# Computed once, when this file is loaded, so the arguments may use any Python.
ADD = triton_binary(
    inputs=[
        ("INPUT0", [1, 16], "INT32", array("i", range(16))),
        ("INPUT1", [1, 16], "INT32", array("i", [1] * 16)),
    ],
    outputs=["OUTPUT0", "OUTPUT1"],
)


@scenario(
    rps=50,
    duration="10s",
    mode="constant",
    thresholds={"p99_ms": 100, "error_rate": 0},
)
class Triton(VUser):
    """Mostly inference, sometimes a readiness check."""

    @task(weight=9)
    def infer(self, client: LoadClient) -> None:
        """Send two tensors of 64 bytes each; both outputs are bytes too."""
        client.post(INFER, **ADD)

    @task(weight=1)
    def ready(self, client: LoadClient) -> None:
        """Check readiness as a load balancer does."""
        client.get("/v2/health/ready")


@scenario(
    rps=50,
    duration="10s",
    mode="constant",
    users=8,
    thresholds={"p99_ms": 200, "error_rate": 0, "checks": 100},
)
class Checked(VUser):
    """Each arrival draws its own tensors; the answer must be their sums and differences."""

    def on_start(self, client: LoadClient) -> None:
        """Fail the run before it starts if the model is not loaded."""
        client.get("/v2/health/ready").raise_for_status()
        self.first = self.second = array("i")

    @task
    def infer(self, client: LoadClient) -> None:
        """Send two tensors as bytes; the same seed draws the same numbers."""
        self.first = array("i", [rand.int(0, 1000) for _ in range(16)])
        self.second = array("i", [rand.int(0, 1000) for _ in range(16)])
        shape = [1, 16]
        request = triton_binary(
            [("INPUT0", shape, "INT32", self.first), ("INPUT1", shape, "INT32", self.second)],
            outputs=["OUTPUT0", "OUTPUT1"],
        )
        client.post(INFER, **request)

    def check_infer(self, response: Response) -> None:
        """Compare the outputs: they follow the JSON part, which gives their sizes in bytes."""
        length = int(response.headers["Inference-Header-Content-Length"])
        described, rest = json.loads(response.content[:length]), response.content[length:]
        outputs: dict[str, list[int]] = {}
        for output in described["outputs"]:
            size = output["parameters"]["binary_data_size"]
            outputs[output["name"]] = array("i", rest[:size]).tolist()
            rest = rest[size:]
        pairs = list(zip(self.first, self.second, strict=True))
        assert outputs == {
            "OUTPUT0": [a + b for a, b in pairs],
            "OUTPUT1": [a - b for a, b in pairs],
        }
