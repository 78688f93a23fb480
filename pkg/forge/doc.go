// Package forge knows GitHub, GitLab and Gitea (with Forgejo): it tells which change a webhook delivery announces, and
// sets the status of a commit.
//
// # Deliveries
//
// Parse checks the signature over the bytes as they came, and only then reads them. What it gives is a release.Change,
// or the reason why the delivery announces none. The table Forges is all that differs between forges.
//
// A forge's own claims are taken for what they are:
//
//   - A commit is where the head of a push is, never a tag object: GitHub and Gitea name it in head_commit, GitLab in
//     checkout_sha.
//   - The title is that of the head commit, found by its name: Gitea lists commits newest first, the others oldest first.
//   - Forced is set where the forge says so, which only GitHub does. Whether another forge's push was forced is for git
//     to find out, from Before.
//   - A pull request whose head repository is gone, or is another than its base, comes from a fork.
//   - A delivery with a classic GitLab token is "token" and not "signature": the token proves the sender, not the body.
//
// Deliveries are read here and not with go-scm's parsers, which lose facts that the above needs: head_commit (so an
// annotated tag gives its tag object), forced, Gitea's "synchronized" and head repositories that are gone; they also read
// a body before they check its signature, take one secret, and neither know Gitea's form encoding nor GitLab's
// signatures.
//
// # Statuses
//
// SetStatus uses go-scm's clients, and for GitLab its transport only: go-scm drops the description there.
package forge
