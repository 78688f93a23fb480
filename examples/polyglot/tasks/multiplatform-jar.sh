# One JAR with the native libraries of every platform.
python=$(sh tools/python-for)
"$python" java/build.py join dist "$SLUICE_INPUTS"/jar/*.jar
