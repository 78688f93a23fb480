"""The shared backend, reached from inside this folder as PEP 517 wants it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from wheelsmith import build_sdist, build_wheel  # noqa: E402, F401
