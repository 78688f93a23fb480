// Package bucket keeps objects under names in an S3 bucket, any endpoint's. It is the only package that knows AWS.
//
// What differs between S3 servers was measured, and the rules that follow from it hold here: an object's name is a clean
// relative path whose segments have at most 255 bytes; no name may be a directory of another (the caller's care); the
// checksum algorithm of an upload is always named; nothing depends on lifecycle rules.
//
// The bytes of requests are not hashed for the signature ("unsigned payload"): they carry a CRC32 that the server checks,
// and who needs more than a transport's check has a digest. On a network that is not trusted use an https endpoint.
package bucket
