package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// Keyring is a directory with the seeds of identities. NAME.nk is the key of an identity; NAME.next.nk, during a rotation,
// is the key that replaces it. Only the owner may read the directory and its files.
type Keyring struct{ Dir string }

var identityName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// Keys are the keys that the server has to accept for an identity: its key, which is made when there is none, and the next
// one during a rotation.
func (r Keyring) Keys(identity string) ([]NKey, error) {
	if err := r.check(identity); err != nil {
		return nil, err
	}
	key, err := KeyFile(r.file(identity))
	if err != nil {
		return nil, err
	}
	keys := []NKey{key}
	if exists(r.next(identity)) {
		if key, err = KeyFile(r.next(identity)); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Rotate makes the next key of an identity. The old one stays valid until Finish.
func (r Keyring) Rotate(identity string) (file string, err error) {
	if err := r.known(identity); err != nil {
		return "", err
	}
	if exists(r.next(identity)) {
		return "", fmt.Errorf("cannot rotate the key of %s: a rotation is under way, %s exists; end it with --finish", identity, r.next(identity))
	}
	_, err = KeyFile(r.next(identity))
	return r.next(identity), err
}

// Finish replaces the key of an identity by its next one. The old key is gone afterwards.
func (r Keyring) Finish(identity string) (file string, err error) {
	if err := r.known(identity); err != nil {
		return "", err
	}
	if !exists(r.next(identity)) {
		return "", fmt.Errorf("cannot finish the rotation of %s: there is no %s; begin one with \"sluice nats rotate %s\"", identity, r.next(identity), identity)
	}
	if _, err := KeyFile(r.next(identity)); err != nil {
		return "", err
	}
	if err := os.Rename(r.next(identity), r.file(identity)); err != nil {
		return "", fmt.Errorf("cannot finish the rotation of %s: %w", identity, err)
	}
	return r.file(identity), nil
}

func (r Keyring) file(identity string) string { return filepath.Join(r.Dir, identity+".nk") }

func (r Keyring) next(identity string) string { return filepath.Join(r.Dir, identity+".next.nk") }

// known refuses identities without a key: a mistyped name must not make one.
func (r Keyring) known(identity string) error {
	if err := r.check(identity); err != nil {
		return err
	}
	if !exists(r.file(identity)) {
		return fmt.Errorf("cannot rotate the key of %s: there is no %s; \"sluice nats config\" makes the keys of all identities", identity, r.file(identity))
	}
	return nil
}

// check refuses names that are no file names or no tokens of a subject, and a directory that others can read.
func (r Keyring) check(identity string) error {
	if !identityName.MatchString(identity) {
		return fmt.Errorf("cannot use %q as an identity: expected letters, digits, - and _", identity)
	}
	info, err := os.Stat(r.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // made with the first key
	case err != nil:
		return fmt.Errorf("cannot use the directory of keys: %w", err)
	case !info.IsDir():
		return fmt.Errorf("cannot use %s as the directory of keys: it is a file", r.Dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("cannot use the directory of keys %s: its mode is %04o, expected 0700; others can read it", r.Dir, info.Mode().Perm())
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
