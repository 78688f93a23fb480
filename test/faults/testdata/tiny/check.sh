# Passes unless the commit holds a file "broken".
set -eu
ls "$SLUICE_INPUTS/wheel" "$SLUICE_INPUTS/jar"
if [ -e broken ]; then
	echo '<testsuite tests="1" failures="1"><testcase name="taste"><failure message="too salty"/></testcase></testsuite>' >report.xml
	exit 1
fi
echo '<testsuite tests="1"><testcase name="taste"/></testsuite>' >report.xml
