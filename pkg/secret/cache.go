package secret

import (
	"context"
	"sync"
	"time"
)

// cache keeps values of a provider for a while. One that was asked for twice at once is read once.
type cache struct {
	from Provider
	keep time.Duration
	mu   sync.Mutex
	kept map[string]*value
}

type value struct {
	mu    sync.Mutex
	text  string
	until time.Time
}

func cached(from Provider, keep time.Duration) *cache {
	return &cache{from: from, keep: keep, kept: map[string]*value{}}
}

// Get implements Provider. Only values are kept, never errors.
func (c *cache) Get(ctx context.Context, name string) (string, error) {
	v := c.of(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Now().Before(v.until) {
		return v.text, nil
	}
	v.text = ""
	text, err := c.from.Get(ctx, name)
	if err != nil {
		c.forget(name, v)
		return "", err
	}
	v.text, v.until = text, time.Now().Add(c.keep)
	return text, nil
}

func (c *cache) of(name string) *value {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[name] == nil {
		c.kept[name] = &value{}
	}
	return c.kept[name]
}

// forget drops a name without a value: there is no end of names that somebody may ask for.
func (c *cache) forget(name string, v *value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[name] == v {
		delete(c.kept, name)
	}
}
