package idtoken

import "github.com/sluiceci/sluice/pkg/release"

// Topic is where executors ask for tokens, each on its pool's own subject: who may ask there is the bus's to say.
const Topic = "id_token"

// Question asks for the token of a variable of an attempt.
type Question struct {
	Run      release.RunID  `json:"run"`
	Task     release.TaskID `json:"task"`
	Attempt  int32          `json:"attempt"`
	Executor string         `json:"executor"` // that started the attempt
	Name     string         `json:"name"`     // of the variable
}

// Answer is a token, or why the attempt runs without it.
type Answer struct {
	Token    string `json:"token,omitempty"`
	Withheld string `json:"withheld,omitempty"`
}
