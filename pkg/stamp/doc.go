// Package stamp answers whether an artifact carries the commit that it was built from.
//
// Where it looks depends on what the artifact is, not on what it is called:
//
//	zip (wheel, JAR …)     an entry holds the commit; of those that match the artifact's StampIn, if it is set
//	tar, tar.gz            the same
//	OCI layout in a tar    each image says it: label or annotation "org.opencontainers.image.revision"
//	anything else          the bytes hold it
//
// The whole commit must be there. Archives are hostile: what is read of them is bounded, and nothing is written.
package stamp
