package client

// Status is all of a run that fits a screen.
type Status struct {
	Run        Run         `json:"run"`
	Tasks      []Task      `json:"tasks"`
	Gates      []Gate      `json:"gates"`
	Candidates []Candidate `json:"candidates"`
	Steps      []Step      `json:"steps"`
	Release    *Release    `json:"release,omitempty"`
	Exports    []Export    `json:"exports"`
}
