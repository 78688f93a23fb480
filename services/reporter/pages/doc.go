// Package pages draws what the reporter knows for a browser: server-rendered, complete without JavaScript, live with it.
//
// Every name, title, reason and log line comes from strangers. html/template escapes all of it; the two places that make
// markup themselves, the colours of logs (ansi.go) and the drawings (graph.go, waterfall.go), escape what they are
// given. The content security policy allows no inline script and no inline style, so what slipped through would not run.
//
// A drawing's or a row's place does not depend on what is live about it: nothing moves under the pointer.
package pages
