package main

import "strings"

// private lists the files and directories of the platform. They do not exist for the commands of tasks.
func (in *installation) private() []string {
	list := append([]string{in.Dir, in.Publisher.Root, in.NATS.Creds, in.NATS.TLS.Key}, in.Secrets.Files...)
	for _, provider := range in.Secrets.Providers {
		list = append(list, provider.Path)
	}
	if dir, local := strings.CutPrefix(in.Blobs, "file://"); local {
		list = append(list, dir)
	}
	for _, member := range in.Executors {
		list = append(list, member.Dir, member.Caches)
	}
	var named []string
	for _, path := range list {
		if path != "" {
			named = append(named, path)
		}
	}
	return named
}
