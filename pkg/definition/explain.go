package definition

import "fmt"

// Origin says where the value of a setting comes from.
type Origin struct {
	Path   string `json:"path"`
	Value  string `json:"value"` // as written; a list as JSON
	From   string `json:"from"`  // for people: "sluice.yaml:6:12", "preset scale, sluice.yaml:9:33", "--set 1: tests.gpu=2"
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Preset string `json:"preset,omitempty"`
	Set    int    `json:"set,omitempty"` // which --set of the request, from 1
}

// Explain lists every setting as a request resolves it, and where its value comes from. An element of a list that was
// overridden alone is listed after its list.
func Explain(def *Definition, req Request) ([]Origin, error) {
	r := newResolver(def, req)
	r.override()
	if err := r.problems.orNil(); err != nil {
		return nil, err
	}
	var out []Origin
	walkSettings("", &r.settings, func(path string, s *Setting) {
		out = append(out, r.origin(path, s))
		for i := range s.List {
			if one := &s.List[i]; one.cause != s.cause {
				out = append(out, r.origin(indexPath(path, i), one))
			}
		}
	})
	return out, nil
}

func (r *resolver) origin(path string, s *Setting) Origin {
	o := Origin{Path: path, Value: s.text(), Preset: s.cause.preset, Set: s.cause.set, From: s.cause.String()}
	if o.Set > 0 {
		return o
	}
	o.File, o.Line, o.Column = r.fileOf(s.At), s.At.Line, s.At.Column
	place := fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
	if o.From != "" {
		place = o.From + ", " + place
	}
	o.From = place
	return o
}
