package readmodel

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/store"
)

// runChange are the columns that say what change a run is of. They are known from its announcement, and better once
// there is a plan.
const runChange = "project repo forge kind branch ref commit_id title author url number head_repo head_ref fork rerun_of rerun_by"

// tables lists what facts are folded into, with the key first. "announced" is runs again: what is written there gives
// way to what stands in runs already.
func tables() []namedTable {
	return []namedTable{
		{"announced", table("runs", 1, "run born received_at "+runChange, "born received_at "+runChange)},
		{"runs", table("runs", 1, "run seq updated_at "+runChange+" planned_at finished_at state unpermitted ignored outcome reason round"+
			" plan builds tests skipped gate_on gate_tests targets warnings problems gate gate_reason released trust trust_reason", "")},
		{"changes", table("changes", 2, "run kind seq ref branch author title url forge delivery verified received_at ignored", "seq")},
		{"tasks", table("tasks", 2, "run task born name job kind pool needs priority soft_fail requested_at state attempts"+
			" outcome class reason started_at finished_at delayed_until", "born")},
		{"attempts", table("attempts", 3, "run task attempt pool executor dispatched_at dispatch_reason started_at finished_at"+
			" stop_reason outcome class reason exit_code log log_lines last_lines phases"+
			" tests_total tests_failed tests_skipped tests_flaky failures metrics lease kept_until", "")},
		{"artifacts", table("artifacts", 4, "run task name type attempt job digest size media_type directory stamped matrix", "")},
		{"candidates", table("candidates", 2, "run round state candidate content artifacts reasons at", "")},
		{"gates", table("gates", 2, "run round state reason candidate at", "")},
		{"conditions", table("conditions", 3, "run round n name met final reason", "")},
		{"publications", table("publications", 3, "run target state kind round requested_at reached_at detail files"+
			" failed_at fault reason", "")},
		{"releases", table("releases", 1, "run state round candidate targets reasons at", "")},
		{"exports", table("exports", 3, "run destination part round location manifest files bytes at", "")},
		{"acts", table("acts", 2, "run seq id type at who subject method remote line project", "")},
		{"timeline", table("timeline", 2, "run seq id type key task at source cause line tone", "")},
	}
}

type namedTable struct {
	name  string
	table store.Table
}

func table(name string, keys int, columns, first string) store.Table {
	all := strings.Fields(columns)
	return store.Table{Name: name, Key: all[:keys], Columns: all, First: strings.Fields(first)}
}
