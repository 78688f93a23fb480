package event

import (
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// TestsJudged says how the tests of a round of a run of the release branch ended: what their health follows from.
type TestsJudged struct {
	Project    string            `json:"project,omitempty"`
	Round      int32             `json:"round,omitempty"`
	Commit     release.Commit    `json:"commit,omitempty"`
	At         time.Time         `json:"at,omitzero"` // of the change: a run that ends late is an old one all the same
	Parameters map[string]string `json:"parameters,omitempty"`
	Tests      []JudgedTest      `json:"tests,omitempty"`
}

// JudgedTest is how one test ended. One that was not run is not there.
type JudgedTest struct {
	Test      string          `json:"test,omitempty"` // the name that its health is kept under
	Task      release.TaskID  `json:"task,omitempty"`
	Outcome   release.Outcome `json:"outcome,omitempty"`
	Class     release.Class   `json:"class,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Owner     string          `json:"owner,omitempty"`
	Frequency string          `json:"frequency,omitempty"`
	Stable    bool            `json:"stable,omitempty"`
}

// TestMoved says that a test is in another state of health, and what is to become of its issue.
type TestMoved struct {
	Project string         `json:"project,omitempty"`
	Test    string         `json:"test,omitempty"`
	Number  int32          `json:"number,omitempty"` // counts up, from 1
	From    string         `json:"from,omitempty"`
	To      string         `json:"to,omitempty"` // passing, failing, consistently_failing, flaky, jailed
	Variant string         `json:"variant,omitempty"`
	Run     release.RunID  `json:"run,omitempty"`           // whose result moved it; empty when a person did
	Commit  release.Commit `json:"commit,omitempty"`        // of the run
	Judged  int64          `json:"judged,omitempty,string"` // place in the stream of the last results that were looked at
	Owner   string         `json:"owner,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	By      string         `json:"by,omitempty"`    // a person; empty when the results decided
	Until   time.Time      `json:"until,omitzero"`  // of a jail: from then on the test is run again
	Issue   int32          `json:"issue,omitempty"` // about the test, as far as it is known; 0 when there is none
	Want    IssueWant      `json:"want,omitempty"`
	Title   string         `json:"title,omitempty"`   // of the issue, when one is opened
	Text    string         `json:"text,omitempty"`    // to say there
	Labels  []string       `json:"labels,omitempty"`  // for it
	Passing release.Commit `json:"passing,omitempty"` // a bisection is wanted: after this commit …
	Failing release.Commit `json:"failing,omitempty"` // … up to this one
}

// IssueWant is what is to become of an issue.
type IssueWant string

// What can become of an issue; empty leaves it alone.
const (
	IssueOpen   IssueWant = "open"
	IssueClosed IssueWant = "closed"
)

// IssueSynced says that the forge's issue about a test is as a fact wants it.
type IssueSynced struct {
	Project string `json:"project,omitempty"`
	Test    string `json:"test,omitempty"`
	Intent  string `json:"intent,omitempty"` // a token: the number of the move, or the bisection that it tells of
	Action  string `json:"action,omitempty"` // opened, updated, reopened, closed, commented
	Issue   int32  `json:"issue,omitempty"`
	URL     string `json:"url,omitempty"`
	Open    bool   `json:"open,omitempty"`
}

// BisectRequested asks for the commit that broke a test.
type BisectRequested struct {
	Bisect     string            `json:"bisect,omitempty"`
	Project    string            `json:"project,omitempty"`
	Test       string            `json:"test,omitempty"` // the name that its health is kept under, or that of its task
	Task       string            `json:"task,omitempty"` // what is to be selected: an id or a name of a task
	Good       release.Commit    `json:"good,omitempty"`
	Bad        release.Commit    `json:"bad,omitempty"`
	Ways       int32             `json:"ways,omitempty"`    // commits that are tried at a time
	Runs       int32             `json:"runs,omitempty"`    // of each commit, at least
	Confirm    int32             `json:"confirm,omitempty"` // runs that must confirm a failure before a commit is blamed
	Deadline   time.Time         `json:"deadline,omitzero"`
	Budget     int32             `json:"budget,omitempty"` // runs in all
	By         string            `json:"by,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"` // of the runs, as of the one that failed
}

// BisectAdvanced says which runs a bisection starts next. The first says which commits are in question.
type BisectAdvanced struct {
	Bisect  string           `json:"bisect,omitempty"`
	Number  int32            `json:"number,omitempty"`  // counts up, from 0
	Commits []release.Commit `json:"commits,omitempty"` // oldest first; in the first only
	Started []BisectRun      `json:"started,omitempty"`
	Passing release.Commit   `json:"passing,omitempty"` // the newest commit that is known to pass
	Failing release.Commit   `json:"failing,omitempty"` // the oldest that is known to fail
	Reason  string           `json:"reason,omitempty"`
}

// BisectRun is one run of the test at one of the commits.
type BisectRun struct {
	Commit release.Commit `json:"commit,omitempty"`
	Number int32          `json:"number,omitempty"` // of the commit's runs, from 0
	Run    release.RunID  `json:"run,omitempty"`
}

// BisectNonce is what the nonce of every run of a bisection begins with: such a run is one test at an old commit, and says
// nothing of a branch.
const BisectNonce = "bisect:"

// BisectEnded says which commit broke the test, or why that is not known.
type BisectEnded struct {
	Bisect  string           `json:"bisect,omitempty"`
	Project string           `json:"project,omitempty"`
	Test    string           `json:"test,omitempty"`
	Blamed  release.Commit   `json:"blamed,omitempty"` // empty when it gave up
	Passing release.Commit   `json:"passing,omitempty"`
	Failing release.Commit   `json:"failing,omitempty"`
	Unbuilt []release.Commit `json:"unbuilt,omitempty"` // commits that could not be judged, since they could not be built
	Runs    int32            `json:"runs,omitempty"`    // that were started
	Reason  string           `json:"reason,omitempty"`
}

// EventType, Key: see Payload.
func (TestsJudged) EventType() Type { return TypeTestsJudged }
func (t TestsJudged) Key() string   { return number(t.Round) }

func (TestMoved) EventType() Type { return TypeTestMoved }
func (t TestMoved) Key() string   { return TestKey(t.Project, t.Test) + "." + number(t.Number) }

func (IssueSynced) EventType() Type { return TypeIssueSynced }
func (i IssueSynced) Key() string   { return TestKey(i.Project, i.Test) + "." + i.Intent }

func (BisectRequested) EventType() Type { return TypeBisectRequested }
func (b BisectRequested) Key() string   { return b.Bisect }

func (BisectAdvanced) EventType() Type { return TypeBisectAdvanced }
func (b BisectAdvanced) Key() string   { return b.Bisect + "." + number(b.Number) }

func (BisectEnded) EventType() Type { return TypeBisectEnded }
func (b BisectEnded) Key() string   { return b.Bisect }

// TestKey is the part of a key that all facts about the health of a test have.
func TestKey(project, test string) string { return release.Slug(project) + "." + release.Slug(test) }
