"""rillkit's core in C. Import rillkit: it uses this where it is installed."""

from rillkit_speed._commit import COMMIT, VERSION
from rillkit_speed._kernel import Rill

__all__ = ["COMMIT", "VERSION", "Rill"]
