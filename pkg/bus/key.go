package bus

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// NKey is the secret of an identity: an NKey. The server knows the public half only.
type NKey struct {
	Public string
	seed   []byte
}

// NewKey makes a key.
func NewKey() (NKey, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return NKey{}, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return NKey{}, err
	}
	return ReadKey(seed)
}

// ReadKey reads the text of a seed.
func ReadKey(text []byte) (NKey, error) {
	text = bytes.TrimSpace(text)
	pair, err := nkeys.FromSeed(text)
	if err != nil {
		return NKey{}, errors.New("cannot read the key of an identity: expected the seed of an NKey, which begins with SU")
	}
	public, err := pair.PublicKey()
	if err != nil || !nkeys.IsValidPublicUserKey(public) {
		return NKey{}, errors.New("cannot read the key of an identity: it is no key of a user; expected a seed that begins with SU")
	}
	return NKey{Public: public, seed: bytes.Clone(text)}, nil
}

// Seed is the secret half, as files hold it.
func (k NKey) Seed() string { return string(k.seed) }

// KeyFile reads the key in a file, or makes both. Nobody but the owner may be able to read it.
func KeyFile(name string) (NKey, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return writeKey(name)
	}
	if err != nil {
		return NKey{}, fmt.Errorf("cannot read the key of an identity: %w", err)
	}
	if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
		return NKey{}, fmt.Errorf("cannot use the key in %s: its mode is %04o, expected 0600; others can read it", name, info.Mode().Perm())
	}
	return ReadKey(text)
}

func writeKey(name string) (NKey, error) {
	k, err := NewKey()
	if err != nil {
		return k, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return k, fmt.Errorf("cannot keep the key of an identity: %w", err)
	}
	if err := os.WriteFile(name, append(k.seed, '\n'), 0o600); err != nil {
		return k, fmt.Errorf("cannot keep the key of an identity: %w", err)
	}
	return k, nil
}

// option shows a server who is there: it signs what the server sends, and the seed stays here.
func (k NKey) option() nats.Option { return nats.Nkey(k.Public, k.sign) }

func (k NKey) sign(nonce []byte) ([]byte, error) {
	pair, err := nkeys.FromSeed(k.seed)
	if err != nil {
		return nil, err
	}
	defer pair.Wipe()
	return pair.Sign(nonce)
}

// Credential is how somebody proves to a server who they are: a key, or a file of JWT credentials.
type Credential struct {
	NKey
	File string // of JWT credentials
	From string // file that NKey was read from
}

// CredentialFile reads a file that holds the seed of an NKey, or JWT credentials as the nsc command writes them.
func CredentialFile(name string) (Credential, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return Credential{}, fmt.Errorf("cannot read the credentials: %w", err)
	}
	if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
		return Credential{}, fmt.Errorf("cannot use the credentials in %s: its mode is %04o, expected 0600; others can read it", name, info.Mode().Perm())
	}
	if bytes.Contains(text, []byte("-----BEGIN NATS USER JWT-----")) {
		return Credential{File: name}, nil
	}
	key, err := ReadKey(text)
	if err != nil {
		return Credential{}, fmt.Errorf("%w (%s)", err, name)
	}
	return Credential{NKey: key, From: name}, nil
}

// Use sets how a Bus that is not connected yet proves who it is.
func (b *Bus) Use(c Credential) error {
	if b.conn != nil {
		return errors.New("cannot change the credentials of a connection that is open")
	}
	b.options.Creds = c.File
	if c.Public != "" {
		b.options.Key, b.options.KeyFile = &c.NKey, c.From
	}
	return nil
}
