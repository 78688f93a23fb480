"""wheel.py PYTHON PLATFORM: stands in for the C++ build of the two wheels, ray and ray_cpp."""

import base64
import hashlib
import sys

from common import commit, dist, inputs, tag, version, write_zip

python, platform = sys.argv[1:]
lock = [path for path in inputs("lock", f"requirements_py{python}.txt")][0].read_text()


def record(files):
    lines = []
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join(lines)


for product in ("ray", "ray_cpp"):
    info = f"{product}-{version()}.dist-info"
    files = {
        f"{product}/__init__.py": b"from ._version import commit as __commit__, version as __version__\n",
        f"{product}/_version.py": f'version = "{version()}"\ncommit = "{commit()}"\n'.encode(),
        f"{product}/core/native.txt": f"native code for {platform}\n".encode(),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {product}\nVersion: {version()}\nRequires-Python: =={python}.*\n".encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: standin\nRoot-Is-Purelib: false\nTag: {tag(python)}-{tag(python)}-{platform}\n".encode(),
        f"{info}/licenses/LOCK": lock.encode(),
    }
    files[f"{info}/RECORD"] = (record(files) + f"{info}/RECORD,,\n").encode()
    path = dist(f"{product}-{version()}-{tag(python)}-{tag(python)}-{platform}.whl")
    write_zip(path, files)
    print(path)
