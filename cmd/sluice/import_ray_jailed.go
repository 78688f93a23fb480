package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/client"
)

// jailedIn reads which tests are jailed now, and why, from what `sluice tests --json` has printed. Without a file none is.
func jailedIn(name string) (map[string]string, error) {
	if name == "" {
		return nil, nil
	}
	text, err := readSmall(name)
	if err != nil {
		return nil, err
	}
	var page struct {
		Tests []client.TestStatus `json:"tests"`
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		return nil, fmt.Errorf("cannot read the tests in %s: %w; expected what sluice tests --json prints", name, err)
	}
	out, now := map[string]string{}, time.Now()
	for _, t := range page.Tests {
		if t.State == "jailed" && (t.Until.IsZero() || now.Before(t.Until)) {
			out[t.Test] = "it is jailed; --jailed runs it"
		}
	}
	return out, nil
}
