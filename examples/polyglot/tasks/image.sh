# The project's image: the base, and on it the wheels.
python=$(sh tools/python-for)
"$python" images/build.py project "$SLUICE_INPUTS" "dist/rillkit.tar"
