package definition

import "github.com/sluiceci/sluice/pkg/release"

// Definition is what a sluice.yaml says, checked as far as it can be without a change to resolve it for.
type Definition struct {
	Project      Text             `key:"project" doc:"Name of the project, for people and for URLs." required:"true" example:"rayish"`
	Release      Release          `key:"release" doc:"Which changes may publish." example:"{branch: master, also: [\"releases/*\"], tags: [\"v*\"], approvals: 1}"`
	Triggers     Triggers         `key:"triggers" doc:"Which changes start a run. A kind that is not named keeps its default." example:"{push: {branches: [\"feature/*\"]}, pull_request: false}"`
	Environments Map[Environment] `key:"environments" doc:"Named sets of variables and secrets; --env chooses one. The one named default holds when none is chosen." example:"{staging: {vars: {URL: \"https://staging\"}}}"`
	Settings     Setting          `key:"settings" doc:"A free tree of values, read by conditions and templates as settings.a.b and changed by presets and --set, which never add a key." example:"{tests: {gpu: 1}}"`
	Presets      Map[Preset]      `key:"presets" doc:"Named sets of overrides of settings, by dotted path; applied whole or not at all." example:"{scale: {extends: [light], tests.gpu: [2, 4]}}"`
	Definitions  Map[List[Text]]  `key:"definitions" doc:"Named lists that a matrix takes as $name." example:"{pythons: [\"3.12\", \"3.13\"]}"`
	Pools        List[Pool]       `key:"pools" doc:"Which tasks go to which executors: the first pool whose every match holds. Without pools, every task goes to the pool \"default\"." example:"[{name: gpu, match: [\"gpu>=1\"]}, {name: linux, match: [\"os=linux\"]}]"`
	Changed      List[Rule]       `key:"changed" doc:"Which jobs a changed path concerns: the first rule that matches it; a path that no rule matches concerns every job. Only for changes that cannot publish." example:"[{paths: [\"docs/**\"], jobs: []}]"`
	Builds       Map[Job]         `key:"builds" doc:"Jobs that make artifacts: the candidate." example:"{wheel: {run: make wheel, outputs: {wheel: \"dist/*.whl\"}}}"`
	Tests        Map[Job]         `key:"tests" doc:"Jobs that run on the candidate, after every build." example:"{smoke: {needs: [wheel], run: make smoke}}"`
	Gate         Gate             `key:"gate" doc:"What a candidate must meet to be published." example:"{require: [builds, tests.stable], on: [push]}"`
	Publish      Map[Target]      `key:"publish" doc:"Where artifacts go when the gate opens." example:"{pypi: {artifacts: [wheel], password: $PYPI_TOKEN}}"`

	// Digest is that of the text.
	Digest release.Digest

	source *source
}

// Release says which changes may publish.
type Release struct {
	Branch    Text       `key:"branch" doc:"The release branch." default:"master" example:"main"`
	Also      List[Text] `key:"also" doc:"Globs of further branches that release; * does not match a slash." example:"[\"releases/*\"]"`
	Tags      List[Text] `key:"tags" doc:"Globs of tags that release." example:"[\"v*\"]"`
	Approvals Int        `key:"approvals" doc:"People who must approve before the gate opens." default:"0" example:"1"`
}

// Environment is a named set of variables and secrets.
type Environment struct {
	Vars    Map[Text]  `key:"vars" doc:"Variables of every task. A chosen environment's win over a job's env; those of the environment named default do not." example:"{REGION: eu}"`
	Secrets List[Text] `key:"secrets" doc:"Names of secrets that every task gets." example:"[S3_KEY]"`
}

// Pool is executors of one kind of hardware, and which tasks go there.
type Pool struct {
	At        Pos
	Name      Text        `key:"name" doc:"Name of the pool." required:"true" example:"gpu"`
	Match     List[Match] `key:"match" doc:"Expressions that must all hold: NAME=GLOB, NAME!=GLOB, NAME>=NUMBER (also > < <=), or a tag. NAME is a resource, a matrix key, the NAME of a tag NAME=VALUE, or job, kind, group. Without match the pool takes every task." example:"[\"os=linux\", \"gpu>=1\"]"`
	Image     Text        `key:"image" doc:"Container image of tasks that state none." example:"python:3.12"`
	Tags      List[Text]  `key:"tags" doc:"Tags added to the pool's tasks." example:"[docker]"`
	Variables Map[Text]   `key:"variables" doc:"Variables of the pool's tasks; a job's env wins." example:"{MAKEFLAGS: -j8}"`
}

// Rule is one line of changed: paths, and the jobs that they concern.
type Rule struct {
	At    Pos
	Paths List[Text] `key:"paths" doc:"Globs of changed paths; ** matches any depth." required:"true" example:"[\"docs/**\", \"*.md\"]"`
	Jobs  List[Text] `key:"jobs" doc:"Jobs that these paths concern, with everything that those need. An empty list concerns none." required:"true" example:"[wheel]"`
}

// Job is one entry of builds or tests: a task, or one task for each row of its matrix.
type Job struct {
	At        Pos
	Needs     Needs         `key:"needs" doc:"Jobs whose tasks must succeed first, whose artifacts are laid into $SLUICE_INPUTS/JOB/. With a matrix on both sides, only the tasks that agree on every key that both have." example:"[lock]"`
	Matrix    Matrix        `key:"matrix" doc:"One task for each combination. A value is a list, $name of a list of definitions, or $settings.path; include adds rows, exclude removes those that match." example:"{python: $pythons, exclude: [{python: \"3.10\"}]}"`
	If        Text          `key:"if" doc:"CEL condition: a task that does not meet it is left out. It reads change, matrix, settings, env, environment, and each matrix key by its name." example:"change.kind == \"push\""`
	Unless    Text          `key:"unless" doc:"CEL condition: a task that meets it is left out." example:"platform.startsWith(\"macos\")"`
	Run       Text          `key:"run" doc:"Text for sh -eu." required:"true" example:"make wheel PYTHON={{ python }}"`
	Prepare   Text          `key:"prepare" doc:"Text for sh -eu that runs before; its failure is of the class prepare." example:"pip install -r requirements.txt"`
	Directory Text          `key:"directory" doc:"Where run starts, below the checkout." default:"the checkout" example:"python"`
	Checkout  Checkout      `key:"checkout" doc:"What the workspace holds first." default:"commit" example:"none"`
	Env       Map[Text]     `key:"env" doc:"Variables." example:"{CC: clang}"`
	Secrets   List[Text]    `key:"secrets" doc:"Names of secrets that the task gets as variables; never in a run of a pull request." example:"[HF_TOKEN]"`
	Outputs   Map[Output]   `key:"outputs" doc:"What the task leaves, by type: a glob below the workspace, or a map." example:"{wheel: \"dist/*.whl\"}"`
	Stamp     Stamp         `key:"stamp" doc:"commit: every output carries the commit, and is refused if it does not." example:"commit"`
	Timeout   Timeout       `key:"timeout" doc:"How long the command may run, or a map of queue, prepare, command and cleanup." default:"1h" example:"10m"`
	Retry     Retries       `key:"retry" doc:"By class: how often an attempt is made again, or a map of limit, wait and max. Classes that are not named keep their default: lost 3, infra 2, infra_timeout 2, setup 1." example:"{infra: 2, command: 0}"`
	Reports   Reports       `key:"reports" doc:"Files that tell what was tested." example:"{junit: \"reports/*.xml\"}"`
	Resources Map[Quantity] `key:"resources" doc:"What one task uses; pools match on it." example:"{cpu: 4, memory: 8GiB, gpu: 1}"`
	Tags      List[Text]    `key:"tags" doc:"Words that pools match on." example:"[\"os=linux\", docker]"`
	Pool      Text          `key:"pool" doc:"The pool, whatever the pools' matches say." example:"gpu"`
	Priority  Int           `key:"priority" doc:"Higher goes first." default:"0" example:"10"`
	Owner     Text          `key:"owner" doc:"Who answers for the job." example:"ml-platform"`
	SoftFail  Bool          `key:"soft_fail" doc:"A failure does not fail the run. The gate still demands what it requires." default:"false" example:"true"`
	Stable    Bool          `key:"stable" doc:"Counts for gate.require tests.stable." default:"true" example:"false"`
	Group     Text          `key:"group" doc:"Groups jobs on pages." example:"core"`
	Image     Text          `key:"image" doc:"Container image." example:"python:3.12"`
}

// Reports names the files that tell what a test found.
type Reports struct {
	JUnit   Text `key:"junit" doc:"Glob of JUnit XML files." example:"reports/*.xml"`
	Results Text `key:"results" doc:"Path of a results.json." example:"results.json"`
}

// Gate is what a candidate must meet to be published.
type Gate struct {
	At      Pos
	Require List[Text]     `key:"require" doc:"builds (always demanded), tests (all), tests.stable, or tests.NAME." default:"[builds, tests.stable]" example:"[builds, tests.smoke]"`
	On      List[GateKind] `key:"on" doc:"Kinds of change that may publish: push, tag, manual." default:"[push], and tag when release.tags is given" example:"[push, tag]"`
}
