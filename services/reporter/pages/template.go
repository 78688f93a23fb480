package pages

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// names lists the pages.
func names() []string {
	return []string{"runs", "run", "task", "events", "artifacts", "tests", "test", "pools", "streams", "audit", "error"}
}

// parse reads the templates; they are part of the program, so one that cannot be read is a bug that every start shows.
func parse() map[string]*template.Template {
	out := map[string]*template.Template{}
	base := template.Must(template.New("").Funcs(functions()).ParseFS(templateFiles, "templates/base.html", "templates/parts.html"))
	for _, name := range names() {
		out[name] = template.Must(template.Must(base.Clone()).ParseFS(templateFiles, "templates/"+name+".html"))
	}
	return out
}

func functions() template.FuncMap {
	return template.FuncMap{
		"asset":  asset,
		"icon":   icon,
		"look":   lookOf,
		"ended":  endLook,
		"health": healthLook,
		"strip":  strip,
		"day":    day,
		"took":   took,
		"clock":  clock,
		"stamp":  stamp,
		"size":   size,
		"short":  short,
		"plural": plural,
		"runs":   linkRuns,
		"web":    web,
		"path":   func(s any) string { return url.PathEscape(fmt.Sprint(s)) },
		"int64":  func(n uint64) int64 { return int64(min(n, 1<<62)) },
		"before": func(seq uint64) uint64 { return max(seq, 1) - 1 },
	}
}

// linkRuns is a text in which the name of each run is a link to it.
func linkRuns(text string) template.HTML {
	var b strings.Builder
	for word := range strings.SplitAfterSeq(text, " ") {
		name := strings.TrimRight(word, " .,:;")
		if id := release.RunID(name); strings.Count(name, "-") == 1 && runName(name) {
			b.WriteString(`<a href="` + template.HTMLEscapeString(runPath(id)) + `">` + template.HTMLEscapeString(name) + `</a>`)
			word = word[len(name):]
		}
		b.WriteString(template.HTMLEscapeString(word))
	}
	return template.HTML(b.String()) //nolint:gosec // everything is escaped
}

// runName reports whether a word reads like the name of a run: "4f2a9c1d-k3m2pa7q".
func runName(word string) bool {
	commit, letters, _ := strings.Cut(word, "-")
	return len(commit) == 8 && len(letters) == 8 && strings.Trim(commit, "0123456789abcdef") == "" &&
		strings.Trim(letters, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// took is a length of time as people say it.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return "–"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd %02dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

// clock is a moment as the page shows it. It is UTC: the same for everybody who looks at the same page.
func clock(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("15:04:05.000")
}

// stamp is a moment as the datetime of a time element.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// short is the part of a digest or a commit that people read.
func short(s any) string {
	text := strings.TrimPrefix(fmt.Sprint(s), "sha256:")
	return text[:min(len(text), 10)]
}

func plural(n any, one, many string) string {
	if fmt.Sprint(n) == "1" {
		return "1 " + one
	}
	return fmt.Sprint(n) + " " + many
}

// web is an address that a link may lead to, or "": what others say is a page may be anything.
func web(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	return u.String()
}

// ago is how long before now a moment was.
func ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return "–"
	case d < 5*time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d d ago", int(d.Hours())/24)
	}
}

func runPath(id release.RunID) string { return "/runs/" + url.PathEscape(string(id)) }

func taskPath(run release.RunID, task release.TaskID) string {
	return runPath(run) + "/tasks/" + url.PathEscape(string(task))
}
