package main

import (
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
)

// eventTypes are the types that a word names: itself, or all that begin with it. No word names all, as an empty list.
func eventTypes(word string) ([]event.Type, error) {
	if word == "" {
		return nil, nil
	}
	var out, known []event.Type
	for _, e := range event.Catalogue() {
		if e.Type.Ephemeral() {
			continue
		}
		known = append(known, e.Type)
		if string(e.Type) == word || strings.HasPrefix(string(e.Type), word+".") {
			out = append(out, e.Type)
		}
	}
	if len(out) == 0 {
		return nil, usage("--type is %q, expected one of %v, or the word before its dot", word, known)
	}
	return out, nil
}

// among reports whether a type is in a list; an empty list has all.
func among(types []event.Type, t event.Type) bool {
	return len(types) == 0 || slices.Contains(types, t)
}
