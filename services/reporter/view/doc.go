// Package view puts together what a page or an answer of the API shows: rows of the read model, the run's frozen plan,
// and what other services say when they are asked. It decides nothing.
package view
