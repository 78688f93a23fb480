package idtoken

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/sluiceci/sluice/pkg/fault"
)

const (
	stampFormat = "20060102T150405Z"
	keyEnding   = ".pem"
	// settling is how long a new key is published before it signs: others keep the list of keys for a while.
	settling = 2 * time.Hour
	// lingering is how long an old key is published after it signed for the last time: longer than any token lives.
	lingering = MaxLife + time.Hour
)

// key signs tokens.
type key struct {
	id      string
	made    time.Time
	private *ecdsa.PrivateKey
}

// Keys are the keys of an issuer, in a directory that only its account can read. Several processes may share one.
type Keys struct {
	dir    string
	rotate time.Duration
	mu     sync.Mutex
	list   []key // the oldest first
	read   time.Time
}

// OpenKeys opens a directory of keys, and makes it if need be. A key that is older than rotate is replaced.
func OpenKeys(dir string, rotate time.Duration) (*Keys, error) {
	if rotate < lingering {
		return nil, fault.New(fault.Invalid, "cannot rotate keys of identity tokens every %s: expected at least %s, so that two are published at most", rotate, lingering)
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, 0o700)); err != nil {
		return nil, fault.New(fault.Internal, "cannot keep the keys of identity tokens: %w", err)
	}
	return &Keys{dir: dir, rotate: rotate}, nil
}

// current returns the keys that are published now, and the one of them that signs.
func (k *Keys) current(now time.Time) (published []key, signs key, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.read) > time.Minute || now.Before(k.read) {
		if k.list, err = k.load(); err != nil {
			return nil, key{}, err
		}
		k.read = now
	}
	if n := len(k.list); n == 0 || now.Sub(k.list[n-1].made) > k.rotate {
		fresh, err := k.make(now)
		if err != nil {
			return nil, key{}, err
		}
		k.list = append(k.list, fresh)
	}
	published, signs = roles(k.list, now)
	k.discard(published)
	return published, signs, nil
}

// roles decides which keys are published and which one signs: the newest that is known to others, or while there is none
// the oldest.
func roles(list []key, now time.Time) (published []key, signs key) {
	at := 0
	for i, one := range list {
		if now.Sub(one.made) >= settling {
			at = i
		}
	}
	signs = list[at]
	for i, one := range list {
		if i >= at || now.Sub(list[i+1].made.Add(settling)) < lingering {
			published = append(published, one)
		}
	}
	return published, signs
}

// load reads all keys of the directory.
func (k *Keys) load() ([]key, error) {
	names, err := filepath.Glob(filepath.Join(k.dir, "*"+keyEnding))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var list []key
	for _, name := range names {
		one, err := readKey(name)
		if err != nil {
			return nil, fault.New(fault.Invalid, "cannot read the key of identity tokens %s: %w; remove it, and another is made", name, err)
		}
		list = append(list, one)
	}
	return list, nil
}

func readKey(name string) (key, error) {
	made, err := time.Parse(stampFormat, strings.TrimSuffix(filepath.Base(name), keyEnding))
	if err != nil {
		return key{}, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return key{}, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return key{}, fault.New(fault.Denied, "its mode is %#o, so other accounts may have read it", info.Mode().Perm())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return key{}, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return key{}, errors.New("it is not in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return key{}, err
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return key{}, errors.New("it is no ECDSA key on P-256")
	}
	return newKey(private, made)
}

func newKey(private *ecdsa.PrivateKey, made time.Time) (key, error) {
	sum, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	digest := sha256.Sum256(sum)
	return key{id: base64.RawURLEncoding.EncodeToString(digest[:12]), made: made, private: private}, err
}

// make makes a key and stores it, whole or not at all.
func (k *Keys) make(now time.Time) (key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return key{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return key{}, err
	}
	made := now.UTC().Truncate(time.Second)
	name := filepath.Join(k.dir, made.Format(stampFormat)+keyEnding)
	file, err := os.CreateTemp(k.dir, "new-") // of mode 0600
	if err != nil {
		return key{}, fault.New(fault.Internal, "cannot store a key of identity tokens: %w", err)
	}
	err = pem.Encode(file, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Link(file.Name(), name) // of two processes the first wins
	}
	_ = os.Remove(file.Name())
	if err != nil && !errors.Is(err, os.ErrExist) {
		return key{}, fault.New(fault.Internal, "cannot store a key of identity tokens: %w", err)
	}
	return readKey(name)
}

// discard removes keys that nobody needs any more.
func (k *Keys) discard(published []key) {
	for len(k.list) > 0 && k.list[0].id != published[0].id {
		_ = os.Remove(filepath.Join(k.dir, k.list[0].made.Format(stampFormat)+keyEnding)) // the next start tries again
		k.list = k.list[1:]
	}
}

// Set is what is published of the keys.
func (k *Keys) Set(now time.Time) (jose.JSONWebKeySet, error) {
	var set jose.JSONWebKeySet
	published, _, err := k.current(now)
	for _, one := range published {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: &one.private.PublicKey, KeyID: one.id, Algorithm: string(jose.ES256), Use: "sig"})
	}
	return set, err
}
