# The checkout that the test runs in says it, so that a commit can break a test.
cast_root=$PWD
while [ "$cast_root" != / ] && [ ! -e "$cast_root/standin/cast.txt" ]; do cast_root=$(dirname "$cast_root"); done
# Looks up what the test $RAY_TEST_NAME does, by cast.txt: sets seconds, status and cluster_fails for this attempt.
seconds=0.05 status=0 cluster_fails=0
cast_found=
for cast_file in ${RAYISH_CAST:-} "$cast_root/standin/cast.txt"; do
	[ -z "$cast_found" ] || break
	while read -r cast_name cast_seconds cast_rest; do
		case $cast_name in '' | '#'*) continue ;; esac
		# shellcheck disable=SC2254 # the name is a glob
		case ${RAY_TEST_NAME:-none} in $cast_name) ;; *) continue ;; esac
		cast_found=yes seconds=$cast_seconds cast_n=0
		for cast_word in $cast_rest; do
			case $cast_word in
			cluster:*) cluster_fails=${cast_word#cluster:} ;;
			*)
				cast_n=$((cast_n + 1))
				[ "$cast_n" -gt $((SLUICE_ATTEMPT - cluster_fails > 0 ? SLUICE_ATTEMPT - cluster_fails : 1)) ] || status=$cast_word
				;;
			esac
		done
		break
	done <"$cast_file"
done
