package wheels

import (
	"encoding/json"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Wanted is a question to whoever can ask git and servers: which wheels are meant, and where are they.
type Wanted struct {
	Spec    string   `json:"spec"`
	CI      CI       `json:"ci,omitzero"`
	Pythons []string `json:"pythons"` // "3.9"
}

// Found is the answer. It is looked for once; what comes of it stands in the plan.
type Found struct {
	Spec     string         `json:"spec"`
	Kind     Kind           `json:"kind"`
	Repo     string         `json:"repo,omitempty"`
	Branch   string         `json:"branch,omitempty"`
	Commit   release.Commit `json:"commit,omitempty"` // that they carry; empty where nothing tells
	Version  string         `json:"version,omitempty"`
	Wheels   []Wheel        `json:"wheels"`
	Warnings []string       `json:"warnings,omitempty"`
}

// Wheel is where the wheel for a Python is, or will be.
type Wheel struct {
	Python string `json:"python"`
	URL    string `json:"url"`
}

// For is where the wheel for a Python is.
func (f *Found) For(python string) (Wheel, bool) {
	for _, w := range f.Wheels {
		if w.Python == python {
			return w, true
		}
	}
	return Wheel{}, false
}

// Question is the question in the form in which plans ask.
func (w Wanted) Question() string {
	text, _ := json.Marshal(w) // texts only
	return string(text)
}

// ParseWanted reads what Question wrote.
func ParseWanted(text string) (Wanted, error) {
	var w Wanted
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return w, fault.New(fault.Invalid, "cannot read which wheels are wanted: %w", err)
	}
	return w, nil
}

// Answer is the answer in the form in which plans take it.
func (f *Found) Answer() string {
	text, _ := json.Marshal(f) // texts only
	return string(text)
}

// ParseFound reads what Answer wrote.
func ParseFound(text string) (*Found, error) {
	var f Found
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return nil, fault.New(fault.Invalid, "cannot read which wheels were found: %w", err)
	}
	return &f, nil
}
