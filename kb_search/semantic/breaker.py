"""A circuit breaker: after some failures in a row nobody is asked for a while."""

from __future__ import annotations

import time
from collections.abc import Callable

_FAILURES = 3
_FIRST_PAUSE_S = 5.0
_LONGEST_PAUSE_S = 60.0


class Breaker:
    """Closed until `_FAILURES` failures in a row; then open for a pause, after which one call at a
    time may try again. Each further failure doubles the pause, a success ends it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0
        self._pause_s = _FIRST_PAUSE_S
        self._trying = False
        self.reason = ""

    def allows(self) -> bool:
        """Whether to ask; where it says yes, `succeeded`, `failed` or `gave_up` must follow."""
        if self._failures < _FAILURES:
            return True
        if self._trying or self._clock() < self._open_until:
            return False
        self._trying = True
        return True

    def succeeded(self) -> None:
        self._failures = 0
        self._pause_s = _FIRST_PAUSE_S
        self._trying = False

    def failed(self, reason: str) -> None:
        self._failures += 1
        self.reason = reason
        if self._trying:
            self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)
        self._trying = False
        if self._failures >= _FAILURES:
            self._open_until = self._clock() + self._pause_s

    def gave_up(self) -> None:
        """Neither: the caller needed no answer any more."""
        self._trying = False
