package cell

// View is what the commands of a cell see of this machine. Everything is read-only but their own trees, what is shown as
// writable, and the scratch directories. Paths hold no links.
type View struct {
	// Hide are directories and files that are empty in the cell, outer ones first: the platform's state and secrets, homes,
	// sockets.
	Hide []string
	// Show are trees that are seen where they are, also below what is hidden. One that does not exist is left out.
	Show []Tree
	// Below is the directory that most trees of commands lie in.
	Below string
	// Scratch are directories that are empty for every command and that it may write to: /tmp and its like.
	Scratch []string
}
