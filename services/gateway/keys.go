package gateway

import (
	"errors"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
)

// keyring is every secret that may have signed a delivery, and whose it is.
type keyring struct {
	secrets []string
	owners  []*Project // of the secret with the same index; a secret may stand here once for each of its projects
	missing error      // secrets that the installation names but does not have
}

// keys collects the secrets of the projects that a delivery may be about. Without one nothing is taken: anybody could
// start runs. A secret that is missing takes the others' deliveries from nobody.
func (g *gateway) keys(d delivery) (keyring, error) {
	var k keyring
	for i := range g.config.Projects {
		p := &g.config.Projects[i]
		if p.Forge != d.forge || d.project != "" && d.project != p.Name {
			continue
		}
		for _, name := range p.Secrets {
			value, err := g.deps.Secret(name)
			if err != nil {
				k.missing = errors.Join(k.missing, err)
				continue
			}
			k.secrets, k.owners = append(k.secrets, value), append(k.owners, p)
		}
	}
	switch {
	case len(k.secrets) > 0:
		return k, nil
	case k.missing != nil:
		return k, k.explain(fault.New(fault.Denied, "cannot take deliveries at /hooks/%s: the secret to check them with is missing", d.forge))
	default:
		return k, fault.New(fault.Denied, "cannot take deliveries at /hooks/%s: no project here has a webhook secret for it", d.forge)
	}
}

// explain blames a delivery that could not be checked on a missing secret, if there is one: the sender may be right, and
// is asked to try again once the installation is.
func (k keyring) explain(err error) error {
	if k.missing == nil || !fault.Is(err, fault.Denied) {
		return err
	}
	return fault.New(fault.Transient, "cannot check the delivery: %w", k.missing)
}

// project finds the project that a delivery is about; the secret that signed it must be one of the project's own. If
// there is none it names the repositories whose secret it is.
func (k keyring) project(p forge.Parsed) (found *Project, owned []string) {
	for i, secret := range k.secrets {
		if secret != k.secrets[p.Secret] {
			continue
		}
		if owner := k.owners[i]; strings.EqualFold(owner.Repo, p.Repo) { // forges do not tell names apart by case
			return owner, nil
		}
		owned = append(owned, k.owners[i].Repo)
	}
	return nil, owned
}
