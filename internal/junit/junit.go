// Package junit writes results of tests as the XML of JUnit, which most systems for continuous integration read.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
)

// Suite is a group of tests, such as a file.
type Suite struct {
	Name  string
	Cases []Case
	// Timed says that the times of the tests are written.
	Timed bool
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

// Text is why a test has failed, or was skipped.
type Text struct {
	Message string `xml:"message,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// suite is a Suite as it is written.
type suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr,omitempty"`
	Cases    []Case `xml:"testcase"`
}

// Write writes suites.
func Write(w io.Writer, suites ...Suite) error {
	var document struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []suite  `xml:"testsuite"`
	}
	for _, s := range suites {
		document.Suites = append(document.Suites, s.counted())
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// counted returns the suite with the numbers of its tests.
func (s Suite) counted() suite {
	out := suite{Name: s.Name, Tests: len(s.Cases)}
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
