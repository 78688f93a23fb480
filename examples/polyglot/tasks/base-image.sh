# The image that changes rarely: the command and the locked dependencies.
python=$(sh tools/python-for)
"$python" images/build.py base "$SLUICE_INPUTS" "dist/rillkit-base.tar"
