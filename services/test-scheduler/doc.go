// Package scheduler is the test-scheduler: it decides which task goes to which pool when, what becomes of an attempt that
// did not succeed, whether the gate opens, and how a run ends.
//
// It decides nothing itself: pkg/schedule does, and this service keeps that core fed with facts and heartbeats, carries
// its intents to the stream, wakes it when time alone changes something, and lets it answer "why". It also requests the
// tests of a plan once there is a candidate to test.
//
// It never runs a task, never talks to an executor but through the stream, and keeps nothing: a new process reads the
// facts from their beginning and goes on. Two at once are harmless, since the stream keeps one event per place.
package scheduler
