package blob

import (
	"context"
	"time"
)

// sweeping is a store in which a crash can leave something behind.
type sweeping interface {
	sweep(ctx context.Context, before time.Time) error
}

// Sweep removes what interrupted Puts left in a store before a time. Other processes may be writing: a day ago is a safe
// choice. Whoever opens a store for a service calls it once, at the start.
func Sweep(ctx context.Context, s Store, before time.Time) error {
	if s, ok := s.(sweeping); ok {
		return s.sweep(ctx, before)
	}
	return nil
}
