# cluster.sh create|ready|destroy: stands in for a cloud. Its clusters are directories below $RAYISH_CLOUD, which all tests of
# this machine share, as they would share a cloud's account. cast.txt says whose creation fails.
set -eu
here=$(dirname "$0")
cluster=$RAYISH_CLOUD/$SLUICE_TAG
case $1 in
create)
	mkdir -p "$cluster"
	. "$here/cast.sh"
	if [ "$cluster_fails" -ge "$SLUICE_ATTEMPT" ]; then
		echo "cannot create the cluster: there is no capacity for ${RAY_TEST_COMPUTE:-it} now" >&2
		exit 15
	fi
	i=0
	while [ "$i" -lt "${SLUICE_NODES:-1}" ]; do
		echo local # a node of this machine
		i=$((i + 1))
	done >"$SLUICE_PLACES"
	;;
ready) test -d "$cluster" ;;
destroy) rm -rf "$cluster" ;;
esac
