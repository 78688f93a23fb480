// Package world is what stands around Sluice, small and on loopback: a git server with pull requests and webhooks, a
// Python index that takes uploads, an image registry. The demo runs in it, and the scenarios do. It speaks the real
// protocols to the ordinary clients (git push, pip, crane), and counts what it was given, so that "nothing was published
// twice" is something to look up.
package world
