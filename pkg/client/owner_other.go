//go:build !unix

package client

import "io/fs"

// ownable says that files have owners and modes here.
const ownable = false

func owned(fs.FileInfo) bool { return true }
