// Ray plays a release of Ray's size on this machine: the real release suite, whose clusters and workloads are played by
// examples/ray/standin. It runs the sluice binary as a user would, with the forge, the package indexes and the registry of
// pkg/world around it, and ends with an error when something does not come out as it must.
//
//	make ray
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	binary := flag.String("sluice", "bin/sluice", "the binary to run")
	keep := flag.Bool("stay", false, "stay up at the end, to look around")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *binary, *keep)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ray:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary string, stay bool) error {
	dir, err := os.MkdirTemp("", "sluice-ray-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	w, err := newWorld(ctx, dir)
	if err != nil {
		return err
	}
	defer w.Close()
	s, err := w.up(ctx, binary)
	if err != nil {
		return err
	}
	defer s.stop()
	say("Sluice is up: %s", s.url)
	begin := time.Now()
	for i, scene := range scenes() {
		at := time.Now()
		say("\n%d. %s", i+1, scene.title)
		if err := scene.play(ctx, w, s); err != nil {
			return fmt.Errorf("scene %d, %s: %w\n%s", i+1, scene.title, err, s.tail())
		}
		say("   (%.0f s)", time.Since(at).Seconds())
	}
	say("\nAll of it in %.0f seconds.", time.Since(begin).Seconds())
	if stay {
		say("It stays up: %s (ctrl-c ends it)", s.url)
		<-ctx.Done()
	}
	return nil
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
