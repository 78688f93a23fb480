"""Runs the jobs of sluice.yaml by hand, as an executor would: two at a time, each in a copy of the tree, with a clean
environment, and with the outputs of the jobs it needs as its inputs.

Builds and tests everything, builds it again elsewhere and compares the digests, then breaks the core and expects the
release tests, and nothing else, to fail. python check.py [--keep FOLDER]
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMITS = ("5eed" * 10, "b0b0" * 10)  # of the sound tree and of the broken one
PASSED_ON = ("PATH", "PYENV_ROOT", "SLUICE_PYENV_ROOT", "JAVA_HOME", "CC")


def listed(script: str) -> list[str]:
    return subprocess.run(["sh", ROOT / "scripts" / script], capture_output=True, text=True, check=True).stdout.split()


@dataclass(frozen=True)
class Job:
    name: str
    needs: tuple[str, ...] = ()
    over: str = ""  # the name of its matrix's axis
    outputs: str = "dist/*"


JOBS = [
    Job("vendored", outputs="wheelhouse/*.whl"),
    Job("jar", over="platform"),
    Job("pure-wheel"),
    Job("lock", ("vendored",), "python", "requirements_py*.txt"),
    Job("wheel", ("lock",), "python"),
    Job("multiplatform-jar", ("jar",)),
    Job("base-image", ("lock", "vendored")),
    Job("image", ("base-image", "lock", "pure-wheel", "wheel")),
    Job("test-jar", ("multiplatform-jar",), outputs="reports/*.xml"),
    Job("test-wheels", ("vendored", "lock", "pure-wheel", "wheel"), "python", "reports/*.xml"),
    Job("test-image", ("base-image", "image", "wheel"), outputs="reports/*.xml"),
]


@dataclass
class Round:
    """One pass over all jobs."""

    folder: Path
    source: Path
    commit: str
    matrix: dict[str, list[str]]
    failed: dict[str, str] = field(default_factory=dict)  # a task's log, by the task's name
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self) -> float:
        """Starts what has all it needs, two at a time; a task whose needs failed never starts."""
        began = time.perf_counter()
        waiting = [(job, value) for job in JOBS for value in (self.matrix[job.over] if job.over else [""])]
        running: dict = {}
        with ThreadPoolExecutor(2) as pool:
            while waiting or running:
                unfinished = {job.name for job, _ in [*waiting, *running.values()]}
                ready = [task for task in waiting if not unfinished.intersection(task[0].needs)]
                for task in ready[: 2 - len(running)]:
                    waiting.remove(task)
                    running[pool.submit(self.attempt, *task)] = task
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    del running[done]
                    done.result()
        return time.perf_counter() - began

    def attempt(self, job: Job, value: str) -> None:
        name, began = f"{job.name} {value}".strip(), time.perf_counter()
        workspace = self.folder / "work" / name.replace(" ", "-")
        shutil.copytree(self.source, workspace, ignore=shutil.ignore_patterns("__pycache__", ".git"))
        command = ["sh", "-eu", f"tasks/{job.name}.sh", *([value] if value else [])]
        done = subprocess.run(
            command, cwd=workspace, env=self.environment(job, value, workspace), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
        )
        left = [self.keep(job, path) for path in sorted(workspace.glob(job.outputs))]
        if done.returncode != 0 or not left:
            self.failed[name] = done.stdout
        self.seconds[name] = time.perf_counter() - began

    def environment(self, job: Job, value: str, workspace: Path) -> dict[str, str]:
        home = workspace.with_name(workspace.name + ".home")
        home.mkdir()
        env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        env |= {"HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "SLUICE_COMMIT": self.commit}
        env["SLUICE_INPUTS"] = str(self.folder / "outputs")
        return env | ({f"SLUICE_MATRIX_{job.over.upper()}": value} if value else {})

    def keep(self, job: Job, path: Path) -> Path:
        kept = self.folder / "outputs" / job.name / path.name
        kept.parent.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copyfile(path, kept))

    def digests(self) -> dict[str, str]:
        files = sorted(p for p in (self.folder / "outputs").rglob("*") if p.is_file() and p.suffix != ".xml")
        return {str(p.relative_to(self.folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def same_jobs_as_definition() -> None:
    defined = re.findall(r"run: sh -eu tasks/([a-z-]+)\.sh", (ROOT / "sluice.yaml").read_text())
    if sorted(defined) != sorted(job.name for job in JOBS):
        sys.exit(f"cannot check: sluice.yaml has the jobs {sorted(defined)}, this script others")


def sound(folder: Path, matrix: dict[str, list[str]]) -> Round:
    done = Round(folder, ROOT, COMMITS[0], matrix)
    print(f"{folder.name}: {done.run():.1f} s for {len(done.seconds)} tasks", flush=True)
    for name, log in done.failed.items():
        print(f"--- {name} failed:\n{log}")
    if done.failed:
        sys.exit(f"cannot go on: {sorted(done.failed)} failed")
    return done


def broken(folder: Path, matrix: dict[str, list[str]]) -> Round:
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns("__pycache__", ".git"))
    subprocess.run(["sh", source / "scripts" / "break"], check=True)
    done = Round(folder, source, COMMITS[1], matrix)
    print(f"{folder.name}: {done.run():.1f} s for {len(done.seconds)} tasks", flush=True)
    return done


def check(folder: Path) -> None:
    matrix = {"python": listed("pythons"), "platform": listed("platforms")}
    print(f"pythons {matrix['python']}, platforms {matrix['platform']}")
    if not all(matrix.values()):
        sys.exit("cannot check everything: expected a CPython from 3.10 to 3.13 with headers and pip, and a JDK")
    first, again = sound(folder / "first", matrix), sound(folder / "again", matrix)
    for name in sorted(first.seconds):
        print(f"  {first.seconds[name]:5.2f} s  {name}")
    differ = [name for name, digest in first.digests().items() if again.digests().get(name) != digest]
    if differ or not first.digests():
        sys.exit(f"cannot reproduce {differ}: the same commit gave other bytes")
    print(f"{len(first.digests())} artifacts are the same, byte for byte, in both")
    wrong = broken(folder / "broken", matrix)
    tests = {name for name in first.seconds if name.startswith("test-")}
    if set(wrong.failed) != tests:
        sys.exit(f"expected the broken core to fail {sorted(tests)} alone, but {sorted(wrong.failed)} failed")
    print(f"the broken core was found by {len(tests)} release tests")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="leave workspaces and outputs there")
    options = parser.parse_args()
    same_jobs_as_definition()
    with tempfile.TemporaryDirectory() as scratch:
        check((options.keep or Path(scratch)).resolve())
