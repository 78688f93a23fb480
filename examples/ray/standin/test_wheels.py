"""test_wheels.py PYTHON: imports the wheel of this machine's kind as its users would."""

import sys

from common import commit, inputs, junit, tag, version

python = sys.argv[1]
cases = []
for product in ("ray", "ray_cpp"):
    (wheel,) = inputs("wheel", f"{product}-{version()}-{tag(python)}-*-manylinux2014_x86_64.whl")
    sys.path.insert(0, str(wheel))
    module = __import__(product)
    cases.append((f"{product} has its version", None if module.__version__ == version() else module.__version__))
    cases.append((f"{product} has its commit", None if module.__commit__ == commit() else module.__commit__))
sys.exit(junit(f"wheels-{python}", cases))
