package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/loopback"
)

// node is a nats-server of a cluster.
type node struct {
	name, client, route, monitor string
	cmd                          *exec.Cmd
	exited                       chan struct{}
}

// nodes are three nats-servers that keep every stream three times, with the configuration that `sluice nats config` prints.
type nodes struct {
	t   testing.TB
	dir string
	all []*node
}

func newNodes(t testing.TB) *nodes {
	t.Helper()
	n := &nodes{t: t, dir: t.TempDir()}
	for i := range 3 {
		n.all = append(n.all, &node{
			name: fmt.Sprint("nats-", i+1), client: loopback.ReserveFor(t), route: loopback.ReserveFor(t), monitor: loopback.ReserveFor(t),
		})
	}
	var routes []string
	for _, one := range n.all {
		routes = append(routes, `"nats://`+one.route+`"`)
	}
	for _, one := range n.all {
		conf := sluice(t, "nats", "config", "--dir", n.identities(), "--listen", one.client, "--store", filepath.Join(n.dir, one.name), "--name", one.name)
		conf = fmt.Appendf(conf, "http: %q\ncluster { name: sluice, listen: %q, no_advertise: true, routes: [%s] }\n", one.monitor, one.route, strings.Join(routes, ", "))
		if err := os.WriteFile(n.conf(one), conf, 0o600); err != nil {
			t.Fatal(err)
		}
		n.start(one)
	}
	t.Cleanup(func() {
		for _, one := range n.all {
			n.end(one, syscall.SIGKILL)
		}
	})
	return n
}

func (n *nodes) identities() string    { return filepath.Join(n.dir, "identities") }
func (n *nodes) conf(one *node) string { return filepath.Join(n.dir, one.name+".conf") }

func (n *nodes) start(one *node) {
	n.t.Helper()
	file, err := builtServer()
	if err != nil {
		n.t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(n.dir, one.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	one.cmd, one.exited = exec.Command(file, "--config", n.conf(one)), make(chan struct{})
	one.cmd.Stdout, one.cmd.Stderr = log, log
	if err := one.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // a killed process exits with an error
		_ = log.Close()
		close(exited)
	}(one.cmd, one.exited)
}

// end ends a node with a signal and waits until it has ended.
func (n *nodes) end(one *node, with syscall.Signal) {
	_ = one.cmd.Process.Signal(with)
	_ = one.cmd.Process.Signal(syscall.SIGCONT) // one that was stopped
	<-one.exited
}

// ready waits until every node says that JetStream works there with all streams as new as can be.
func (n *nodes) ready() {
	n.t.Helper()
	for _, one := range n.all {
		n.until(one.name+" is healthy", func() bool {
			answer, err := http.Get("http://" + one.monitor + "/healthz")
			if err != nil {
				return false
			}
			_ = answer.Body.Close()
			return answer.StatusCode == http.StatusOK
		})
	}
}

// leader is the node that leads the facts.
func (n *nodes) leader() *node {
	n.t.Helper()
	var led *node
	n.until("somebody leads the facts", func() bool {
		name := n.leads()
		i := slices.IndexFunc(n.all, func(one *node) bool { return one.name == name })
		if i >= 0 {
			led = n.all[i]
		}
		return led != nil
	})
	return led
}

// leads asks a node which of them leads the facts.
func (n *nodes) leads() string {
	answer, err := http.Get("http://" + n.all[0].monitor + "/jsz?accounts=1&streams=1")
	if err != nil {
		return ""
	}
	defer func() { _ = answer.Body.Close() }()
	var got struct {
		Accounts []struct {
			Streams []struct {
				Name    string `json:"name"`
				Cluster struct {
					Leader string `json:"leader"`
				} `json:"cluster"`
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	_ = json.NewDecoder(answer.Body).Decode(&got)
	for _, a := range got.Accounts {
		for _, s := range a.Streams {
			if s.Name == bus.Facts {
				return s.Cluster.Leader
			}
		}
	}
	return ""
}

func (n *nodes) until(what string, so func() bool) {
	n.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !so(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			n.t.Fatalf("it is not so after three minutes: %s", what)
		}
	}
}

// urls are where clients connect.
func (n *nodes) urls() []string {
	var out []string
	for _, one := range n.all {
		out = append(out, "nats://"+one.client)
	}
	return out
}
