package player

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
)

// WriteJUnit writes results as the XML of JUnit, which most systems for continuous integration
// read: a suite for each file, and in it a test for each scenario or case.
func WriteJUnit(w io.Writer, results []Result) error {
	type text struct {
		Message string `xml:"message,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
	type testCase struct {
		Class   string `xml:"classname,attr"`
		Name    string `xml:"name,attr"`
		Line    int    `xml:"line,attr"`
		Time    string `xml:"time,attr"`
		Failure *text  `xml:"failure"`
		Skipped *text  `xml:"skipped"`
		Log     string `xml:"system-out,omitempty"`
	}
	type suite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"`
		Cases    []testCase `xml:"testcase"`
		seconds  float64
	}
	var suites []*suite
	for _, r := range results {
		if len(suites) == 0 || suites[len(suites)-1].Name != r.Scenario.File {
			suites = append(suites, &suite{Name: r.Scenario.File})
		}
		s := suites[len(suites)-1]
		c := testCase{Class: r.Scenario.File, Name: r.Scenario.Title(), Line: r.Scenario.Line, Time: fmt.Sprintf("%.3f", r.Elapsed.Seconds())}
		for _, line := range r.Log {
			c.Log += line + "\n"
		}
		switch {
		case r.Failure != nil:
			s.Failures++
			c.Failure = &text{r.Failure.Message, r.Failure.String()}
		case r.Skipped != "":
			s.Skipped++
			c.Skipped = &text{Message: r.Skipped}
		}
		s.Tests++
		s.seconds += r.Elapsed.Seconds()
		s.Time = fmt.Sprintf("%.3f", s.seconds)
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []*suite `xml:"testsuite"`
	}{Suites: suites}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
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
	all := []result{}
	for _, r := range results {
		s := r.Scenario
		one := result{s.File, s.Line, s.Name, s.Case, "passed", r.Elapsed.Seconds(), r.Skipped, nil, r.Log}
		switch f := r.Failure; {
		case f != nil:
			one.Result, one.Failure = "failed", &failure{f.File, f.Line, f.Step, f.Message, f.String()}
		case r.Skipped != "":
			one.Result = "skipped"
		}
		all = append(all, one)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}
