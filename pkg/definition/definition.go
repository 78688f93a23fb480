package definition

import (
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/release"
)

// Definition is what a sluice.yaml says, with all that it includes, checked as far as it can be without a change to
// resolve it for.
type Definition struct {
	Project        Text             `key:"project" part:"no" doc:"Name of the project, for people and for URLs." required:"true" example:"rayish"`
	Include        List[Include]    `key:"include" doc:"Further files whose content belongs to the definition: of the repository, of another repository at a commit, or of another system, read by a dialect." example:"[\"ci/*.yaml\", {repo: \"https://git.test/acme/ci\", at: 4f2a9c1d0123456789abcdef0123456789abcdef, path: jobs.yaml}]"`
	Release        Release          `key:"release" part:"no" doc:"Which changes may publish." example:"{branch: master, also: [\"releases/*\"], tags: [\"v*\"], approvals: 1}"`
	Triggers       Triggers         `key:"triggers" part:"no" doc:"Which changes start a run. A kind that is not named keeps its default." example:"{push: {branches: [master, \"feature/*\"]}, pull_request: false}"`
	Environments   Map[Environment] `key:"environments" doc:"Named sets of variables and secrets; --env chooses one, or a job's environment. The one named default holds when none is chosen." example:"{staging: {vars: {URL: \"https://staging\"}}}"`
	Settings       Setting          `key:"settings" doc:"A free tree of values, read by conditions and templates as settings.a.b and changed by presets and --set, which never add a key." example:"{tests: {gpu: 1}}"`
	Presets        Map[Preset]      `key:"presets" doc:"Named sets of overrides of settings, by path; applied whole or not at all." example:"{light: {tests.gpu: 1}, scale: {extends: [light], tests.gpu: [2, 4]}}"`
	Definitions    Map[List[Text]]  `key:"definitions" doc:"Named lists that a matrix takes as $name." example:"{pythons: [\"3.12\", \"3.13\"]}"`
	Pools          List[Pool]       `key:"pools" doc:"Which tasks go to which executors: the first pool whose every match holds. Without pools, every task goes to the pool \"default\"." example:"[{name: gpu, match: [\"gpu>=1\"]}, {name: linux}]"`
	PoolsUnmatched Unmatched        `key:"pools_unmatched" part:"no" doc:"What to do with unmatched tasks: fail, or leave them out with a warning." default:"error" example:"warn"`
	Providers      Map[Provider]    `key:"providers" doc:"Places that commands of the definition make for one task at a time, and destroy after; jobs lease them by name." example:"{cloud: {create: ./create, destroy: ./destroy}}"`
	Changed        List[Rule]       `key:"changed" doc:"Which jobs a changed path concerns: the first rule that matches it; a path that no rule matches concerns every job. Only for changes that cannot publish. A pull request is compared with where it left its target, a push with the branch's last head whose run succeeded." example:"[{paths: [\"docs/**\"], jobs: []}]"`
	Templates      Map[Template]    `key:"templates" doc:"Jobs that others start from by extends; they are not run themselves." example:"{python: {image: \"python:3.12\", prepare: pip install -e .}}"`
	Builds         Map[Job]         `key:"builds" include:"no" doc:"Jobs that make artifacts: the candidate." example:"{wheel: {run: make wheel, outputs: {wheel: \"dist/*.whl\"}}}"`
	Tests          Map[Job]         `key:"tests" include:"yes" doc:"Jobs that run on the candidate, after every build; and include, which means what it means at the top." example:"{smoke: {needs: [wheel], run: make smoke}}"`
	KeepGoing      Bool             `key:"keep_going" part:"no" doc:"Tasks are started although they can no longer change the outcome." default:"false" example:"true"`
	Supersede      Bool             `key:"supersede" part:"no" doc:"A newer run of the same branch or pull request ends this one." default:"true for pull requests and for branches that do not release" example:"false"`
	RetryBudget    Int              `key:"retry_budget" part:"no" doc:"Retries of all tasks of a run together; 0 means no limit." default:"0" example:"20"`
	Gate           Gate             `key:"gate" part:"no" doc:"What a candidate must meet to be published." example:"{require: [builds, tests.stable], on: [push]}"`
	Publish        Map[Target]      `key:"publish" doc:"Where artifacts go when the gate opens." example:"{index: {kind: pypi-index, artifacts: [wheel], directory: simple}}"`

	// Digest is that of the text; with what it includes, of the digests of all files.
	Digest release.Digest
	// Files lists what was read beside the definition itself.
	Files []string

	source  *source
	suites  []suite
	broken  Errors // of suites that are used all the same
	presets map[string]*Preset
	targets map[string][]TargetOption
}

// Release says which changes may publish.
type Release struct {
	Branch    Text       `key:"branch" doc:"The release branch." default:"master" example:"main"`
	Also      List[Text] `key:"also" doc:"Globs of further branches that release; * does not match a slash." example:"[\"releases/*\"]"`
	Tags      List[Text] `key:"tags" doc:"Globs of tags that release." example:"[\"v*\"]"`
	Approvals Int        `key:"approvals" doc:"People who must approve before the gate opens." default:"0" example:"1"`

	RetryBudget Int `key:"retry_budget" doc:"Retries of all runs of a release together: of a tag, or of a commit of a branch; a run that cannot publish shares it with its reruns. 0 means no limit." default:"0" example:"40"`
}

// Environment is a named set of variables and secrets.
type Environment struct {
	Files   List[Text] `key:"files" doc:"Files of KEY=VALUE lines, whose values vars override; a later file wins." example:"[ci/staging.env]"`
	Vars    Map[Text]  `key:"vars" doc:"Variables of every task. A chosen environment's win over a job's env; those of the environment named default do not." example:"{REGION: eu}"`
	Secrets List[Text] `key:"secrets" doc:"Names of secrets that every task gets." example:"[S3_KEY]"`
}

// Provider makes places with commands of the definition.
type Provider struct {
	At      Pos
	Create  Text       `key:"create" doc:"Text for sh -eu, run in the checkout, that makes the places and writes the address of each on a line of the file $SLUICE_PLACES; local is this machine." required:"true" example:"./cluster create"`
	Destroy Text       `key:"destroy" doc:"Text for sh -eu that destroys them; it must succeed on what is half made, or not there." required:"true" example:"./cluster destroy"`
	Ready   Text       `key:"ready" doc:"Text for sh -eu that succeeds once every node is up; until then it is run again." example:"./cluster ready"`
	Expiry  Duration   `key:"expiry" doc:"After which a sweeper destroys what is left." example:"6h"`
	Limit   Int        `key:"limit" doc:"Places at once; 0 means no limit." default:"0" example:"4"`
	Secrets List[Text] `key:"secrets" doc:"Names of secrets that the commands get as variables." example:"[CLOUD_KEY]"`
}

// Template is a job that others start from.
type Template Job

func (t *Template) decode(d *decoder, n ast.Node) {
	loose := d.loose
	d.loose = true
	d.object(n, reflect.ValueOf((*Job)(t)).Elem())
	d.loose = loose
}

func (*Template) shape() shape {
	return shape{name: "job", of: reflect.TypeFor[Template](), schema: schemaNode{"$ref": "#/$defs/template"}}
}

// Unmatched is what becomes of a task that no pool takes.
type Unmatched struct{ choice }

func unmatched() []string                          { return []string{"error", "warn"} }
func (c *Unmatched) decode(d *decoder, n ast.Node) { c.take(d, n, unmatched()) }
func (*Unmatched) shape() shape                    { return choiceShape(unmatched()) }

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

// Gate is what a candidate must meet to be published.
type Gate struct {
	At      Pos
	Require List[Text]     `key:"require" doc:"builds (always demanded), tests (all), tests.stable, or tests.NAME." default:"[builds, tests.stable]" example:"[builds, tests.smoke]"`
	On      List[GateKind] `key:"on" doc:"Kinds of change that may publish: push, tag, manual, schedule." default:"[push], and tag when release.tags is given" example:"[push, tag]"`
}
