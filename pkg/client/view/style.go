package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/sluiceci/sluice/pkg/client"
)

// Style is how things are shown.
type Style struct {
	Colour bool
	Width  int       // columns; 0 cuts nothing off
	Now    time.Time // against which ages are told
}

// tone is how good something is.
type tone string

// The tones, as SGR parameters.
const (
	plain tone = ""
	good  tone = "32"
	bad   tone = "31"
	warn  tone = "33"
	busy  tone = "36"
	faint tone = "2"
	bold  tone = "1"
)

// paint colours text, where colours are wanted.
func (s Style) paint(t tone, text string) string {
	if !s.Colour || t == plain || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// width is the number of columns that text takes.
func width(text string) int { return lipgloss.Width(text) }

// cut makes text at most n columns wide; what is cut off shows as "…".
func cut(text string, n int) string {
	if n <= 0 || width(text) <= n {
		return text
	}
	var b strings.Builder
	used := 0
	for _, r := range text {
		w := width(string(r))
		if used+w > n-1 {
			break
		}
		used += w
		b.WriteRune(r)
	}
	return strings.TrimRight(b.String(), " ") + "…"
}

// fit cuts a line to what is left of the width after indent columns.
func (s Style) fit(text string, indent int) string {
	if s.Width == 0 {
		return text
	}
	return cut(text, max(s.Width-indent, 8))
}

// pad fills text with spaces up to n columns.
func pad(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-width(text)))
}

// took is a duration for people: "340ms", "12s", "3m05s", "2h10m", "4d".
func took(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
}

// age is how long ago a moment is: "12s", "3m", "2h", "4d". A clock that is behind shows "0s".
func (s Style) age(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch d := max(0, s.Now.Sub(t)); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
}

// between is the time from one moment to another, or to now when that has not come; "" before the first.
func (s Style) between(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	if to.Before(from) {
		to = s.Now
	}
	return took(max(0, to.Sub(from)))
}

// size is a number of bytes for people: "812 B", "1.4 MiB".
func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), 0
	for f >= 1024 && unit < 5 {
		f, unit = f/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGTP"[unit-1])
}

// count is a number of things: "1 task", "2 tasks".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// safe is text from outside on one line.
func safe[T ~string](text T) string { return client.Line(string(text)) }
