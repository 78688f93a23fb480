// Package wheels names the wheels of a release, resolves what "the wheels under test" are meant to be (a commit, a URL,
// a file, a branch, somebody's fork), and checks that a set is whole and of the commit that it says.
package wheels
