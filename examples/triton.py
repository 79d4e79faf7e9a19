"""An inference server behind Triton's protocol: tensors as bytes, not as JSON.

Start a server that checks every request, then load it:

    python examples/stubs/triton_stub.py --port 8600
    ./dev loadpilot run examples/triton.py --target http://127.0.0.1:8600

The same scenario fits a Triton or KServe server with such a model: only the target changes.
"""

from array import array

from loadpilot import LoadClient, VUser, scenario, task
from loadpilot.infer import triton_binary

INFER = "/v2/models/simple/infer"

# Made once, when this file is loaded: its arguments may be computed by any Python.
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
    """Mostly inference, now and then a look at whether the server is ready."""

    @task(weight=9)
    def infer(self, client: LoadClient) -> None:
        """Two tensors of 64 bytes each; both outputs come back as bytes, too."""
        client.post(INFER, **ADD)

    @task(weight=1)
    def ready(self, client: LoadClient) -> None:
        """Ask as a load balancer does."""
        client.get("/v2/health/ready")
