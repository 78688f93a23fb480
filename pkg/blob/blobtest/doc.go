// Package blobtest tests stores: the conformance suite that every store passes, and a real S3 server on loopback.
package blobtest
