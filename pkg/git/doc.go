// Package git runs the git command: it keeps a bare mirror of every repository that was asked for, reads files and
// makes work trees from the mirrors, lists what a remote has, and takes snapshots of a person's working directory.
//
// What holds:
//
//   - A commit counts as present only when the mirror has a note of it, which is written after git has checked that
//     everything below the commit arrived and is on the disk. A fetch that was killed half way is never taken for a
//     whole one.
//   - One writer per mirror, in this process and between processes: a lock on a file beside the mirror, which the
//     running git holds too. If this process dies, its orphaned git is waited for before anybody else writes.
//   - No object is ever removed, though only the newest commits have refs: a fetch stays as quick as the first one was.
//     Do not run "git gc" or "git prune" in a mirror; remove the whole mirror instead, when no attempt runs. Work trees borrow the mirror's objects (alternates) and need neither network nor a copy; they
//     live no longer than the mirror's directory.
//   - git runs without hooks, prompts, system and user configuration, replacement objects, submodules and filters, over
//     file, http, https, ssh and git only. The one exception is Snapshot, which reads a person's own repository with
//     that person's configuration, or it would see other files than "git status" does.
//   - Credentials travel in the child's environment as a header for the one host; they are never in arguments, files or
//     errors. A credential within a URL is taken out of it first.
//
// Errors have kinds (package fault): what the network does is Transient; refused credentials are Denied; a repository
// that does not exist and a malformed name are Invalid. A commit that the remote does not have is Transient while it
// may still be on its way (a forge announces a commit before all of its replicas have it) and Invalid once it has been
// missing for Options.MissingFor: by then it was pushed over, and asking again cannot help.
package git
