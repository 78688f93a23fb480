"""Chooses who does the work."""

from rillkit._commit import COMMIT

try:
    import rillkit_speed
except ImportError:
    from rillkit.reference import Rill

    ENGINE = "python"
else:
    if rillkit_speed.COMMIT != COMMIT:
        raise ImportError(
            f"cannot use rillkit-speed of commit {rillkit_speed.COMMIT}: rillkit is of commit {COMMIT}; "
            "install both from one release"
        )
    from rillkit_speed import Rill

    ENGINE = "c"

__all__ = ["ENGINE", "Rill"]
