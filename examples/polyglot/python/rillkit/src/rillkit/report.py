"""A stream's statistics as a table, window by window. Needs the extra: rillkit[report]."""

import sys
from collections.abc import Iterable

from gravel import table

from rillkit import Rill

if sys.version_info >= (3, 12):
    from itertools import batched
else:
    from shale import batched


def report(numbers: Iterable[float], every: int) -> str:
    """One line for each window of so many numbers, and one for them all."""
    whole = Rill()
    rows = [("window", "count", "mean", "variance", "low", "high")]
    for index, window in enumerate(batched(numbers, every), start=1):
        rill = Rill(window)
        whole.merge(rill)
        rows.append(row(str(index), rill))
    rows.append(row("all", whole))
    return table(rows)


def row(name: str, rill: Rill) -> tuple[str, ...]:
    values = (rill.mean, rill.variance, rill.low, rill.high)
    return (name, str(rill.count), *(f"{value:.6g}" for value in values))
