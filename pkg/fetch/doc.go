// Package fetch opens what stands at a URL that somebody wrote into a definition, and tells what is not there yet from
// what will never be.
//
//	absent     404, 403, 410, no such file    it may come: ask again
//	Transient  5xx, 429, no connection        it may be there: ask again, and tell
//	else       401, a wrong certificate …     asking again will not help
//
// Servers are hostile: redirects, headers, bytes and silence are bounded. So are definitions: whoever can push a branch
// could otherwise read through the builder what only the builder can reach, the metadata of its machine for one.
package fetch
