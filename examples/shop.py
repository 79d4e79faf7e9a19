"""Two scenarios in one file: an ordinary day, and a sale.

Choose one with --scenario:

    ./dev loadpilot run examples/shop.py --scenario Sale --target http://127.0.0.1:8000

Every task is compiled before the run starts. `--dry-run` prints the plan.
"""

from loadpilot import LoadClient, VUser, scenario, task

API = "/api"
PRODUCTS = f"{API}/products"
ACCEPT = {"Accept": "application/json"}
CUSTOMER = {"name": "Ada", "tags": ["returning", "newsletter"]}


class Visitor(VUser):
    """Tasks of every visitor; a scenario inherits them with their weights."""

    @task(weight=5)
    def list_products(self, client: LoadClient) -> None:
        """Look at the first page; a list in `params` repeats the field."""
        client.get(PRODUCTS, params={"page": 1, "tag": ["new", "sale"]}, headers=ACCEPT)

    @task(weight=1)
    def health(self, client: LoadClient) -> None:
        """Check health as a load balancer does."""
        client.get("/health", timeout="500ms")


@scenario(
    rps="3000/m",
    duration="30s",
    ramp_up="5s",
    warm_up="5s",
    thresholds={"p99_ms": 300, "error_rate": 0.5, "list_products:p95_ms": 150},
)
class OrdinaryDay(Visitor):
    """Fifty arrivals a second, evenly spread; all figures exclude the ramp."""

    @task(weight=2)
    def order(self, client: LoadClient) -> None:
        """Log in, then order: two requests, each measured separately."""
        client.post("/auth/login", json={"user": "ada", "password": "demo"})
        client.post(f"{API}/orders", json={"product": 7, "customer": CUSTOMER}, headers=ACCEPT)


@scenario(
    stages=[("10s", 20), ("5s", 200), ("20s", 200), ("0s", 20), ("10s", 20)],
    arrivals="poisson",
    timeout="5s",
    max_in_flight=500,
    thresholds={"p99_ms": 500, "dropped_rate": 0},
)
class Sale(Visitor):
    """A burst: tenfold within five seconds, held, then back at once; random arrivals."""

    @task(weight=4)
    def log_in(self, client: LoadClient) -> None:
        """Send a form instead of JSON."""
        client.post("/auth/login", data={"user": "ada", "remember": True})


@scenario(users=8, duration="30s", pacing="2s")
class Regulars(Visitor):
    """A closed loop: eight users, each starting a task every two seconds."""
