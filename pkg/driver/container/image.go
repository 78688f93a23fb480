package container

import (
	"context"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/sluiceci/sluice/pkg/fault"
)

// image is what a container is made of: the engine's own id for it, and the digest that names it everywhere.
type image struct{ id, digest string }

// image finds the image, or pulls it if that is allowed. A container is always made of an id, so that a tag that moves
// meanwhile changes nothing.
func (d *Driver) image(ctx context.Context, name string) (image, error) {
	if name == "" {
		return image{}, fault.New(fault.Invalid, "cannot start a container: the task names no image and the pool has none; name one, best by digest")
	}
	found, err := d.inspect(ctx, name)
	if errdefs.IsNotFound(err) || err == nil && d.options.Pull == PullAlways && !byDigest(name) {
		if err := d.pull(ctx, name); err != nil {
			return image{}, err
		}
		found, err = d.inspect(ctx, name)
	}
	if err != nil {
		return image{}, engineError("look at image "+name, err)
	}
	if !byDigest(name) {
		d.log.InfoContext(ctx, "the tag of an image stands for a digest now", "image", name, "digest", found.digest)
	}
	return found, nil
}

func byDigest(name string) bool {
	return strings.Contains(name, "@sha256:") || strings.HasPrefix(name, "sha256:")
}

func (d *Driver) inspect(ctx context.Context, name string) (image, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	about, err := d.engine.ImageInspect(ctx, name)
	if err != nil {
		return image{}, err
	}
	return image{id: about.ID, digest: digest(name, about.ID, about.RepoDigests)}, nil
}

// digest is the name by digest that says where the image comes from, or the engine's id of one that was made here.
func digest(name, id string, known []string) string {
	if strings.Contains(name, "@sha256:") {
		return name
	}
	repository := name
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		repository = name[:i]
	}
	for _, one := range known {
		if strings.HasPrefix(one, repository+"@") || strings.HasSuffix(strings.Split(one, "@")[0], "/"+repository) {
			return one
		}
	}
	if !strings.HasPrefix(id, "sha256:") {
		id = "sha256:" + id
	}
	return id
}

// pull pulls an image. What the registry does not have is the definition's fault; a registry that is away is not.
func (d *Driver) pull(ctx context.Context, name string) error {
	if d.options.Pull == PullNever {
		return fault.New(fault.Invalid, "cannot start a container: the engine at %s has no image %q and may not pull it; "+
			"put it there, or allow pull: missing", d.options.Host, name)
	}
	select {
	case d.pulling <- struct{}{}:
		defer func() { <-d.pulling }()
	case <-ctx.Done():
		return fault.New(fault.Transient, "cannot pull image %q: %w", name, context.Cause(ctx))
	}
	if _, err := d.inspect(ctx, name); err == nil && d.options.Pull == PullMissing {
		return nil // Another one pulled it meanwhile.
	}
	d.log.InfoContext(ctx, "pulling an image", "image", name)
	progress, err := d.engine.ImagePull(ctx, name, client.ImagePullOptions{})
	if err == nil {
		err = progress.Wait(ctx)
		_ = progress.Close()
	}
	if err != nil {
		return pullError(ctx, name, err)
	}
	return nil
}

// pullError gives the registry's words a kind. Engines pass them on as text.
func pullError(ctx context.Context, name string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fault.New(fault.Transient, "cannot pull image %q: %w", name, cause)
	}
	text := strings.ToLower(err.Error())
	for _, one := range []struct {
		sign string
		kind fault.Kind
	}{
		{"manifest unknown", fault.Invalid},
		{"name unknown", fault.Invalid},
		{"not found", fault.Invalid},
		{"invalid reference", fault.Invalid},
		{"short-name", fault.Invalid},
		{"short name", fault.Invalid},
		{"name_invalid", fault.Invalid},
		{"no matching manifest", fault.Invalid},
		{"unauthorized", fault.Denied},
		{"denied", fault.Denied},
		{"authentication required", fault.Denied},
	} {
		if strings.Contains(text, one.sign) {
			return fault.New(one.kind, "cannot pull image %q: %w", name, err)
		}
	}
	if errdefs.IsInvalidArgument(err) {
		return fault.New(fault.Invalid, "cannot pull image %q: %w", name, err)
	}
	return fault.New(fault.Transient, "cannot pull image %q: %w", name, err)
}

// engineError gives an answer of the engine a kind.
func engineError(what string, err error) error {
	kind := fault.Transient
	if errdefs.IsInvalidArgument(err) || errdefs.IsNotFound(err) || strings.Contains(err.Error(), "invalid reference") {
		kind = fault.Invalid
	}
	return fault.New(kind, "cannot %s: %w", what, err)
}
