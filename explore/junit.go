package explore

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteJUnit writes what was found as the XML of JUnit, which systems for continuous integration read: a suite with the name of the
// test, and in it a test for each oracle, which fails with the reports of its findings. An oracle that did not apply is skipped.
// [Operator] and [Upgrade] write it into the file of the flag -explore.junit.
func (found Found) WriteJUnit(w io.Writer, test string) error {
	type text struct {
		Message string `xml:"message,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
	type testCase struct {
		Class    string `xml:"classname,attr"`
		Name     string `xml:"name,attr"`
		Failures []text `xml:"failure"`
		Skipped  *text  `xml:"skipped"`
	}
	type suite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	s := suite{Name: test}
	for _, o := range found.oracles {
		c := testCase{Class: test, Name: string(o)}
		for _, f := range found.Findings {
			if f.Oracle == o {
				c.Failures = append(c.Failures, text{f.What, f.Report})
			}
		}
		if i := slices.IndexFunc(found.Unchecked, func(why string) bool { return strings.HasPrefix(why, string(o)+",") }); i >= 0 {
			c.Skipped = &text{Message: found.Unchecked[i]}
			s.Skipped++
		}
		if len(c.Failures) > 0 {
			s.Failures++
		}
		s.Tests++
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return fmt.Errorf("writing JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}
