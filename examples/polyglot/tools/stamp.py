"""Who made this file: the commit, and the versions that follow from it.

Every commit is a version of its own, so that what a release publishes never meets an older file of the same name.
As a script: python stamp.py commit|python|maven
"""

import os
import re
import sys
from pathlib import Path

BASE = (Path(__file__).parents[1] / "VERSION").read_text().strip()


def commit() -> str:
    """The commit that is being released: 40 hex digits."""
    found = os.environ.get("SLUICE_COMMIT", "")
    if not re.fullmatch(r"[0-9a-f]{40}", found):
        sys.exit(f"cannot stamp: SLUICE_COMMIT is {found!r}, expected 40 hex digits; set it to the commit being built")
    return found


def epoch() -> int:
    """The one time that archives carry, in seconds; ZIP knows none before 1980."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800)


def python_version() -> str:
    """A development version: PyPI refuses local versions (1.4.0+g1234567)."""
    return f"{BASE}.dev{int(commit()[:9], 16)}"


def maven_version() -> str:
    return f"{BASE}-{commit()[:8]}"


if __name__ == "__main__":
    print({"commit": commit, "python": python_version, "maven": maven_version}[sys.argv[1]]())
