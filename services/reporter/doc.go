// Package reporter shows what happened and what is going on: it folds every fact into SQL, answers the API's questions
// from there, draws the pages, and tells the forge how each commit fares.
//
// It decides nothing and is nobody's source of truth: its tables can be dropped and are folded again. It never asks a
// forge for anything, and a forge that is down delays statuses only.
package reporter
