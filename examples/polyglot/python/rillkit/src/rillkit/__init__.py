"""Running statistics of a stream of numbers, without keeping the stream.

>>> rill = Rill([2, 4, 9])
>>> rill.count, rill.mean, rill.variance
(3, 5.0, 13.0)

The work is done in C where the wheel rillkit-speed of the same commit is installed, else in Python.
"""

from rillkit._commit import COMMIT, VERSION
from rillkit._engine import ENGINE, Rill

__all__ = ["COMMIT", "ENGINE", "VERSION", "Rill"]
