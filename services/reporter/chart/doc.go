// Package chart is what the pages know of the health of tests: how each fares, what its runs found, who looks for whoever broke
// it. It is a fold over facts, in memory; nothing is decided here.
package chart
