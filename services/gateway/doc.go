// Package gateway is where the world enters: webhooks, actions by people, the directives of comments, and the heads of
// watched branches that no webhook announced.
//
// It decides whether a request is genuine and what change it is, and answers 2xx only after the event is durably in the
// stream. What the forge has to be asked for, who wrote a comment and what the pull request's head is, it asks after that.
// It never reads a definition, never talks to a lab or a registry, and keeps no state: what was said already is in the
// stream, and saying it again changes nothing.
package gateway
