// Package pack makes tar streams of directories and unpacks tars that nobody trusts.
//
// A directory packed twice gives the same bytes: names are sorted, times and owners are zero, modes are 0644 or 0755. So
// a directory that is one artifact has one digest. Symbolic links are kept as long as they stay inside.
package pack
