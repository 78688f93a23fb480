package main

import (
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
)

// factTypes are the types of facts, as a user may name them.
func factTypes() []event.Type {
	var out []event.Type
	for _, e := range event.Catalogue() {
		if !e.Type.Ephemeral() {
			out = append(out, e.Type)
		}
	}
	return out
}

// eventTypes are the types that a word names: itself, or all that begin with it. No word names all, as an empty list.
func eventTypes(word string) []event.Type {
	if word == "" {
		return nil
	}
	return slices.DeleteFunc(factTypes(), func(t event.Type) bool {
		return string(t) != word && !strings.HasPrefix(string(t), word+".")
	})
}

// checkEventType refuses a word that names no type.
func checkEventType(word string) error {
	if word != "" && len(eventTypes(word)) == 0 {
		return usage("--type is %q, expected one of %v, or the word before its dot", word, factTypes())
	}
	return nil
}

// among reports whether a type is in a list; an empty list has all.
func among(types []event.Type, t event.Type) bool {
	return len(types) == 0 || slices.Contains(types, t)
}
