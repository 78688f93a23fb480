# The C extension's wheel for one Python version. It carries the lock that it is tested with, for whoever wants the same.
python=$(sh tools/python-for "$1")
cp "$SLUICE_INPUTS/lock/requirements_py$1.txt" python/rillkit-speed/src/rillkit_speed/tested-with.txt
"$python" tools/wheelsmith.py python/rillkit-speed dist
