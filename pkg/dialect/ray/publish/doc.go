// Package publish decides what of a build is uploaded, pushed and deployed, and where; and holds what was done to it: an
// upload that the other side refused is an error, and what was left out is never a success.
package publish
