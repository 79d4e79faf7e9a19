"""One small request, again and again, or the shop's three routes: the load of Locust.

BENCH_* variables select rate, routes and checks.
"""

import os

from locust import FastHttpUser, constant, constant_throughput, task

RPS = float(os.environ.get("BENCH_RPS_PER_USER", "0"))
SHOP = bool(os.environ.get("BENCH_SHOP"))
CHECKED = bool(os.environ.get("BENCH_CHECKED"))


class User(FastHttpUser):
    """A user without pauses, or one that keeps its share of a rate."""

    abstract = True
    insecure = True  # the certificate of an https target is made for the run
    wait_time = constant_throughput(RPS) if RPS else constant(0)


class Steady(User):
    """One route."""

    abstract = SHOP

    @task
    def get(self) -> None:
        if not CHECKED:
            self.client.get("/")
            return
        with self.client.get("/", headers={"X-Token": "1"}, catch_response=True) as answer:
            if answer.status_code != 200 or answer.json()["id"] != 1234:
                answer.failure("not what was expected")


class Shop(User):
    """Three routes, each with a third of the requests."""

    abstract = not SHOP or CHECKED

    @task
    def health(self) -> None:
        self.client.get("/health")

    @task
    def user(self) -> None:
        self.client.get("/api/user", headers={"Authorization": "Bearer bench"})

    @task
    def login(self) -> None:
        self.client.post("/auth/login", json={"username": "bench", "password": "bench"})


class CheckedShop(User):
    """The same with a login for each user and a check of each response."""

    abstract = not (SHOP and CHECKED)

    def on_start(self) -> None:
        token = self.client.post("/auth/login", json={"username": "bench"}).json()["token"]
        self.headers = {"Authorization": f"Bearer {token}"}

    @task
    def health(self) -> None:
        with self.client.get("/health", catch_response=True) as answer:
            if answer.status_code != 200 or answer.json()["status"] != "ok":
                answer.failure("not well")

    @task
    def user(self) -> None:
        with self.client.get("/api/user", headers=self.headers, catch_response=True) as answer:
            if answer.status_code != 200:
                answer.failure("not known")

    @task
    def login(self) -> None:
        body = {"username": "bench", "password": "bench"}
        with self.client.post("/auth/login", json=body, catch_response=True) as answer:
            if answer.status_code != 200 or not answer.json()["token"]:
                answer.failure("no token")
