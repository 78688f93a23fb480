# The C extension's wheel for one Python version.
python=$(sh tools/python-for "$1")
"$python" tools/wheelsmith.py python/rillkit-speed dist
