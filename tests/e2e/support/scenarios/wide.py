"""A scenario with the parts of Python that compile beside requests and responses; no Python runs
under load."""

from __future__ import annotations

from typing import Any

from loadpilot import LoadClient, VUser, env, feed, metrics, rand, scenario, task

SOLD = metrics.counter("sold")


def labelled(count: int, size: str = "plain") -> str:
    if count > 3:
        return f"{size}-{count:03d}".upper()
    return f"{size}-{count / 4:.2f}"


@scenario(rps=100, duration="3s", mode="constant", users=5, thresholds={"error_rate": 100})
class Wide(VUser):
    names = feed("names.csv", cycle=True, order="shuffled")
    colours = "red blue green"

    def on_start(self, client: LoadClient) -> None:
        self._enter(client)

    def _enter(self, client: LoadClient) -> None:
        answer = client.post(
            "/login", json={"user": next(self.names), "draw": rand.int(1, 1_000_000)}
        )
        answer.raise_for_status()
        self.token = f"t-{rand.text(6)}"

    def _order(self, name: str, count: int) -> dict[str, Any]:
        label = labelled(count)
        return {"id": rand.uuid(), "name": name, "label": label, "count": count}

    @task(weight=2)
    def buy(self, client: LoadClient) -> None:
        row = next(self.names)
        order = self._order(row["name"], rand.int(1, 6))
        with client.step("checkout"):
            client.post(f"/orders/{row['name'].upper()}", json=order, name="order")
            token = self.token[2:]
            client.get("/paid", params={"in": env("PLACE", "here")}, headers={"X-Buyer": token})
        SOLD.add(order["count"])
        metrics.trend("price").add(order["count"] * 2.5)
        self.wait(0.001, 0.01)

    @task
    async def look(self, client: LoadClient) -> None:
        words = [word + "s" for word in self.colours.split() if rand.float() < 0.5]
        first, last = await client.batch(
            [
                {"path": "/list", "params": {"of": ",".join(words)}},
                {"path": "/mine", "method": "POST", "json": words, "name": "mine"},
            ]
        )
        metrics.rate("found").add(first.ok)
        assert last.ok, f"nothing for {words}"

    def check_look(self, status_code: int, body: object) -> None:  # noqa: ARG002
        assert status_code < 400
