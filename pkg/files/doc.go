// Package files reads directories that somebody else filled, and perhaps still does. A walk has limits and ends with its
// context, a glob looks at every name once however many ** it has, and what is opened is a plain file: a named pipe in its place
// holds nobody up. No name and no link leads out of the os.Root that they are given.
package files
