package container

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"sync"
)

// script is process 1 of every container. Its standard input is the leash: the first line lets the command begin, every other
// asks everything to end, and its end kills. A command that began before the engine had taken the connection could end before
// that too: then podman loses what was said.
// Its arguments are the limits of file size (in blocks of 512 bytes) and of CPU time (in seconds), then the command. What
// it says on standard error is read by news.
const script = `
exec 3<&0 </dev/null
say() { echo "$*" >&2; }
[ "$1" = 0 ] || ulimit -f "$1" || { say refused file_size; exit 125; }
[ "$2" = 0 ] || ulimit -t "$2" || { say refused cpu_time; exit 125; }
shift 2
command -v "$1" >/dev/null 2>&1 || { say missing; exit 127; }
say ready
read -r _ <&3 || exit 125
asked=
trap 'asked=1' TERM
(
	trap '' TERM
	while read -r _ <&3; do kill -TERM 1; kill -TERM -1; kill -CONT -1; done
	kill -KILL -1
) >/dev/null 2>&1 &
leash=$!
(exec "$@" 3<&- 2>&1)
code=$?
kill -KILL "$leash" 2>/dev/null
if [ -n "$asked" ]; then
	while kill -0 -1 2>/dev/null; do sleep 0.05 || sleep 1; done
fi
for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
	if [ -r "$file" ]; then
		while read -r key n; do [ "$key" != oom_kill ] || say oom "$n"; done <"$file"
	fi
done
exit $code`

// goLine on standard input lets the command begin.
const goLine = "go\n"

// endLine on standard input asks all processes of a container to end: first process 1, so that it waits for the rest when
// the command is gone. An exec would do the same, but podman keeps each of those around for five minutes.
const endLine = "end\n"

// news is what the script says. The command can say it too, if it goes out of its way; then it only lies about itself.
type news struct {
	first chan string // the first line: ready, missing, refused …; closed at the end of the stream

	mu   sync.Mutex
	last string // the last lines that it does not understand: what the shell or the engine complained about
	oom  bool
}

func newNews() *news { return &news{first: make(chan string, 1)} }

// maxLine bounds a line of news.
const maxLine = 1 << 10

// read reads lines until the stream ends; more than fits a line is dropped.
func (n *news) read(r io.Reader) {
	defer close(n.first)
	lines := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		n.hear(strings.TrimSpace(string(line)))
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

func (n *news) hear(line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "":
	case "ready", "missing", "refused":
		select {
		case n.first <- line:
		default:
		}
	case "oom":
		count, err := strconv.Atoi(rest)
		n.mu.Lock()
		n.oom = n.oom || err == nil && count > 0
		n.mu.Unlock()
	default:
		n.mu.Lock()
		n.last = line
		n.mu.Unlock()
	}
}

func (n *news) outOfMemory() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.oom
}

func (n *news) complaint() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}
