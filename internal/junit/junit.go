// Package junit writes test results as JUnit XML, which most CI systems read.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
)

var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// FileName returns a file name for a test: all but letters, digits and "_.-" become "_".
func FileName(test string) string { return unsafeInNames.ReplaceAllString(test, "_") }

// Suite is a group of tests, such as a file.
type Suite struct {
	Name       string
	Properties []Property
	Cases      []Case
	// Timed: Write writes the times of the tests.
	Timed bool
}

// Property describes the run of a suite.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Case is one test.
type Case struct {
	Class    string  `xml:"classname,attr"`
	Name     string  `xml:"name,attr"`
	Line     int     `xml:"line,attr,omitempty"`
	Seconds  float64 `xml:"-"`
	Time     string  `xml:"time,attr,omitempty"` // set by Write
	Failures []Text  `xml:"failure"`
	Skipped  *Text   `xml:"skipped"`
	Log      string  `xml:"system-out,omitempty"`
}

// Text is the reason why a test has failed or was skipped.
type Text struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"` // of a failure
	Text    string `xml:",chardata"`
}

// suite is a Suite as it is written.
type suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr,omitempty"`

	Properties *properties `xml:"properties"` // nil: there are none
	Cases      []Case      `xml:"testcase"`
}

type properties struct {
	Properties []Property `xml:"property"`
}

// document is a file.
type document struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []suite  `xml:"testsuite"`
}

// Write writes suites.
func Write(w io.Writer, suites ...Suite) error {
	var d document
	for _, s := range suites {
		d.Suites = append(d.Suites, s.counted())
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// counted returns the suite with the numbers of its tests.
func (s Suite) counted() suite {
	out := suite{Name: s.Name, Tests: len(s.Cases)}
	if len(s.Properties) > 0 {
		out.Properties = &properties{s.Properties}
	}
	seconds := 0.0
	for _, c := range s.Cases {
		if len(c.Failures) > 0 {
			out.Failures++
		}
		if c.Skipped != nil {
			out.Skipped++
		}
		if s.Timed {
			c.Time = fmt.Sprintf("%.3f", c.Seconds)
		}
		seconds += c.Seconds
		out.Cases = append(out.Cases, c)
	}
	if s.Timed {
		out.Time = fmt.Sprintf("%.3f", seconds)
	}
	return out
}

// Read reads what Write has written, without times.
func Read(r io.Reader) ([]Suite, error) {
	var d document
	if err := xml.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("not a JUnit file of test suites: %w", err)
	}
	var suites []Suite
	for _, s := range d.Suites {
		read := Suite{Name: s.Name, Cases: s.Cases}
		if s.Properties != nil {
			read.Properties = s.Properties.Properties
		}
		suites = append(suites, read)
	}
	return suites, nil
}

// Merge merges suites with the same name, and tests with the same name in a suite. A merged test has the failures of
// all, each message once. It counts as skipped if it was skipped in every suite.
func Merge(suites ...Suite) (merged []Suite) {
	for _, s := range suites {
		i := slices.IndexFunc(merged, func(m Suite) bool { return m.Name == s.Name })
		if i < 0 {
			i = len(merged)
			merged = append(merged, Suite{Name: s.Name, Timed: s.Timed})
		}
		merged[i].Properties = append(merged[i].Properties, s.Properties...)
		for _, c := range s.Cases {
			merged[i].add(c)
		}
	}
	return merged
}

// add adds a test, or merges it into the test of that name.
func (s *Suite) add(c Case) {
	i := slices.IndexFunc(s.Cases, func(there Case) bool { return there.Class == c.Class && there.Name == c.Name })
	if i < 0 {
		c.Failures = slices.Clone(c.Failures)
		s.Cases = append(s.Cases, c)
		return
	}
	there := &s.Cases[i]
	if c.Skipped == nil {
		there.Skipped = nil
	}
	for _, f := range c.Failures {
		if !slices.ContainsFunc(there.Failures, func(known Text) bool { return known.Message == f.Message }) {
			there.Failures = append(there.Failures, f)
		}
	}
}
