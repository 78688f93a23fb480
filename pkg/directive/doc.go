// Package directive is the language of comments: lines such as "/test smoke" in a comment of a pull request.
//
// A directive is a line that begins with "/" and a word, outside of code fences, indented code, quotes and HTML
// comments. Everything else is talk and means nothing here. Parse reads all directives of a comment, or tells everything
// that is wrong with them at once: a comment that is wrong anywhere does nothing.
//
// The table of verbs (Table) is all at once what Parse knows, who may use what, and the text of /help.
//
// Everything here is pure, and the comment is a stranger's: its size, its lines and its directives are bounded, what it
// may hold is checked, and what an answer repeats of it is text that no forge obeys.
package directive
