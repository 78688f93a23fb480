"""Is the release whole: forty wheels, each of this commit?"""

import sys
import zipfile

from common import commit, inputs, junit, tag, version

PYTHONS = ["3.9", "3.10", "3.11", "3.12"]
PLATFORMS = ["manylinux2014_x86_64", "manylinux2014_aarch64", "macosx_10_15_x86_64", "macosx_11_0_arm64", "win_amd64"]
want = {f"{product}-{version()}-{tag(p)}-{tag(p)}-{platform}.whl" for product in ("ray", "ray_cpp") for p in PYTHONS for platform in PLATFORMS}
have = {path.name: path for path in inputs("wheel", "*.whl")}


def wrong(name):
    if name not in have:
        return "is missing"
    if name not in want:
        return "is not expected"
    with zipfile.ZipFile(have[name]) as wheel:
        (stamped,) = [n for n in wheel.namelist() if n.endswith("/_version.py")]
        if commit() not in wheel.read(stamped).decode():
            return "is of another commit"


sys.exit(junit("complete", [(name, wrong(name)) for name in sorted(want | set(have))]))
