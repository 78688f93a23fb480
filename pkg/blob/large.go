package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"time"

	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// A large blob whose digest is not known yet is uploaded under a name of its own, large/<id>, because an upload must be
// named before it begins and a server moves an object only by copying it, which takes as long as the upload. Under its
// digest then stands an empty object whose note names it. While that goes on there is an object pending/<id>; it tells
// Sweep what a crash left, and holds the digest as soon as that is known, so that Sweep never removes a blob.
const (
	largePrefix   = "large/"
	pendingPrefix = "pending/"
	largeNote     = "large"
)

var largeID = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// standsFor reports whether an object stands for a large one, and its name.
func standsFor(info bucket.Info) (string, bool, error) {
	id, ok := info.Notes[largeNote]
	if ok && !largeID.MatchString(id) {
		return "", false, fault.New(fault.Internal, "cannot use object %s: it stands for %q, expected an id", info.Name, id)
	}
	return largePrefix + id, ok, nil
}

func (s *ObjectStore) putLarge(ctx context.Context, head []byte, rest *meter) (release.Digest, int64, error) {
	id := rand.Text()
	if _, err := s.bucket.Put(ctx, pendingPrefix+id, nil, bucket.Write{}); err != nil {
		return "", 0, err
	}
	err := s.bucket.Upload(ctx, largePrefix+id, io.MultiReader(bytes.NewReader(head), rest), bucket.Write{})
	if err != nil {
		return "", 0, errors.Join(err, s.forget(ctx, id))
	}
	d := rest.digest()
	if _, err := s.bucket.Put(ctx, pendingPrefix+id, []byte(d), bucket.Write{}); err != nil {
		return "", 0, errors.Join(err, s.forget(ctx, id))
	}
	_, err = s.bucket.Put(ctx, key(d), nil, bucket.Write{Absent: true, Notes: map[string]string{largeNote: id}})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return "", 0, err // it may have been written all the same: Sweep finds out
	}
	return d, rest.size, s.settle(ctx, id, d)
}

// settle ends what is pending: if the large object is the one that its digest stands for it is kept, else it goes.
func (s *ObjectStore) settle(ctx context.Context, id string, d release.Digest) error {
	info, _, err := s.bucket.Stat(ctx, key(d))
	if err != nil {
		return err
	}
	if info.Notes[largeNote] == id {
		return s.bucket.Remove(ctx, pendingPrefix+id)
	}
	return s.forget(ctx, id)
}

// forget removes a large object that nothing stands for, even if the context has ended.
func (s *ObjectStore) forget(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	if err := s.bucket.Remove(ctx, largePrefix+id); err != nil {
		return err
	}
	return s.bucket.Remove(ctx, pendingPrefix+id)
}

func (s *ObjectStore) sweepLarge(ctx context.Context, before time.Time) error {
	return s.bucket.Each(ctx, pendingPrefix, func(info bucket.Info) error {
		id := info.Name[len(pendingPrefix):]
		if !info.Changed.Before(before) || !largeID.MatchString(id) {
			return nil
		}
		text, err := s.readAll(ctx, info.Name)
		switch d := release.Digest(text); {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it ended meanwhile
		case err != nil:
			return err
		case d.Valid():
			return s.settle(ctx, id, d)
		default:
			return s.forget(ctx, id)
		}
	})
}
