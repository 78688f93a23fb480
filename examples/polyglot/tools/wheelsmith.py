"""A small PEP 517 build backend, which is also a script: python wheelsmith.py PROJECT OUTPUT

A project is a folder with a wheel.ini and its packages under src/. If wheel.ini names an extension, it is compiled for
the interpreter that runs this file and the wheel is tagged for it; else the wheel is for every Python 3. A project
without a version of its own is ours: its version follows from the commit, and its package gets a _commit.py.
"""

import base64
import configparser
import hashlib
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import archive  # noqa: E402
import stamp  # noqa: E402

FLAGS = "-O2 -g0 -std=c11 -Wall -Wextra -Werror -fPIC -shared -ffp-contract=off -Wl,--build-id=none -Wl,-s"


class Project:
    """What wheel.ini says."""

    def __init__(self, folder: Path):
        self.folder = folder.resolve()
        self.ini = configparser.ConfigParser(delimiters=("=",), interpolation=None)
        self.ini.optionxform = str
        if not self.ini.read(self.folder / "wheel.ini"):
            sys.exit(f"cannot build {folder}: it has no wheel.ini")
        self.about = self.ini["about"]
        self.ours = "version" not in self.about
        self.version = stamp.python_version() if self.ours else self.about["version"]
        self.file_name = self.about["name"].replace("-", "_")

    def tag(self) -> str:
        if "extension" not in self.ini:
            return "py3-none-any"
        cpython = "cp%d%d" % sys.version_info[:2]
        return f"{cpython}-{cpython}-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")

    def metadata(self) -> str:
        lines = ["Metadata-Version: 2.1", f"Name: {self.about['name']}", f"Version: {self.version}"]
        lines += [f"Summary: {self.about['summary']}", f"Requires-Python: {self.about['python']}"]
        lines += [f"Provides-Extra: {extra}" for extra in self.about.get("extras", "").split()]
        lines += [f"Requires-Dist: {need}" for need in self.about.get("requires", "").strip().splitlines()]
        return "\n".join(lines).replace("{version}", self.version) + "\n"

    def commit_module(self) -> str:
        return f'"""Written by the build."""\n\nCOMMIT = "{stamp.commit()}"\nVERSION = "{self.version}"\n'


def compile_extension(project: Project) -> archive.Entries:
    """Compiles from inside the project's folder, with relative paths, so that no path of this machine gets in."""
    section = project.ini["extension"]
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch, "extension.so")
        command = [*shlex.split(os.environ.get("CC", "cc")), *FLAGS.split(), "-I" + sysconfig.get_path("include")]
        command += ["-I" + section["include"], *section["sources"].split(), "-o", str(library)]
        subprocess.run(command, cwd=project.folder, check=True)
        name = section["module"].replace(".", "/") + sysconfig.get_config_var("EXT_SUFFIX")
        return {name: library.read_bytes()}


def contents(project: Project) -> archive.Entries:
    files = archive.tree(project.folder / "src")
    if project.ours:
        files[f"{project.file_name}/_commit.py"] = project.commit_module().encode()
    if "extension" in project.ini:
        files.update(compile_extension(project))
    return dict(sorted(files.items()))


def dist_info(project: Project) -> archive.Entries:
    pure = str("extension" not in project.ini).lower()
    wheel = f"Wheel-Version: 1.0\nGenerator: wheelsmith\nRoot-Is-Purelib: {pure}\nTag: {project.tag()}\n"
    files = {"METADATA": project.metadata(), "WHEEL": wheel}
    if "scripts" in project.ini:
        scripts = "".join(f"{name} = {target}\n" for name, target in project.ini["scripts"].items())
        files["entry_points.txt"] = "[console_scripts]\n" + scripts
    folder = f"{project.file_name}-{project.version}.dist-info"
    return {f"{folder}/{name}": text.encode() for name, text in files.items()}


def record(files: archive.Entries) -> str:
    def line(name: str) -> str:
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(files[name])}\n"

    return "".join(line(name) for name in files)


def build(folder: Path, output: Path) -> Path:
    project = Project(folder)
    info = dist_info(project)
    files = contents(project) | info
    name = next(iter(info)).split("/")[0] + "/RECORD"
    files[name] = f"{record(files)}{name},,\n".encode()
    return archive.write_zip(output / f"{project.file_name}-{project.version}-{project.tag()}.whl", files)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517: called in the project's folder."""
    return build(Path.cwd(), Path(wheel_directory)).name


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517 demands the hook; this project releases wheels only."""
    raise NotImplementedError("cannot build a source distribution: this project releases wheels only")


if __name__ == "__main__":
    print(build(Path(sys.argv[1]), Path(sys.argv[2])))
