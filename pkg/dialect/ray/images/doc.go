// Package images names the container images of a release and of its tests: which tags each has, which commit it is to
// carry, what a custom image is made of, and how long to wait for what others build.
package images
