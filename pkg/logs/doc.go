// Package logs cuts the output of an attempt into numbered chunks for those who watch, keeps its last lines for the
// result, and writes a compressed copy of the whole. It does no I/O of its own: chunks go to a function, the copy to a
// writer.
//
// The chunks put together are the log, made valid UTF-8. A chunk ends when it is full, or Every after its first byte,
// wherever the text then is: a line without an end (a prompt, a row of dots) is seen in time too.
package logs
