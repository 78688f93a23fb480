// Package idtoken signs OpenID Connect identity tokens that tell another service which task is asking, and publishes the keys
// to check them with. With such a token a task gets short-lived credentials from a cloud or a store of secrets, and nobody
// has to keep a long-lived one.
//
// One process holds the keys and signs. Executors ask for tokens and never see a key: with one, a machine of any pool could
// pretend to be any task.
package idtoken
