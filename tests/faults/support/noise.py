"""Whether the machine is quiet enough to be taken at its word about times.

    with NoiseMonitor() as noise_monitor:
        …
    noise_monitor.judge(spread_ms <= 50, "agents started 73 ms apart")

While a case runs, a thread of its own sleeps and looks by how much it overslept. On a machine that
takes its cores away from a sleeper, a late request proves nothing: then times are *not judged*,
and the end of the session says which. Counts are always judged.
"""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

NAP_S = 0.005
OVERSLEPT_MAX_S = 0.02
"""What a nap may take longer on a quiet machine; on one with idle cores it is below 1 ms."""
NOISY_SHARE = 0.02
"""Of all naps, so many may be longer."""

NOT_JUDGED: list[str] = []
"""What was looked at and not judged, in this session."""


class NoiseMonitor:
    """Listens to the machine for as long as its `with` block takes."""

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
        """Holds the product to a time, unless the machine cannot tell."""
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
