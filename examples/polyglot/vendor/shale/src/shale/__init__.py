"""itertools.batched for a Python that has none (it came with 3.12)."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def batched(items: Iterable[Item], size: int) -> Iterator[tuple[Item, ...]]:
    """Tuples of so many items; the last may be shorter."""
    if size < 1:
        raise ValueError(f"cannot batch by {size}: expected at least one")
    rest = iter(items)
    while batch := tuple(islice(rest, size)):
        yield batch
