// Package secret has the secrets of an installation: the stores that hold their values (Provider), and the grants that
// say which work may have which of them (Grants).
//
// A definition can only ask. It gets a secret when a grant of the installation's file names the secret, the project, the
// ref, the environment and the kind of work. Credentials of services, such as those of webhooks, are no secrets of any
// definition: the configuration refuses grants that name them (Reserved).
package secret
