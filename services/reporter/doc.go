// Package reporter shows what happened and what is going on: it folds every fact into SQL, answers the API's questions
// from there, draws the pages, tells the forge how each commit fares, and posts the answers to comments there.
//
// It decides nothing and is nobody's source of truth: its tables can be dropped and are folded again. It never asks a
// forge for anything but whether an answer stands there, and a forge that is down delays statuses and answers only.
package reporter
