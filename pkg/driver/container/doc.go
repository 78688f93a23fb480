// Package container runs attempts in containers of a Docker Engine: docker and podman alike, over their API.
//
// A command does not run as process 1, which hears no signal that it does not handle, but below a script (script.go)
// that needs nothing of the image but a POSIX shell. It joins both outputs into one stream, so that their order is kept,
// and talks to the driver on the one that became free: ready, no such program, killed for its memory.
//
// Nothing stays: a container ends with its command and is removed. Its standard input is a leash: when the executor
// dies, the engine closes it and the script ends the container. What even that misses (the machine went down) carries
// labels that say whose it is and when it expires, and Sweep removes it.
package container
