package lease

import "time"

// Config of a table. Zero values become the defaults.
type Config struct {
	Term       time.Duration // of a lease that is not renewed; 30m
	Grace      time.Duration // after a start or a step of the clock, until silence counts; 10s
	Resend     time.Duration // until a decision that is no fact is made again; 3s
	Undone     time.Duration // that a granted lease waits for its attempt's dispatch; 1m
	Fresh      time.Duration // that a health check counts; 15m
	Wait       time.Duration // after a clean or check that failed; doubles with each; 5s
	MaxWait    time.Duration // the longest of these; 5m
	Failures   int           // in a row that put a place in quarantine; 3
	Successes  int           // in a row that bring it back; 2
	Quarantine time.Duration // until a place in quarantine is tried again; 1h
	Unstarted  time.Duration // that a clean or check waits for an executor; 1h
	Overrun    time.Duration // beyond LeaseRequest.For, until a lease ends without its holder; 15m
	Providers  []string      // that have places of their own, even before the first is registered
}

func (c Config) withDefaults() Config {
	for value, fallback := range map[*time.Duration]time.Duration{
		&c.Term: 30 * time.Minute, &c.Grace: 10 * time.Second, &c.Resend: 3 * time.Second, &c.Undone: time.Minute,
		&c.Fresh: 15 * time.Minute, &c.Wait: 5 * time.Second, &c.MaxWait: 5 * time.Minute, &c.Quarantine: time.Hour,
		&c.Unstarted: time.Hour, &c.Overrun: 15 * time.Minute,
	} {
		if *value <= 0 {
			*value = fallback
		}
	}
	if c.Failures <= 0 {
		c.Failures = 3
	}
	if c.Successes <= 0 {
		c.Successes = 2
	}
	return c
}
