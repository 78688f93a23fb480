package bus

import (
	"time"

	"github.com/nats-io/nats.go"
)

// rekey reads the file of the key again before each attempt to reconnect, so that a rotated key is used without a restart.
// A file that cannot be read leaves the key as it is. The library holds the connection's lock while it calls the handler.
func (b *Bus) rekey() nats.Option {
	return nats.ReconnectToServer(func([]nats.Server, nats.ServerInfo) (*nats.Server, time.Duration) {
		conn := b.dialed.Load()
		if conn == nil || b.options.KeyFile == "" {
			return nil, 0
		}
		c, err := CredentialFile(b.options.KeyFile)
		if err != nil || c.Public == "" {
			b.log.Warn("cannot read the key of this identity again; the old one is used", "file", b.options.KeyFile, "err", err)
			return nil, 0
		}
		conn.Opts.Nkey, conn.Opts.SignatureCB = c.Public, c.sign
		return nil, 0
	})
}
