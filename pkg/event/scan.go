package event

import (
	"bytes"
	"encoding/json"
)

// scan reads an envelope in exactly the form in which Encode writes it: nearly all that is ever read, and half of the work
// of starting anew is to read. It reports false for every other form. What it takes for the data may be no JSON: whoever
// decodes that finds out.
func scan(body []byte) (w wire[json.RawMessage], ok bool) {
	s := scanner{rest: body, ok: true}
	w.SpecVersion = s.text(`{"specversion":"`)
	w.ID = s.text(`,"id":"`)
	w.Source = s.text(`,"source":"`)
	w.Type = s.text(`,"type":"`)
	w.Subject = s.optional(`,"subject":"`)
	if at := s.optional(`,"time":"`); at != "" && w.Time.UnmarshalText([]byte(at)) != nil {
		return w, false
	}
	w.ContentType = s.optional(`,"datacontenttype":"`)
	w.Schema = s.optional(`,"dataschema":"`)
	w.Run = s.optional(`,"run":"`)
	w.Causation = s.optional(`,"causationid":"`)
	w.TraceParent = s.optional(`,"traceparent":"`)
	w.AuthID = s.optional(`,"authid":"`)
	w.AuthType = s.optional(`,"authtype":"`)
	w.ClientAddr = s.optional(`,"clientaddr":"`)
	data, found := bytes.CutPrefix(s.rest, []byte(`,"data":`))
	data, closed := bytes.CutSuffix(data, []byte("}"))
	w.Data = data
	return w, s.ok && found && closed
}

// scanner walks through the members of an object that are strings without escapes.
type scanner struct {
	rest []byte
	ok   bool
}

// text takes a member that must be next; before is what stands before its value.
func (s *scanner) text(before string) string {
	value, found := bytes.CutPrefix(s.rest, []byte(before))
	end := bytes.IndexByte(value, '"')
	if !found || end < 0 || bytes.ContainsFunc(value[:end], escaped) {
		s.ok = false
		return ""
	}
	s.rest = value[end+1:]
	return string(value[:end])
}

// optional takes a member if it is next.
func (s *scanner) optional(before string) string {
	if !bytes.HasPrefix(s.rest, []byte(before)) {
		return ""
	}
	return s.text(before)
}

// escaped reports whether a character of a string may stand for another, or may not stand there.
func escaped(r rune) bool { return r < ' ' || r > '~' || r == '\\' }
