package container

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// Sweep removes the containers of earlier instances of this place, and those of any place that have expired.
func (d *Driver) Sweep(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	list, err := d.engine.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", labelPlace)})
	if err != nil {
		return 0, engineError("list containers", err)
	}
	removed := 0
	var failed error
	for _, one := range list.Items {
		if !d.leftover(one.Labels, time.Now()) {
			continue
		}
		if err := d.removeContainer(ctx, one.ID); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		removed++
		d.log.WarnContext(ctx, "removed a container that an earlier executor left", "container", one.Names, "labels", one.Labels)
	}
	return removed, failed
}

// leftover reports whether nobody can want a container with these labels any more.
func (d *Driver) leftover(labels map[string]string, now time.Time) bool {
	if labels[labelPlace] == d.place {
		return labels[labelInstance] != d.instance
	}
	expires, err := strconv.ParseInt(labels[labelExpires], 10, 64)
	return err == nil && now.Unix() > expires
}

// removeContainer removes a container with all that belongs to it. One that is gone is as good as removed.
func (d *Driver) removeContainer(ctx context.Context, name string) error {
	_, err := d.engine.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return engineError("remove container "+name, err)
	}
	return nil
}
