"""One small request, again and again: what Locust runs in the bench. The environment says how."""

import os

from locust import FastHttpUser, constant, constant_throughput, task

RPS = float(os.environ.get("BENCH_RPS_PER_USER", "0"))


class Steady(FastHttpUser):
    """A user that never rests, or keeps its share of a rate."""

    wait_time = constant_throughput(RPS) if RPS else constant(0)

    @task
    def get(self) -> None:
        """Request the root."""
        self.client.get("/")
