package outcome

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// Code is an exit code of Ray's release tooling.
type Code int

// The codes that are named elsewhere in this program.
const (
	CodeSuccess     Code = 0
	CodeUncaught    Code = 1
	CodeUnspecified Code = 2
	CodeUnknown     Code = 3
	CodeRetryMe     Code = 79  // the wrapper asks the CI for one more try
	CodeTimedOut    Code = 124 // what timeout(1) and the job wrapper say of a command that ran too long
)

// Status is the word that a result record has for an end.
type Status string

// The statuses.
const (
	StatusSuccess      Status = "success"
	StatusUnknown      Status = "unknown"
	StatusRuntimeError Status = "runtime_error"
	StatusTransient    Status = "transient_infra_error"
	StatusInfraError   Status = "infra_error"
	StatusInfraTimeout Status = "infra_timeout"
	StatusError        Status = "error"
	StatusTimeout      Status = "timeout"
)

// Row is what one exit code means.
type Row struct {
	Code       Code
	Name       string
	Exceptions []string // of Ray's tooling that end with it
	Status     Status
	Class      release.Class
	Again      bool // Ray's wrapper makes another attempt of its own
	NoRuntime  bool // the record says 0 s: a test that failed has no duration worth comparing
}

// Table lists the codes in their order.
func Table() []Row {
	return []Row{
		{Code: 0, Name: "SUCCESS", Status: StatusSuccess, Class: release.ClassOK},
		{Code: 1, Name: "UNCAUGHT", Status: StatusRuntimeError, Class: release.ClassUnknown},
		{Code: 2, Name: "UNSPECIFIED", Status: StatusRuntimeError, Class: release.ClassUnknown, Exceptions: words(
			"ReleaseTestError ReleaseTestPackageError FileManagerError FileUploadError FileDownloadError")},
		{Code: 3, Name: "UNKNOWN", Status: StatusUnknown, Class: release.ClassUnknown, NoRuntime: true},
		{Code: 10, Name: "CLI_ERROR", Status: StatusInfraError, Class: release.ClassConfig, Exceptions: words(
			"ReleaseTestCLIError RayWheelsError RayWheelsUnspecifiedError RayWheelsNotFoundError")},
		{Code: 11, Name: "CONFIG_ERROR", Status: StatusInfraError, Class: release.ClassConfig, Exceptions: words("ReleaseTestConfigError")},
		{Code: 12, Name: "SETUP_ERROR", Status: StatusInfraError, Class: release.ClassSetup, Exceptions: words("ReleaseTestSetupError")},
		{Code: 13, Name: "CLUSTER_RESOURCE_ERROR", Status: StatusInfraError, Class: release.ClassInfra, Exceptions: words(
			"ClusterManagerError ClusterEnvCreateError ClusterComputeCreateError ClusterCreationError CloudInfoError")},
		{Code: 14, Name: "CLUSTER_ENV_BUILD_ERROR", Status: StatusInfraError, Class: release.ClassSetup, Exceptions: words("ClusterEnvBuildError")},
		{Code: 15, Name: "CLUSTER_STARTUP_ERROR", Status: StatusInfraError, Class: release.ClassInfra, Exceptions: words(
			"ClusterStartupError ClusterStartupFailed JobStartupFailed EnvironmentSetupError")},
		{Code: 16, Name: "LOCAL_ENV_SETUP_ERROR", Status: StatusInfraError, Class: release.ClassSetup, Exceptions: words("LocalEnvSetupError")},
		{Code: 17, Name: "REMOTE_ENV_SETUP_ERROR", Status: StatusInfraError, Class: release.ClassSetup, Exceptions: words("RemoteEnvSetupError")},
		{Code: 18, Name: "FETCH_RESULT_ERROR", Status: StatusInfraError, Class: release.ClassInfra, Exceptions: words("FetchResultError")},
		{Code: 19, Name: "ANYSCALE_ERROR", Status: StatusInfraError, Class: release.ClassInfra, Exceptions: words(
			"JobBroken JobTerminated JobOutOfRetries JobNoLogs")},
		{Code: 30, Name: "RAY_WHEELS_TIMEOUT", Status: StatusInfraTimeout, Class: release.ClassInfraTimeout, Again: true, Exceptions: words("RayWheelsTimeoutError")},
		{Code: 31, Name: "CLUSTER_ENV_BUILD_TIMEOUT", Status: StatusInfraTimeout, Class: release.ClassInfraTimeout, Again: true, Exceptions: words("ClusterEnvBuildTimeout")},
		{Code: 32, Name: "CLUSTER_STARTUP_TIMEOUT", Status: StatusInfraTimeout, Class: release.ClassInfraTimeout, Again: true, Exceptions: words(
			"ClusterStartupTimeout JobStartupTimeout JobTerminatedBeforeStart")},
		{Code: 33, Name: "CLUSTER_WAIT_TIMEOUT", Status: StatusInfraTimeout, Class: release.ClassInfraTimeout, Again: true, Exceptions: words(
			"ClusterNodesWaitTimeout PrepareCommandTimeout")},
		{Code: 40, Name: "COMMAND_ERROR", Status: StatusError, Class: release.ClassCommand, NoRuntime: true, Exceptions: words(
			"CommandError TestCommandError LogsError")},
		{Code: 41, Name: "COMMAND_ALERT", Status: StatusError, Class: release.ClassAlert, NoRuntime: true, Exceptions: words("ResultsAlert")},
		{Code: 42, Name: "COMMAND_TIMEOUT", Status: StatusTimeout, Class: release.ClassTimeout, NoRuntime: true, Exceptions: words(
			"CommandTimeout TestCommandTimeout")},
		{Code: 43, Name: "PREPARE_ERROR", Status: StatusError, Class: release.ClassPrepare, NoRuntime: true, Exceptions: words("PrepareCommandError")},
	}
}

func words(s string) []string { return strings.Fields(s) }

// Of is the row of a code. What no row names is unknown: missing is not passing.
func Of(code Code) Row {
	for _, row := range Table() {
		if row.Code == code {
			return row
		}
	}
	return Row{Code: code, Name: "UNKNOWN", Status: StatusUnknown, Class: classOfBand(code), NoRuntime: true}
}

// classOfBand is the class of a code that no exception has, by the tens that Ray gives to each kind of failure.
func classOfBand(code Code) release.Class {
	switch {
	case code == CodeTimedOut:
		return release.ClassTimeout
	case code >= 10 && code < 20:
		return release.ClassInfra
	case code >= 30 && code < 40:
		return release.ClassInfraTimeout
	case code >= 40 && code < 50:
		return release.ClassCommand
	default:
		return release.ClassUnknown
	}
}

// OfException is the row of an exception, by the name of its class. An exception that is none of the tooling's own is
// code 3.
func OfException(name string) Row {
	for _, row := range Table() {
		for _, known := range row.Exceptions {
			if known == name {
				return row
			}
		}
	}
	return Of(CodeUnknown)
}

// Reason is what a release engineer reads beside an exit code. Each code has its own: none repeats the one before.
func Reason(code Code) string {
	switch {
	case code == CodeSuccess:
		return "success"
	case code == CodeRetryMe:
		return "asks to be tried again"
	case code == 42 || code == CodeTimedOut:
		return "command timeout"
	case code >= 1 && code < 10:
		return "runtime error"
	case code >= 10 && code < 20:
		return "infra error"
	case code >= 30 && code < 40:
		return "infra timeout"
	case code >= 40 && code < 50:
		return "command error"
	default:
		return "unknown reason"
	}
}

// OfEnd is the row of an end that was classified: that of the command's own exit code where it says the same, else the one
// that its class stands for.
func OfEnd(class release.Class, exit Code) Row {
	if row := Of(exit); exit != CodeSuccess && row.Name != "UNKNOWN" && row.Class == class {
		return row
	}
	code, known := map[release.Class]Code{
		release.ClassOK: CodeSuccess, release.ClassConfig: 11, release.ClassSetup: 12, release.ClassInfra: 19, release.ClassLost: 19,
		release.ClassInfraTimeout: 32, release.ClassCommand: 40, release.ClassAlert: 41, release.ClassTimeout: 42, release.ClassPrepare: 43,
	}[class]
	if !known {
		code = CodeUnknown
	}
	return Of(code)
}
