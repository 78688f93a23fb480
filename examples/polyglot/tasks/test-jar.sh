# Runs the multi-platform JAR, and a stranger's program on it.
python=$(sh tools/python-for)
"$python" -B tests/junit.py reports/jar.xml tests/test_jar.py
