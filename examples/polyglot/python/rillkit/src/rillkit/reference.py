"""The rill in Python: what the C core must agree with, to the last bit."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, nan


class Rill:
    """A running summary: five values, whatever the stream's length."""

    __slots__ = ("count", "mean", "_spread", "low", "high")

    def __init__(self, numbers: Iterable[float] = ()):
        self.count, self.mean, self._spread = 0, 0.0, 0.0
        self.low, self.high = inf, -inf
        self.extend(numbers)

    def push(self, x: float) -> None:
        """Welford's update: stable where a sum of squares would cancel."""
        x = float(x)
        before = x - self.mean
        self.count += 1
        self.mean += before / self.count
        self._spread += before * (x - self.mean)
        self.low = min(self.low, x)
        self.high = max(self.high, x)

    def extend(self, numbers: Iterable[float]) -> None:
        for x in numbers:
            self.push(x)

    def merge(self, other: Rill) -> None:
        """Makes this the summary of both streams, as if one had followed the other: Chan's update."""
        if other.count == 0:
            return
        apart, mine, theirs = other.mean - self.mean, float(self.count), float(other.count)
        self.count += other.count
        self.mean += apart * (theirs / (mine + theirs))
        self._spread += other._spread + apart * apart * (mine * theirs / (mine + theirs))
        self.low = min(self.low, other.low)
        self.high = max(self.high, other.high)

    @property
    def variance(self) -> float:
        """The sample variance (n - 1 in the denominator); not a number below two values."""
        return self._spread / (self.count - 1) if self.count > 1 else nan
