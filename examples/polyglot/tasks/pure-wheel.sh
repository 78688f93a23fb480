# The wheel for every Python.
python=$(sh tools/python-for)
"$python" tools/wheelsmith.py python/rillkit dist
