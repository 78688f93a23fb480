"""Builds the project's images.

python build.py base INPUTS OUTPUT      the command rill, statically linked, and the locked dependencies per Python
python build.py project INPUTS OUTPUT   the base, and on it the project's wheels per Python

INPUTS holds a folder for each job: vendored, lock, pure-wheel, wheel, base-image.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import oci

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import archive  # noqa: E402
import stamp  # noqa: E402

FLAGS = "-O2 -g0 -std=c11 -Wall -Wextra -Werror -static -ffp-contract=off -Wl,--build-id=none -Wl,-s"
PACKAGES = "opt/rillkit/py{}/"
PIN = re.compile(r"^(?P<name>\S+)==(?P<version>\S+) --hash=(?P<digest>sha256:[0-9a-f]{64})$", re.M)


def labels(title: str) -> dict[str, str]:
    about = {"title": title, "version": stamp.python_version(), "revision": stamp.commit()}
    return {oci.LABEL + name: value for name, value in about.items()}


def one(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"cannot choose {pattern} in {folder.name}: expected one, found {[path.name for path in found]}")
    return found[0]


def compile_command() -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch, "rill")
        defines = [f'-DRILL_VERSION="{stamp.python_version()}"', f'-DRILL_COMMIT="{stamp.commit()}"']
        command = [*shlex.split(os.environ.get("CC", "cc")), *FLAGS.split(), *defines]
        subprocess.run([*command, "command.c", "rill.c", "-o", str(program)], cwd=ROOT / "native", check=True)
        return program.read_bytes()


def locks(inputs: Path) -> dict[str, str]:
    """The text of each lock, by Python version."""
    files = sorted((inputs / "lock").glob("requirements_py*.txt"))
    if not files:
        sys.exit(f"cannot build an image: there is no lock in {inputs / 'lock'}")
    return {path.stem.removeprefix("requirements_py"): path.read_text() for path in files}


def unpack(wheel: Path, version: str) -> archive.Entries:
    below = PACKAGES.format(version)
    return {below + name: data for name, data in archive.read_zip(wheel).items()}


def dependencies(inputs: Path) -> archive.Entries:
    """What the locks name, if its digest is the locked one."""
    files: archive.Entries = {}
    for version, lock in locks(inputs).items():
        for pin in PIN.finditer(lock):
            wheel = one(inputs / "vendored", f"{pin['name']}-{pin['version']}-*.whl")
            if oci.digest(wheel.read_bytes()) != pin["digest"]:
                sys.exit(f"cannot install {wheel.name} for Python {version}: its digest is not the locked one")
            files |= unpack(wheel, version)
    return files


def wheels(inputs: Path) -> archive.Entries:
    files: archive.Entries = {}
    for version in locks(inputs):
        files |= unpack(one(inputs / "pure-wheel", "rillkit-*.whl"), version)
        files |= unpack(one(inputs / "wheel", f"rillkit_speed-*-cp{version.replace('.', '')}-*.whl"), version)
    return files


def with_folders(files: archive.Entries) -> archive.Entries:
    folders = {f"{folder}/": b"" for name in files for folder in map(str, Path(name).parents) if folder != "."}
    return folders | files


def base(inputs: Path) -> oci.Image:
    image = oci.Image()
    system = {"bin/rill": compile_command(), "tmp/": b"", "etc/passwd": b"root:x:0:0:root:/:/bin/rill\n"}
    image.add_layer(with_folders(system), "images/build.py: the command rill")
    image.add_layer(with_folders(dependencies(inputs)), "images/build.py: the locked dependencies")
    image.run = {"Entrypoint": ["/bin/rill"], "Env": ["PATH=/bin"], "Labels": labels("rillkit-base")}
    return image


def project(inputs: Path) -> tuple[oci.Image, dict[str, str]]:
    """The base's own layers come first, byte for byte: a registry stores them once."""
    image, base_digest = oci.read(one(inputs / "base-image", "*.tar"))
    image.add_layer(with_folders(wheels(inputs)), "images/build.py: the project's wheels")
    annotations = labels("rillkit") | {oci.LABEL + "base.digest": base_digest}
    image.run |= {"Labels": annotations}
    return image, annotations


if __name__ == "__main__":
    verb, inputs, output = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if verb == "base":
        base(inputs).write(output, labels("rillkit-base"))
    else:
        image, annotations = project(inputs)
        image.write(output, annotations)
    print(output)
