package event

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// The types, in the order in which a run meets them.
const (
	TypeChangeReceived            Type = "change.received"
	TypeChangeIgnored             Type = "change.ignored"
	TypeRunPlanned                Type = "run.planned"
	TypeRunRejected               Type = "run.rejected"
	TypeRunPermissionRequested    Type = "run.permission_requested"
	TypeRunPermitted              Type = "run.permitted"
	TypeRunCancelRequested        Type = "run.cancel_requested"
	TypeRunRetryRequested         Type = "run.retry_requested"
	TypeRunFinished               Type = "run.finished"
	TypeTaskRequested             Type = "task.requested"
	TypeTaskDispatched            Type = "task.dispatched"
	TypeTaskAwaited               Type = "task.awaited"
	TypeTaskStarted               Type = "task.started"
	TypeTaskFinished              Type = "task.finished"
	TypeTaskDelayed               Type = "task.delayed"
	TypeTaskConcluded             Type = "task.concluded"
	TypeTaskCancelRequested       Type = "task.cancel_requested"
	TypeCandidateAssembled        Type = "candidate.assembled"
	TypeCandidateRejected         Type = "candidate.rejected"
	TypeGateOpened                Type = "gate.opened"
	TypeGateClosed                Type = "gate.closed"
	TypeGateApproved              Type = "gate.approved"
	TypeEnvironmentApproved       Type = "environment.approved"
	TypeGateHeld                  Type = "gate.held"
	TypeGateResumed               Type = "gate.resumed"
	TypePublicationRequested      Type = "publication.requested"
	TypePublicationAdvanced       Type = "publication.advanced"
	TypePublicationDelayed        Type = "publication.delayed"
	TypePublicationChecked        Type = "publication.checked"
	TypePublicationFailed         Type = "publication.failed"
	TypePublicationRetryRequested Type = "publication.retry_requested"
	TypePublicationUndoRequested  Type = "publication.undo_requested"
	TypeReleasePublished          Type = "release.published"
	TypeReleaseFailed             Type = "release.failed"
	TypeArtifactExported          Type = "artifact.exported"
	TypeExecutorHeartbeat         Type = "executor.heartbeat"
	TypeSchedulerHeartbeat        Type = "scheduler.heartbeat"
	TypePoolDrainRequested        Type = "pool.drain_requested"
	TypeExecutorDraining          Type = "executor.draining"
	TypeLimitSet                  Type = "limit.set"
	TypePlaceRegistered           Type = "place.registered"
	TypePlaceChanged              Type = "place.changed"
	TypePlaceDrainRequested       Type = "place.drain_requested"
	TypeLeaseGranted              Type = "lease.granted"
	TypeLeaseRenewed              Type = "lease.renewed"
	TypeLeaseEnded                Type = "lease.ended"
	TypePlacesCreated             Type = "places.created"
	TypePlacesDestroyed           Type = "places.destroyed"
	TypeCommentReceived           Type = "comment.received"
	TypeCommentResolved           Type = "comment.resolved"
	TypeCommentAnswered           Type = "comment.answered"
	TypeTestsJudged               Type = "tests.judged"
	TypeTestMoved                 Type = "test.moved"
	TypeIssueSynced               Type = "issue.synced"
	TypeBisectRequested           Type = "bisect.requested"
	TypeBisectAdvanced            Type = "bisect.advanced"
	TypeBisectEnded               Type = "bisect.ended"
	TypeTokenCreated              Type = "token.created"
	TypeTokenRevoked              Type = "token.revoked"
	TypeTokenUsed                 Type = "token.used"
	TypeDeadLetterReplayed        Type = "deadletter.replayed"
)

// Entry is a line of the catalogue: one type of event.
type Entry struct {
	Type   Type
	Keys   string // the tokens of its key: "<task>.<attempt>"; "" when it happens once in a run
	Doc    string // what it says
	Decode func(data []byte) (Payload, error)
}

func (e Entry) tokens() int {
	if e.Keys == "" {
		return 0
	}
	return strings.Count(e.Keys, ".") + 1
}

// Message is the name of the protobuf message that is the payload's schema: "sluice.v1.TaskFinished".
func (e Entry) Message() string {
	zero, _ := e.Decode([]byte("{}"))
	return "sluice.v1." + reflect.TypeOf(zero).Name()
}

// Find returns the entry of a type.
func Find(t Type) (Entry, bool) { return find(t) }

// byType is the catalogue's index. It is read by every decode, so it is made once.
var byType = sync.OnceValue(func() map[Type]Entry {
	index := map[Type]Entry{}
	for _, e := range Catalogue() {
		index[e.Type] = e
	}
	return index
})

func find(t Type) (Entry, bool) {
	e, ok := byType()[t]
	return e, ok
}

func decode[P Payload](data []byte) (Payload, error) {
	var p P
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, err
	}
	return p, nil
}

// Catalogue lists every type of event. It is decoder, documentation and schema table at once.
func Catalogue() []Entry {
	return []Entry{
		{TypeChangeReceived, "<kind>", "a revision arrived", decode[ChangeReceived]},
		{TypeChangeIgnored, "<kind>", "no trigger wants the change", decode[ChangeIgnored]},
		{TypeRunPlanned, "", "the run has its frozen plan", decode[RunPlanned]},
		{TypeRunRejected, "", "the definition gives no plan", decode[RunRejected]},
		{TypeRunPermissionRequested, "", "a run of an untrusted change waits for permission", decode[RunPermissionRequested]},
		{TypeRunPermitted, "<request>", "somebody lets the run of an untrusted change run", decode[RunPermitted]},
		{TypeRunCancelRequested, "<request>", "somebody wants the run to end", decode[RunCancelRequested]},
		{TypeRunRetryRequested, "<request>", "somebody wants tasks tried again", decode[RunRetryRequested]},
		{TypeRunFinished, "<round>", "the run ended", decode[RunFinished]},
		{TypeTaskRequested, "<task>", "a task is wanted", decode[TaskRequested]},
		{TypeTaskDispatched, "<pool>.<task>.<attempt>", "an attempt was given to a pool", decode[TaskDispatched]},
		{TypeTaskAwaited, "<task>.<attempt>.<asked>", "what the attempt is to fetch is not there yet", decode[TaskAwaited]},
		{TypeTaskStarted, "<pool>.<task>.<attempt>", "an executor claimed the attempt", decode[TaskStarted]},
		{TypeTaskFinished, "<pool>.<task>.<attempt>", "the attempt ended", decode[TaskFinished]},
		{TypeTaskDelayed, "<task>.<attempt>", "the next attempt waits", decode[TaskDelayed]},
		{TypeTaskConcluded, "<task>.<attempts>.<round>", "the task will not succeed", decode[TaskConcluded]},
		{TypeTaskCancelRequested, "<pool>.<task>.<attempt>", "the attempt is to be stopped", decode[TaskCancelRequested]},
		{TypeCandidateAssembled, "<round>", "all builds are in, stamped and frozen", decode[CandidateAssembled]},
		{TypeCandidateRejected, "<round>", "the builds give no candidate", decode[CandidateRejected]},
		{TypeGateOpened, "<round>", "the candidate may be published", decode[GateOpened]},
		{TypeGateClosed, "<round>", "nothing of this round is published", decode[GateClosed]},
		{TypeGateApproved, "<person>", "a person approves the release", decode[GateApproved]},
		{TypeEnvironmentApproved, "<environment>.<reviewer>.<candidate>", "a reviewer lets the run use a protected environment", decode[EnvironmentApproved]},
		{TypeGateHeld, "<request>", "a person holds the gate", decode[GateHeld]},
		{TypeGateResumed, "<request>", "the holds are lifted", decode[GateResumed]},
		{TypePublicationRequested, "<kind>.<target>.<state>.<round>", "a step of a target is wanted", decode[PublicationRequested]},
		{TypePublicationAdvanced, "<target>.<state>.<round>", "a target reached a state", decode[PublicationAdvanced]},
		{TypePublicationDelayed, "<target>.<state>.<round>.<tried>", "a step of a target waits", decode[PublicationDelayed]},
		{TypePublicationChecked, "<target>.<round>", "a target says beforehand whether it can be written, or can take the candidate", decode[PublicationChecked]},
		{TypePublicationFailed, "<target>.<state>.<round>", "a person must decide about a target", decode[PublicationFailed]},
		{TypePublicationRetryRequested, "<request>", "failed targets are to go on", decode[PublicationRetryRequested]},
		{TypePublicationUndoRequested, "<request>", "what a release has made visible is to be taken back", decode[PublicationUndoRequested]},
		{TypeReleasePublished, "", "every target has the candidate, verified", decode[ReleasePublished]},
		{TypeReleaseFailed, "<round>", "some target does not have the candidate", decode[ReleaseFailed]},
		{TypeArtifactExported, "<destination>.<part>.<round>", "a part of the run is kept elsewhere", decode[ArtifactExported]},
		{TypeExecutorHeartbeat, "<pool>.<executor>", "an executor lives (no fact: replaced by the next)", decode[ExecutorHeartbeat]},
		{TypeSchedulerHeartbeat, "<scheduler>", "a scheduler hears itself through the bus (no fact: replaced by the next)", decode[SchedulerHeartbeat]},
		{TypePoolDrainRequested, "<pool>.<request>", "dispatch to a pool stops or goes on", decode[PoolDrainRequested]},
		{TypeExecutorDraining, "<pool>.<executor>", "an executor is to end, its work is to move", decode[ExecutorDraining]},
		{TypeLimitSet, "<request>", "a limit or a weight was changed", decode[LimitSet]},
		{TypePlaceRegistered, "<provider>.<place>.<version>", "a place can be leased", decode[PlaceRegistered]},
		{TypePlaceChanged, "<provider>.<place>.<change>", "a place is in another state", decode[PlaceChanged]},
		{TypePlaceDrainRequested, "<provider>.<place>.<request>", "a person keeps a place from use, or no longer", decode[PlaceDrainRequested]},
		{TypeLeaseGranted, "<provider>.<place>.<token>", "an attempt may use a place", decode[LeaseGranted]},
		{TypeLeaseRenewed, "<provider>.<place>.<token>.<number>", "its holder lives, and keeps it", decode[LeaseRenewed]},
		{TypeLeaseEnded, "<provider>.<place>.<token>", "a place is no longer held", decode[LeaseEnded]},
		{TypePlacesCreated, "<pool>.<task>.<attempt>", "places are being made for an attempt", decode[PlacesCreated]},
		{TypePlacesDestroyed, "<pool>.<task>.<attempt>", "the places of an attempt are destroyed", decode[PlacesDestroyed]},
		{TypeCommentReceived, "<project>.<number>.<comment>", "somebody wrote directives into a comment", decode[CommentReceived]},
		{TypeCommentResolved, "<project>.<number>.<comment>", "a comment is bound to a commit, its author's permission is known", decode[CommentResolved]},
		{TypeCommentAnswered, "<project>.<number>.<comment>", "its author is to be told what came of it", decode[CommentAnswered]},
		{TypeTestsJudged, "<round>", "how the tests of a run of the release branch ended", decode[TestsJudged]},
		{TypeTestMoved, "<project>.<test>.<number>", "a test is in another state of health", decode[TestMoved]},
		{TypeIssueSynced, "<project>.<test>.<intent>", "the forge's issue about a test is as it is to be", decode[IssueSynced]},
		{TypeBisectRequested, "<bisect>", "the commit that broke a test is looked for", decode[BisectRequested]},
		{TypeBisectAdvanced, "<bisect>.<number>", "a bisection starts runs", decode[BisectAdvanced]},
		{TypeBisectEnded, "<bisect>", "a bisection blames a commit, or gives up", decode[BisectEnded]},
		{TypeTokenCreated, "<token>", "somebody may act until a time: a token was made, or a session was opened", decode[TokenCreated]},
		{TypeTokenRevoked, "<token>", "a token is worth nothing any more", decode[TokenRevoked]},
		{TypeTokenUsed, "<token>.<day>", "a token was used on a day", decode[TokenUsed]},
		{TypeDeadLetterReplayed, "<letter>.<request>", "a dead letter was given to its consumer again", decode[DeadLetterReplayed]},
	}
}
