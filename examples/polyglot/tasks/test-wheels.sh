# Installs the wheels for one Python version in a clean environment and tests them there.
python=$(sh tools/python-for "$1")
"$python" tests/cleanroom.py "$1" room
room/bin/python -I -B tests/junit.py reports/wheels.xml tests/test_wheels.py
