package definition

// Job is one entry of builds or tests: a task, or one task for each row of its matrix.
type Job struct {
	At          Pos
	Extends     Texts         `key:"extends" doc:"A template, or a list of them, that the job starts from. What the job says wins; maps are merged key by key, of two templates the later wins." example:"python"`
	Needs       Needs         `key:"needs" doc:"Jobs whose tasks must succeed first, whose artifacts are laid into $SLUICE_INPUTS/JOB/. With a matrix on both sides, only the tasks that agree on every key that both have." example:"[lock]"`
	Matrix      Matrix        `key:"matrix" doc:"One task for each combination. A value is a list, $name of a list of definitions, or $settings.path; include adds rows, exclude removes those that match, adjustments change some." example:"{python: $pythons, exclude: [{python: \"3.10\"}]}"`
	Sequence    Sequence      `key:"sequence" doc:"Measurements of one task: the command runs once for each combination, in order, on one lease, with the values as variables of the keys' names." example:"{batch: [1, 8, 64]}"`
	If          Text          `key:"if" doc:"CEL condition: a task that does not meet it is left out. It reads change, matrix, settings, env, environment, and each matrix key by its name." example:"change.kind == \"push\""`
	Unless      Text          `key:"unless" doc:"CEL condition: a task that meets it is left out." example:"platform.startsWith(\"macos\")"`
	Run         Text          `key:"run" doc:"Text for sh -eu." required:"unless extends fetch" example:"make wheel PYTHON={{ python }}"`
	Fetch       Fetch         `key:"fetch" doc:"Instead of run, of a build: its one output is fetched, as soon as it is there, and no executor waits for it. A URL, or a map." example:"https://wheels.example.com/{{ commit }}/rayish.whl"`
	Prepare     Text          `key:"prepare" doc:"Text for sh -eu that runs before; its failure is of the class prepare." example:"pip install -r requirements.txt"`
	Cleanup     Text          `key:"cleanup" doc:"Text for sh -eu that runs last, whatever happened, and first on places that the task leased." example:"./teardown"`
	Skip        List[Phase]   `key:"skip" doc:"Phases that are not run." example:"[cleanup-first]"`
	Directory   Text          `key:"directory" doc:"Where run starts, below the checkout." default:"the checkout" example:"python"`
	Checkout    Checkout      `key:"checkout" doc:"What the workspace holds first." default:"commit" example:"none"`
	Environment Text          `key:"environment" doc:"The environment of the job's tasks, unless --env chooses another." example:"staging"`
	Env         Map[Text]     `key:"env" doc:"Variables." example:"{CC: clang}"`
	Secrets     List[Text]    `key:"secrets" doc:"Names of secrets that the task gets as variables; never in a run of a pull request." example:"[HF_TOKEN]"`
	IDTokens    Map[IDToken]  `key:"id_tokens" doc:"Variables that hold a signed identity token of the task, for services that give credentials to whoever shows one: by name, who is to believe it." example:"{CLOUD_TOKEN: {aud: \"https://cloud.example.com\"}}"`
	Outputs     Map[Output]   `key:"outputs" doc:"What the task leaves, by type: a glob below the workspace, or a map." example:"{wheel: \"dist/*.whl\"}"`
	Stamp       Stamp         `key:"stamp" doc:"commit: every output carries the commit, and is refused if it does not." example:"commit"`
	Timeout     Timeout       `key:"timeout" doc:"How long the command may run, or a map of queue, prepare, nodes, command, cleanup and disconnect." default:"1h" example:"10m"`
	LongRunning Bool          `key:"long_running" doc:"To reach the timeout of the command is to succeed." default:"false" example:"true"`
	Retry       Retries       `key:"retry" doc:"By class: how often an attempt is made again, or a map of limit, wait, max and backoff. Classes that are not named keep their default: lost 3, infra 2, infra_timeout 2, setup 1. Below exit, what exit statuses of run and prepare mean: a class for each status or range." example:"{infra: 2, command: 0, exit: {75: infra, \"100-109\": setup}}"`
	Keep        Duration      `key:"keep" doc:"How long the workspace and the places of a failed attempt are left for a person." example:"30m"`
	Reports     Reports       `key:"reports" doc:"Files that tell what was tested." example:"{junit: \"reports/*.xml\"}"`
	Cache       List[Cache]   `key:"cache" doc:"Directories that attempts with the same key find as the last one left them." example:"[{key: pip, files: [requirements.txt], path: .pip}]"`
	Resources   Map[Quantity] `key:"resources" doc:"What one task uses; pools match on it." example:"{cpu: 4, memory: 8GiB, gpu: 1}"`
	Lease       Lease         `key:"lease" doc:"Places that the task holds while it runs: the name of a provider, or a map." example:"{from: lab, places: [\"rack1-*\"], nodes: 2}"`
	Gang        Gang          `key:"gang" doc:"How the command runs on the nodes of the lease at once." example:"{each: true, stagger: 5s, need: 3}"`
	Network     Network       `key:"network" doc:"What a container or sandbox may reach." default:"none" example:"full"`
	Tags        List[Text]    `key:"tags" doc:"Words that pools match on." example:"[\"os=linux\", docker]"`
	Pool        Text          `key:"pool" doc:"The pool, whatever the pools' matches say." example:"gpu"`
	Image       Text          `key:"image" doc:"Container image." example:"python:3.12"`
	Priority    Int           `key:"priority" doc:"Higher goes first." default:"0" example:"10"`
	Concurrency Concurrency   `key:"concurrency" doc:"A group of tasks, in all runs, of which only some run at once: its name, or a map of group and limit." example:"{group: \"staging-{{ platform }}\", limit: 2}"`
	SoftFail    Bool          `key:"soft_fail" doc:"A failure does not fail the run. The gate still demands what it requires." default:"false" example:"true"`
	Stable      Bool          `key:"stable" doc:"Counts for gate.require tests.stable." default:"true" example:"false"`
	Smoke       Bool          `key:"smoke" doc:"A short form of a longer test." default:"false" example:"true"`
	Owner       Text          `key:"owner" doc:"Who answers for the job." example:"ml-platform"`
	Team        Text          `key:"team" doc:"The team that the job belongs to." example:"serve"`
	Group       Text          `key:"group" doc:"Groups jobs on pages." example:"core"`
	Frequency   Text          `key:"frequency" doc:"How often the job is meant to run, for people and reports." example:"nightly"`
}

// Reports names the files that tell what a test found.
type Reports struct {
	JUnit   Text `key:"junit" doc:"Glob of JUnit XML files." example:"reports/*.xml"`
	Results Text `key:"results" doc:"Path of a results.json." example:"results.json"`
}

// IDToken is an identity token that a task gets as a variable.
type IDToken struct {
	At  Pos
	Aud Texts `key:"aud" doc:"The audience: who is to believe the token; a text, or a list." required:"true" example:"https://cloud.example.com"`
}

// Concurrency is a group of tasks of which only some run at once.
type Concurrency struct {
	At    Pos
	Group Text `key:"group" doc:"Name of the group." required:"true" example:"staging"`
	Limit Int  `key:"limit" doc:"How many attempts of the group run at once." default:"1" example:"2"`
}

// Lease asks for places.
type Lease struct {
	At     Pos
	From   Text       `key:"from" doc:"The provider: of providers, or of the installation." required:"true" example:"lab"`
	Places List[Text] `key:"places" doc:"Globs of the names of places that will do." default:"any" example:"[\"rack1-*\"]"`
	Nodes  Int        `key:"nodes" doc:"Places at once, all or none." default:"1" example:"4"`
	Shared Bool       `key:"shared" doc:"Others may use a place at the same time, as many as it takes." default:"false" example:"true"`
	For    Duration   `key:"for" doc:"The longest that the places are held." default:"as long as the attempt lives" example:"2h"`
}

// Gang is how the command runs on several nodes at once.
type Gang struct {
	At      Pos
	Each    Bool     `key:"each" doc:"Once on every node, started together; otherwise once, beside them all." default:"false" example:"true"`
	Stagger Duration `key:"stagger" doc:"Between the starts of one node and the next." example:"5s"`
	Need    Int      `key:"need" doc:"How many nodes must succeed." default:"all" example:"3"`
}

// Cache is a directory that attempts with the same key share.
type Cache struct {
	At    Pos
	Key   Text       `key:"key" doc:"Name of the content." required:"true" example:"pip-{{ python }}"`
	Files List[Text] `key:"files" doc:"Globs of the checkout whose content is part of the key." example:"[requirements.txt]"`
	Path  Text       `key:"path" doc:"The directory, below the workspace." required:"true" example:".pip"`
}

// texts lists every text of a job that is a template.
func (j *Job) texts() []Text {
	out := []Text{j.Run, j.Prepare, j.Cleanup, j.Directory, j.Image, j.Reports.JUnit, j.Reports.Results, j.Concurrency.Group, j.Lease.From}
	out = append(out, j.Tags...)
	out = append(out, j.Lease.Places...)
	for _, c := range j.Cache {
		out = append(append(out, c.Key, c.Path), c.Files...)
	}
	for _, e := range j.Env {
		out = append(out, e.Value)
	}
	for _, e := range j.Outputs {
		out = append(out, e.Value.Path, e.Value.StampIn)
	}
	return append(out, j.Fetch.URL, j.Fetch.Digest, j.Fetch.Commit)
}

// commands lists the texts of a job that a shell reads.
func (j *Job) commands() []Text { return []Text{j.Run, j.Prepare, j.Cleanup} }
