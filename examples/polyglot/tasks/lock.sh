# Locks the dependencies for one Python version.
python=$(sh tools/python-for "$1")
"$python" locks/lock.py "$SLUICE_INPUTS/vendored" >"requirements_py$1.txt"
cat "requirements_py$1.txt"
