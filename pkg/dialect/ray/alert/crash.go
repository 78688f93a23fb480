package alert

import (
	"path"
	"regexp"
	"strings"
)

var (
	longWord = regexp.MustCompile(`[a-z0-9]{10,}`)
	digits   = regexp.MustCompile(`[0-9]`)
	fileLine = regexp.MustCompile(`File "(.*)", (.*)`)
)

const (
	traceback    = "Traceback (most recent call last)"
	maxSignature = 4000 // characters
)

// Signature is what equal crashes have in common: the last stack below a line with ERROR, or else the last traceback,
// without numbers, random words and directories. "" when a log has neither.
func Signature(log string) string {
	var b strings.Builder
	for _, line := range lastStack(strings.Split(strings.ReplaceAll(log, "\r\n", "\n"), "\n")) {
		line = digits.ReplaceAllString(longWord.ReplaceAllString(strings.TrimSpace(line), ""), "")
		if line == traceback+":" {
			continue
		}
		if m := fileLine.FindStringSubmatch(line); m != nil {
			line = base(m[1]) + m[2]
		}
		b.WriteString(line)
	}
	signature := []rune(strings.ToValidUTF8(b.String(), ""))
	return string(signature[:min(len(signature), maxSignature)])
}

// base is what follows the last slash; nothing follows a slash at the end.
func base(name string) string {
	if strings.HasSuffix(name, "/") || name == "" {
		return ""
	}
	return path.Base(name)
}

// lastStack finds the stack that tells most.
func lastStack(lines []string) []string {
	var withError, without []string
	for i := 0; i < len(lines); {
		next := i + 1
		isError := strings.Contains(lines[i], "ERROR")
		if !isError && !strings.Contains(lines[i], traceback) {
			i = next
			continue
		}
		if isError && next < len(lines) && strings.Contains(lines[next], traceback) {
			next++
		}
		for next < len(lines) && (strings.HasPrefix(lines[next], " ") || strings.HasPrefix(lines[next], "\t")) {
			next++
		}
		// The line behind the indented ones is the exception itself.
		stack := lines[i:min(next+1, len(lines))]
		if isError {
			withError = stack
		} else {
			without = stack
		}
		i = next + 1
	}
	if withError != nil {
		return withError
	}
	return without
}
