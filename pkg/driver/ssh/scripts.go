package ssh

import "strings"

// quote makes one word of a POSIX shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// shell is the command line that runs a script with words as its arguments, whatever shell the account logs in with.
func shell(script string, words ...string) string {
	line := strings.Builder{}
	line.WriteString("exec /bin/sh -c " + quote(script) + " sluice")
	for _, word := range words {
		line.WriteString(" " + quote(word))
	}
	return line.String()
}

// baseScript makes the directory of all attempts and says where it is.
const baseScript = `umask 077; mkdir -p -- "$1" && cd -- "$1" && pwd -P`

// library is for scripts that end things. Processes of an attempt are those of the command's session and those that
// carry the leash in their environment.
const library = `
hunt() { # hunt LEASH: kills what carries it until nothing is found
	hunted=0 round=0
	while [ $round -lt 50 ]; do
		round=$((round+1)) found=
		for file in $(grep -lsF -e "$1" /proc/[0-9]*/environ); do
			id=${file#/proc/}
			kill -KILL "${id%/environ}" 2>/dev/null && found=1 hunted=$((hunted+1))
		done
		[ -n "$found" ] || return 0
	done
}
group() { # group SIGNAL LEASH: signals the command's process group, if it is still that
	leader=$(cat leader 2>/dev/null)
	[ -n "$leader" ] || return 1
	if [ ! -d "/proc/$leader" ] || grep -qsF -e "$2" "/proc/$leader/environ"; then
		kill "-$1" "-$leader" 2>/dev/null
	fi
}
`

// superviseScript is the parent of a command, in a session of its own. Its arguments are the attempt's directory, the
// leash, and after how many rounds of how many seconds without a sign of the driver the command is ended.
const superviseScript = library + `
lives() { # whether the command's group has a member that is no zombie: some hosts reap those late
	leader=$(cat leader 2>/dev/null)
	[ -n "$leader" ] && kill -0 "-$leader" 2>/dev/null || return 1
	for stat in /proc/[0-9]*/stat; do
		{ read -r line <"$stat"; } 2>/dev/null || continue
		set -- ${line##*) }
		case $1 in [ZX]) continue ;; esac
		[ "$3" != "$leader" ] || return 0
	done
	return 1
}
cd -- "$1" || exit 1
trap '' HUP INT TERM
exec 9<>pipe
(
	last= same=0
	while sleep "$4"; do
		now=$(cat contact 2>/dev/null)
		if [ "$now" = "$last" ]; then same=$((same+1)); else same=0 last=$now; fi
		if [ $same -ge "$3" ]; then : >orphaned; group KILL "$2"; hunt "$2"; exit; fi
	done
) 9>&- >/dev/null 2>&1 </dev/null &
watcher=$!
(trap - HUP INT TERM; exec setsid /bin/sh ./job "$1" "$2") 9>&- >>log 2>&1 </dev/null
code=$?
if [ -f asked ]; then
	while lives; do sleep 0.05 || sleep 1; done
fi
group KILL "$2"
hunt "$2"
kill -KILL $watcher 2>/dev/null
echo "$code $hunted" >exit.new && mv exit.new exit
`

// launchScript takes the job on its standard input, starts the supervisor and says the job's first word. A connection that
// breaks looks like the end of the input: half a job is not run. Its arguments are
// those of the supervisor, then the supervisor itself and when the attempt expires.
const launchScript = `
umask 077
mkdir -p -- "$1" && cd -- "$1" && cat >job && mkfifo pipe first && : >log && : >contact &&
	echo "$6" >expires && [ "$(tail -n 1 job)" = "# whole" ] || exit 1
supervise() { "$@" /bin/sh -c "$supervisor" sluice-supervisor "$dir" "$leash" "$rounds" "$pause" </dev/null >/dev/null 2>&1; }
dir=$1 leash=$2 rounds=$3 pause=$4 supervisor=$5
if setsid -f true 2>/dev/null; then supervise setsid -f # A shell would make the command deaf to SIGINT.
else supervise setsid & fi
read -r word <first
echo "$word"`

// followScript sends the log from a byte on and, once the supervisor has ended, says on standard error how: the exit
// status, how many processes were left, how long the log is. Each line on its standard input is a sign of the driver; when
// that ends, everything here does.
const followScript = `
cd -- "$1" || { echo gone >&2; exit 0; }
exec 6<&0 8<>pipe 7<pipe 8>&-
tail -c "+$2" -f log </dev/null 2>/dev/null 6<&- 7<&- &
tail=$!
(
	while read -r sign <&6; do echo "$sign" >contact; done
	kill -KILL $tail $$ 2>/dev/null
) 7<&- >/dev/null 2>&1 &
read -r none <&7
size=$(wc -c <log)
if [ -f orphaned ]; then echo "orphaned 0 $((size))" >&2
elif [ -f exit ]; then read -r code hunted <exit; echo "$code $hunted $((size))" >&2
else echo "lost 0 $((size))" >&2
fi
exec 1>&- 2>&-
wait`

// signalScript asks the command's group to end, or kills it with all that carries the leash. Arguments: directory, leash,
// TERM or KILL.
const signalScript = library + `
cd -- "$1" 2>/dev/null || exit 0
: >asked
group "$3" "$2"
[ "$3" = KILL ] && hunt "$2" || group CONT "$2"
exit 0`

// removeScript ends what is left of an attempt, scripts of this file with its leash among their arguments too, and removes its directory.
const removeScript = library + `
cd -- "$1" 2>/dev/null || exit 0
again=1
while [ -n "$again" ]; do
	again=
	for file in $(grep -lsF -e "$2" /proc/[0-9]*/cmdline); do
		id=${file#/proc/} id=${id%/cmdline}
		if [ "$id" != $$ ] && kill -KILL "$id" 2>/dev/null; then again=1; fi
	done
	group KILL "$2"
	hunt "$2"
done
chmod -R u+rwX . 2>/dev/null
cd / && rm -rf -- "$1"`

// sweepScript lists the attempts of earlier instances of a place and those of any place that have expired. Arguments: the
// base, the place, the instance.
const sweepScript = `
cd -- "$1" || exit 0
now=$(date +%s)
for dir in */*/; do
	dir=${dir%/}
	[ -d "$dir" ] || continue
	if [ "${dir%%/*}" = "$2" ]; then
		case ${dir#*/} in "$3"-*) continue ;; esac
	else
		expires=$(cat "$dir/expires" 2>/dev/null)
		[ "$now" -gt "${expires:-$now}" ] || continue
	fi
	echo "$dir"
done`

// uploadScript unpacks a tree that comes on its standard input. Arguments: the attempt's directory, the tree's, and when
// the attempt expires.
const uploadScript = `umask 077; mkdir -p -- "$2" && echo "$3" >"$1/expires" && exec tar -xpof - -C "$2"`

// downloadScript sends a tree.
const downloadScript = `exec tar -cf - -C "$1" .`
