// Package blob keeps bytes under their own digest: plans, candidates, logs, results, artifacts. Events carry digests
// and never bytes.
//
// A blob is hashed once, while its bytes go by on the way in, and checked while they go by on the way out. Storing the
// same bytes twice, or by two processes at once, is one blob; a blob never changes, and one that is half written cannot
// be seen.
//
// Errors have kinds (pkg/fault): what the disk or the network did is Transient, because an operator or time mends it; a
// blob that is not there is Invalid and wraps fs.ErrNotExist, because a digest is announced only after its blob was
// stored and asking again does not bring it back; bytes that do not have their digest are Internal.
package blob
