package definition

// override applies presets and --set to a copy of the settings, and chooses the environment. All of it holds or the
// resolution fails: settings are never changed by half.
func (r *resolver) override() {
	r.settings = r.def.Settings.clone()
	r.settings.Map = true
	for _, name := range r.req.Presets {
		if _, ok := r.def.Presets.Get(name); !ok {
			r.refuse(Flag("--preset", name), nearest(name, r.def.Presets.Names()), "unknown preset%s", oneOf("presets", r.def.Presets.Names()))
			continue
		}
		budget := maxOverrides
		sets, _ := r.def.presetSets(name, nil, &budget)
		for _, set := range sets {
			if problem, hint := r.settings.override(set.Name, set.Value, cause{preset: set.preset}); problem != "" {
				r.fail(set.At, hint, "%s", problem)
			}
		}
	}
	for i, text := range r.req.Set {
		path, value, problems := parseSet(text)
		r.problems = append(r.problems, problems...)
		if len(problems) > 0 {
			continue
		}
		if problem, hint := r.settings.override(path, value, cause{set: i + 1, text: shorten(printable(text), 60)}); problem != "" {
			r.refuse(Flag("--set", text), hint, "%s", problem)
		}
	}
	r.chooseEnvironment()
	r.known = r.constants()
	r.record()
}

// record keeps with the plan what it was resolved with.
func (r *resolver) record() {
	r.plan.Environment, r.plan.Presets = r.req.Environment, r.req.Presets
	walkSettings("", &r.settings, func(path string, s *Setting) {
		if r.plan.Settings == nil {
			r.plan.Settings = map[string]string{}
		}
		r.plan.Settings[path] = s.text()
	})
}

// constants are the names of templates that mean the same in every task.
func (r *resolver) constants() map[string]string {
	out := map[string]string{"project": r.def.Project.Value, "environment": r.req.Environment}
	for name, value := range changeText(r.req.Change) {
		out["change."+name] = value
	}
	for short, long := range shortForms() {
		out[short] = out[long]
	}
	for _, name := range r.def.parameterNames() {
		out["change.parameters."+name] = r.parameters()[name]
	}
	walkSettings("settings", &r.settings, func(path string, s *Setting) {
		if s.List == nil {
			out[path] = s.Text
		}
	})
	return out
}
