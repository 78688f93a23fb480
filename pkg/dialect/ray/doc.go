// Package ray reads the release suite of the Ray project as it is: its test files, its cluster compute templates, its
// environments and its settings, and selects from it what a run is to do. The tests become tasks of a plan.
//
// Everything here is pure: files come from an fs.FS, the caller's environment as a map, the time as a value. What Ray's own
// tooling accepts is accepted and means the same; where that is defective, docs/dialects/ray.md says what is done instead.
package ray
