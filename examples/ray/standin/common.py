"""What every stand-in needs: the commit that is built, the version that follows from it, archives that are the same each time."""

import hashlib
import io
import os
import re
import sys
import tarfile
import zipfile
from pathlib import Path


def commit():
    found = os.environ.get("SLUICE_COMMIT", "")
    if not re.fullmatch(r"[0-9a-f]{40}", found):
        sys.exit(f"cannot stamp: SLUICE_COMMIT is {found!r}, expected 40 hexadecimal digits")
    return found


def version():
    """Each commit is a version of its own, so that no release meets the files of another."""
    return f"3.0.0.dev{int(commit()[:9], 16)}"


def inputs(job, pattern):
    """The artifacts of another job, as they are laid out before a task starts."""
    found = sorted((Path(os.environ["SLUICE_INPUTS"]) / job).rglob(pattern))
    if not found:
        sys.exit(f"cannot find {pattern} among the inputs of {job}")
    return found


def tag(python):
    return "cp" + python.replace(".", "")


def dist(name):
    path = Path("dist") / name
    path.parent.mkdir(exist_ok=True)
    return path


def write_zip(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)


def make_tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def junit(name, cases):
    """Writes a report; a case is a name and what is wrong with it, or None. Returns the exit status."""
    failed = [c for c in cases if c[1]]
    Path("reports").mkdir(exist_ok=True)
    with open(f"reports/{name}.xml", "w") as report:
        report.write(f'<testsuite name="{name}" tests="{len(cases)}" failures="{len(failed)}">\n')
        for case, wrong in cases:
            report.write(f'  <testcase classname="{name}" name="{case}">')
            report.write(f"<failure>{wrong}</failure>" if wrong else "")
            report.write("</testcase>\n")
            print(("FAIL " if wrong else "ok   ") + case + (f": {wrong}" if wrong else ""))
        report.write("</testsuite>\n")
    return 1 if failed else 0
