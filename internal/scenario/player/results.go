package player

import (
	"encoding/json"
	"io"

	"github.com/fakecluster/fakecluster/internal/junit"
)

// WriteJUnit writes results as the XML of JUnit: a suite for each file, and in it a test for each scenario or case.
func WriteJUnit(w io.Writer, results []Result) error {
	var suites []junit.Suite
	for _, r := range results {
		if len(suites) == 0 || suites[len(suites)-1].Name != r.Scenario.File {
			suites = append(suites, junit.Suite{Name: r.Scenario.File, Timed: true})
		}
		s := &suites[len(suites)-1]
		c := junit.Case{Class: r.Scenario.File, Name: r.Scenario.Title(), Line: r.Scenario.Line, Seconds: r.Elapsed.Seconds()}
		for _, line := range r.Log {
			c.Log += line + "\n"
		}
		switch {
		case r.Failure != nil:
			c.Failures = []junit.Text{{Message: r.Failure.Message, Text: r.Failure.String()}}
		case r.Skipped != "":
			c.Skipped = &junit.Text{Message: r.Skipped}
		}
		s.Cases = append(s.Cases, c)
	}
	return junit.Write(w, suites...)
}

// WriteJSON writes results as a list in JSON. Each has file, line, scenario and case, seconds, the
// result (passed, failed or skipped), and of a failure its place, its message and the whole text.
func WriteJSON(w io.Writer, results []Result) error {
	type failure struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Step    string `json:"step,omitempty"`
		Message string `json:"message"`
		Text    string `json:"text"`
	}
	type result struct {
		File     string   `json:"file"`
		Line     int      `json:"line"`
		Scenario string   `json:"scenario"`
		Case     string   `json:"case,omitempty"`
		Result   string   `json:"result"`
		Seconds  float64  `json:"seconds"`
		Reason   string   `json:"reason,omitempty"`
		Failure  *failure `json:"failure,omitempty"`
		Log      []string `json:"log,omitempty"`
	}
	list := []result{}
	for _, r := range results {
		s := r.Scenario
		one := result{s.File, s.Line, s.Name, s.Case, "passed", r.Elapsed.Seconds(), r.Skipped, nil, r.Log}
		switch f := r.Failure; {
		case f != nil:
			one.Result, one.Failure = "failed", &failure{f.File, f.Line, f.Step, f.Message, f.String()}
		case r.Skipped != "":
			one.Result = "skipped"
		}
		list = append(list, one)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(list)
}
