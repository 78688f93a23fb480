package exporter

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/fault"
)

// objects is a destination in an S3 bucket. Objects appear whole; latest/ is one object, the manifest, that names others
// which never change: so it cannot be half.
type objects struct{ bucket *bucket.Bucket }

// digestNote is kept with each object, for those who download it: the hexadecimal digits of its SHA-256.
const digestNote = "sha256"

func openBucket(c DestinationConfig, secrets secret) (destination, error) {
	config, err := bucket.ParseURL(c.URL)
	if err != nil {
		return nil, err
	}
	if c.AccessKey != "" || c.SecretKey != "" {
		if config.AccessKey, err = secrets(c.AccessKey); err != nil {
			return nil, fault.As(fault.Invalid, err)
		}
		if config.SecretKey, err = secrets(c.SecretKey); err != nil {
			return nil, fault.As(fault.Invalid, err)
		}
	}
	b, err := bucket.Open(context.Background(), config) // reads the environment; talks to nobody
	if err != nil {
		return nil, err
	}
	return &objects{bucket: b}, nil
}

func (o *objects) location(name string) string { return o.bucket.URL(name) }

func (o *objects) put(ctx context.Context, name string, f file) error {
	there, err := o.there(ctx, name, f)
	if there || err != nil {
		return err
	}
	from, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	err = o.bucket.Upload(ctx, name, from, bucket.Write{
		Size: f.size, MediaType: f.mediaType, Absent: true, Notes: map[string]string{digestNote: f.digest.Hex()},
	})
	if fault.Is(err, fault.Conflict) {
		if there, again := o.there(ctx, name, f); there || again != nil {
			return again
		}
	}
	return err
}

// there reports whether a file is there already.
func (o *objects) there(ctx context.Context, name string, f file) (bool, error) {
	info, has, err := o.bucket.Stat(ctx, name)
	if err != nil || !has {
		return false, err
	}
	digest, noted := info.Notes[digestNote] // what was claimed has none
	if info.Size != f.size || noted && digest != f.digest.Hex() {
		return false, fault.New(fault.Conflict, "cannot write %s: an object of %d bytes (%s) is there, expected nothing or the one of %d bytes (%s)",
			o.location(name), info.Size, digest, f.size, f.digest)
	}
	if noted {
		return true, nil
	}
	rc, _, err := o.bucket.Get(ctx, name)
	if err != nil {
		return false, err
	}
	defer func() { _ = rc.Close() }()
	return true, sameBytes(o.location(name), rc, f)
}

func (o *objects) claim(ctx context.Context, name string, text []byte) ([]byte, error) {
	now, _, err := o.read(ctx, name)
	if now != nil || err != nil {
		return now, err
	}
	_, err = o.bucket.Put(ctx, name, text, bucket.Write{MediaType: "application/json", Absent: true})
	if fault.Is(err, fault.Conflict) {
		now, _, err = o.read(ctx, name)
		return now, err
	}
	return text, err
}

// read returns a small object and its tag, or nil if it is not there.
func (o *objects) read(ctx context.Context, name string) ([]byte, string, error) {
	rc, info, err := o.bucket.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = rc.Close() }()
	text, err := io.ReadAll(io.LimitReader(rc, maxDocument))
	if err != nil {
		return nil, "", fault.New(fault.Transient, "cannot read %s: %w", o.location(name), err)
	}
	return text, info.Tag, nil
}

// lead writes the folder's manifest.json, provided that it is still the one that was looked at.
func (o *objects) lead(ctx context.Context, folder string, to manifest, replaces func([]byte) (bool, error)) error {
	text, err := document(to)
	if err != nil {
		return err
	}
	name := folder + "/" + manifestFile
	now, tag, err := o.read(ctx, name)
	if err != nil {
		return err
	}
	if yes, err := replaces(now); err != nil || !yes {
		return err
	}
	_, err = o.bucket.Put(ctx, name, text, bucket.Write{MediaType: "application/json", Absent: now == nil, Tag: tag})
	if fault.Is(err, fault.Conflict) {
		return fault.New(fault.Transient, "cannot make %s/ lead to %s: another exporter was quicker; looking again: %w", folder, to.Home, err)
	}
	return err
}

func (o *objects) sweep(ctx context.Context, before time.Time) error {
	return o.bucket.Sweep(ctx, before)
}
