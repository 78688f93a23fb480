package cell

// View is what the commands of a cell see of this machine. Everything is read-only but their own trees, what is shown as
// writable, and empty directories of their own in place of /tmp, /var/tmp and /dev/shm.
type View struct {
	// Hide are directories and files that are empty in the cell: the platform's state and secrets, homes, sockets.
	Hide []string
	// Show are trees that are seen where they are, also below what is hidden. One that does not exist is left out.
	Show []Tree
	// Only leaves out everything of the machine but what is shown.
	Only bool
}
