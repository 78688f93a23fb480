# Takes the image apart and runs what is in it.
python=$(sh tools/python-for)
"$python" -B tests/junit.py reports/image.xml tests/test_image.py
