# Packs the vendored dependencies as wheels: all that pip may see, since there is no package index.
python=$(sh tools/python-for)
for project in vendor/*/; do
    "$python" tools/wheelsmith.py "$project" wheelhouse
done
