// Package ssh runs attempts on another machine, typically bare metal, over SSH. That machine needs an account with a
// POSIX shell, setsid, tar and a /proc; nothing is installed there.
//
// A command does not hang on its connection. It runs below a small shell script (scripts.go) in a session of its own,
// writes to a log file and leaves its exit status in another; the driver follows the log. When the connection is lost the
// driver comes back, goes on reading at the byte where it was, and reads the status, however long ago that was written.
// Who is to be ended is ended after a reconnect too.
//
// A host that hears nothing of the driver for Options.Orphan ends the command itself, so that a machine that lost its
// executor comes to rest; its directory is swept by the executor's successor, or by anybody once it has expired.
//
// Hosts are known by their keys: one that is not in known_hosts, or has another key there, is refused.
package ssh
