"""Installs the files that are to be published as a user would: pip, an empty virtual environment, nothing else.

python cleanroom.py VERSION ROOM    makes the environment ROOM from $SLUICE_INPUTS

Every file is demanded by its hash: the dependencies by the lock's, ours by what was built. So pip can neither choose
another file nor reach a package index.
"""

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

INPUTS = Path(os.environ["SLUICE_INPUTS"])
EXTRAS = {"rillkit": "[report]", "rillkit_speed": ""}


def demand(wheel: Path) -> str:
    name, version, *_ = wheel.name.split("-")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"{name}{EXTRAS[name]}=={version} --hash=sha256:{digest}\n"


def ours(version: str) -> list[Path]:
    tag = "cp" + version.replace(".", "")
    found = [*(INPUTS / "pure-wheel").glob("*.whl"), *(INPUTS / "wheel").glob(f"*-{tag}-{tag}-*.whl")]
    if len(found) != len(EXTRAS):
        sys.exit(f"cannot test Python {version}: expected its {len(EXTRAS)} wheels, found {[p.name for p in found]}")
    return found


def install(version: str, room: Path) -> None:
    venv.create(room, symlinks=True)  # Without a pip of its own, which would cost seconds.
    release = room / "release.txt"
    release.write_text("".join(map(demand, ours(version))))
    command = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", f"--python={room}", "install"]
    command += ["--no-index", "--require-hashes", "--no-compile"]
    command += [f"--find-links={INPUTS / job}" for job in ("vendored", "pure-wheel", "wheel")]
    command += [f"--requirement={INPUTS / 'lock' / f'requirements_py{version}.txt'}", f"--requirement={release}"]
    subprocess.run(command, env=os.environ | {"PIP_CONFIG_FILE": os.devnull}, check=True)


if __name__ == "__main__":
    install(sys.argv[1], Path(sys.argv[2]))
