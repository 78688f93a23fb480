// Package client is the API of a Sluice as a Go client: looking at runs, tasks, logs, artifacts, pools and streams, and
// acting on them. The command line is made of it; so can other programs be.
//
//	at, err := client.Find(client.Place{Dir: ".sluice"})
//	c, err := client.New(at)
//	run, err := c.Resolve(ctx, "latest")
//	err = c.Artifacts(ctx, run, func(a client.Artifact) error { … })
//
// What a server says is not trusted: names never become paths outside the folder that was asked for, downloads are
// compared with their digests, answers have a size limit, and text is made harmless for a terminal by Line and LogLine.
// A token is sent to the server that it is for and to no other, and no error holds it.
package client
