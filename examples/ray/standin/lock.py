"""lock.py PYTHON: stands in for hours of dependency resolution; a lock is the same for the same requirements."""

import sys
from pathlib import Path

python = sys.argv[1]
pins = ["click==8.1.7", "filelock==3.13.1", "jsonschema==4.17.3", "msgpack==1.0.7", "packaging==23.0", "protobuf==3.20.3"]
if python != "3.9":
    pins.append("tomli==2.0.1")
Path(f"requirements_py{python}.txt").write_text("".join(f"{pin}\n" for pin in sorted(pins)))
