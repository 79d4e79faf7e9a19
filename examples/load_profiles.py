"""Shapes of a load: a burst, waves, a recorded load, and users that come and leave.

    python examples/stubs/shop_stub.py &
    ./dev loadpilot run examples/load_profiles.py --scenario Burst --target http://127.0.0.1:8602

`evening.csv` has a second and a number of arrivals in each row, as an export of a monitoring
system has them; an access log would do as well.
"""

from loadpilot import LoadClient, VUser, exponential, lognormal, scenario, task


class Visitor(VUser):
    """A visitor who reads."""

    @task
    def browse(self, client: LoadClient) -> None:
        """Read the first page of the catalogue."""
        client.get("/api/products", params={"page": 1, "per_page": 20})


@scenario(rps=80, duration="30s", mode="burst", baseline=10, burst="5s", idle="2s")
class Burst(Visitor):
    """After two quiet seconds: ten a second, eighty a second for five seconds, ten again."""


@scenario(rps=60, duration="1m", mode="sine", baseline=10, period="20s")
class Waves(Visitor):
    """Three waves between ten and sixty a second."""


@scenario(replay_curve="evening.csv", scale=1.5)
class Evening(Visitor):
    """One and a half times what was recorded, second by second."""


@scenario(
    user_stages=[("10s", 20), ("20s", 20), ("10s", 0)],
    wait=lognormal(median="1s", p99="8s"),
)
class Guests(Visitor):
    """A closed loop: one user after the other comes until there are twenty; later they leave.

    After each task a user thinks: half of the times for less than a second, rarely for eight.
    """


@scenario(users=10, duration="30s", wait=exponential(median="1s"))
class Readers(Visitor):
    """A closed loop of ten users who think without memory: each next moment is as likely."""
