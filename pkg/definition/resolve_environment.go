package definition

import "cmp"

// scope is an environment as a job sees it.
type scope struct {
	name    string
	under   map[string]string // variables that a job's own win over
	over    map[string]string // variables that win over a job's own
	secrets []string
}

const defaultEnvironment = "default"

// chooseEnvironment checks the environment of the request; see scopeOf.
func (r *resolver) chooseEnvironment() {
	if r.req.Environment == "" {
		return
	}
	if _, ok := r.def.Environments.Get(r.req.Environment); !ok {
		r.refuse(Flag("--env", r.req.Environment), nearest(r.req.Environment, r.def.Environments.Names()),
			"unknown environment%s", oneOf("environments", r.def.Environments.Names()))
	}
}

// scopeOf is the environment of a job: that of the request, or else its own, or else the default.
func (r *resolver) scopeOf(j *Job) *scope {
	name := r.req.Environment
	if name == "" {
		name = j.Environment.Value
	}
	if known, ok := r.scopes[name]; ok {
		return known
	}
	s := &scope{name: name, under: map[string]string{}}
	if fallback, ok := r.def.Environments.Get(defaultEnvironment); ok {
		s.name = cmp.Or(name, defaultEnvironment)
		s.under, s.secrets = textMap(fallback.Vars), Strings(fallback.Secrets)
	}
	if chosen, ok := r.def.Environments.Get(name); ok {
		s.secrets = Strings(chosen.Secrets)
		if r.req.Environment != "" {
			s.over = textMap(chosen.Vars)
		} else {
			s.under = r.variables(s.under, textMap(chosen.Vars))
		}
	}
	r.scopes[name] = s
	return s
}

// variables merges maps of variables; a later one wins.
func (r *resolver) variables(maps ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range maps {
		for k, v := range m {
			out[k] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// merge is the variables of a task: of the pool, of the environment, its own.
func (r *resolver) merge(b *bound, pool Pool, env map[string]string) map[string]string {
	out := r.variables(textMap(pool.Variables), b.scope.under, env, b.scope.over)
	for k, v := range out {
		r.bytes += len(k) + len(v)
	}
	return out
}

// secrets are the names that a job asks for and those that the environment gives.
func (r *resolver) secrets(b *bound, names []string) []string {
	seen := map[string]bool{}
	for _, s := range append(names, b.scope.secrets...) {
		seen[s] = true
	}
	if len(seen) == 0 {
		return nil
	}
	return keysOf(seen)
}

func textMap(m Map[Text]) map[string]string {
	out := make(map[string]string, len(m))
	for _, e := range m {
		out[e.Name] = e.Value.Value
	}
	return out
}
