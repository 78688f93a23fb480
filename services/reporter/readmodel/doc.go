// Package readmodel is the reporter's memory: rows in SQL, folded from the facts, from which pages and the API read.
//
// Fold says what each fact means for which rows. A row of a fold holds only what is newly known; store.Merge keeps the
// rest. So a fold reads nothing, a batch of facts becomes few rows, and the same facts give the same rows however they
// were cut into batches. A batch's rows and the cursor behind it are written in one transaction: each fact counts once,
// whatever is killed when.
//
// The tables are no truth. Rebuild empties them, and a change of Fold's meaning (version) does so by itself.
package readmodel
