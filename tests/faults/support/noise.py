"""Measures whether the machine is quiet enough to judge times.

    with NoiseMonitor() as noise_monitor:
        …
    noise_monitor.judge(spread_ms <= 50, "agents started 73 ms apart")

While a case runs, a thread sleeps again and again, and measures by how much it overslept. On a
machine whose cores are taken away from a sleeping thread, a late request proves nothing: times are
*not judged*, and the end of the session names them. Counts are always judged.
"""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

NAP_S = 0.005
OVERSLEPT_MAX_S = 0.02
"""Maximum oversleep of a nap on a quiet machine; with idle cores it is below 1 ms."""
NOISY_SHARE = 0.02
"""Maximum share of naps that may oversleep more."""

NOT_JUDGED: list[str] = []
"""Times of this session that were measured and not judged."""


class NoiseMonitor:
    """Measures the noise of the machine during its `with` block."""

    def __init__(self) -> None:
        self._naps = self._overslept = 0
        self._over = threading.Event()
        self._sleeper = threading.Thread(target=self._sleep, daemon=True)

    def __enter__(self) -> Self:
        self._sleeper.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._sleeper.join()

    @property
    def noisy(self) -> bool:
        return self._overslept > self._naps * NOISY_SHARE

    def judge(self, holds: bool, otherwise: str) -> None:  # noqa: FBT001  (the claim comes first)
        """Fails with `otherwise` if a time does not hold, unless the machine is noisy."""
        if holds:
            return
        if self.noisy:
            NOT_JUDGED.append(f"{otherwise} ({self._overslept} of {self._naps} naps overslept)")
            return
        raise AssertionError(otherwise)

    def _sleep(self) -> None:
        while not self._over.is_set():
            begin = monotonic()
            self._over.wait(NAP_S)
            self._naps += 1
            self._overslept += monotonic() - begin - NAP_S > OVERSLEPT_MAX_S
