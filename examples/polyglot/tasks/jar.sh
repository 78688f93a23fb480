# The JAR with the native library of one platform.
python=$(sh tools/python-for)
"$python" java/build.py native "$1" dist
