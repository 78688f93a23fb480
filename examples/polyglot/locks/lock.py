"""Resolves requirements.in for the Python that runs this, with pip, and prints every wheel with its hash.

python lock.py WHEELS...
"""

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("requirements.in")
HEADER = "# Locked for Python %d.%d from {}; do not edit.".format(SOURCE.name)


def resolve(folders: list[str]) -> list[dict]:
    """Lets pip choose, installing nothing, and looking nowhere but in the folders."""
    command = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "install"]
    command += ["--dry-run", "--ignore-installed", "--quiet", "--report", "-", "--only-binary", ":all:", "--no-index"]
    command += [f"--find-links={folder}" for folder in folders] + ["-r", str(SOURCE)]
    found = subprocess.run(command, env=os.environ | {"PIP_CONFIG_FILE": os.devnull}, stdout=subprocess.PIPE, check=True)
    return json.loads(found.stdout)["install"]


def pin(chosen: dict) -> str:
    about = chosen["metadata"]
    digest = chosen["download_info"]["archive_info"]["hash"].replace("=", ":", 1)
    return f"{about['name']}=={about['version']} --hash={digest}"


if __name__ == "__main__":
    print(HEADER % sys.version_info[:2])
    print("\n".join(sorted(map(pin, resolve(sys.argv[1:])))))
