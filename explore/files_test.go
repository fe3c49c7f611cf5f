package explore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/explore"
)

// leftovers is a finding with two timelines.
func leftovers(t *testing.T) explore.Found {
	t.Helper()
	s := gadgetOperator{forgetsToShrink: true}.subject()
	s.Roles, s.Replay = nil, "gadgets.example.com default/a: create; remove /spec/count"
	return findIn(t, s)
}

func TestJUnit(t *testing.T) {
	found := leftovers(t)
	found.Similar = []string{"path-independent: configmaps default/a-1 has no /data; the trial was 'set / {}'"}
	var b bytes.Buffer
	if err := found.WriteJUnit(&b, "TestOperator"); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(?s)(<failure [^>]*>explore: the operator depends on the past).*?(</failure>)`).ReplaceAllString(b.String(), "$1…$2")
	want := `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="TestOperator" tests="15" failures="1" skipped="1">
    <properties>
      <property name="explore.similar" value="path-independent: configmaps default/a-1 has no /data; the trial was &#39;set / {}&#39;"></property>
    </properties>
    <testcase classname="TestOperator" name="converges"></testcase>
    <testcase classname="TestOperator" name="path-independent">
      <failure message="configmaps default/a-1 exists" type="path-independent-53a928078ecf">explore: the operator depends on the past…</failure>
    </testcase>
    <testcase classname="TestOperator" name="recovers"></testcase>
    <testcase classname="TestOperator" name="truthful-status"></testcase>
    <testcase classname="TestOperator" name="cleans-up"></testcase>
    <testcase classname="TestOperator" name="leaves-others-alone"></testcase>
    <testcase classname="TestOperator" name="permitted">
      <skipped message="permitted, because Subject.Roles is empty"></skipped>
    </testcase>
    <testcase classname="TestOperator" name="no-panic"></testcase>
    <testcase classname="TestOperator" name="no-leak"></testcase>
    <testcase classname="TestOperator" name="clean-writes"></testcase>
    <testcase classname="TestOperator" name="keeps-spec"></testcase>
    <testcase classname="TestOperator" name="fields-matter"></testcase>
    <testcase classname="TestOperator" name="quiet-writes"></testcase>
    <testcase classname="TestOperator" name="idempotent-start"></testcase>
    <testcase classname="TestOperator" name="holds"></testcase>
  </testsuite>
</testsuites>
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThePageOfAFindingHasBothTimelines(t *testing.T) {
	found := leftovers(t)
	if len(found.Findings) != 1 {
		t.Fatal(found)
	}
	var b bytes.Buffer
	if err := found.Findings[0].WritePage(&b); err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`<tr class="(\w+)"><td>([^<]*)</td><td>([^<]*)</td></tr>|<h2>(Expected|Actual)</h2>`)
	var got []string
	for _, m := range row.FindAllStringSubmatch(b.String(), -1) {
		if m[1] == "refused" {
			continue // its cache may lag behind its own writes, or not
		}
		text, _, _ := strings.Cut(m[3], " (gadget_test.go:")
		got = append(got, strings.Join(strings.Fields(m[1]+" "+text+m[4]), " "))
	}
	want := []string{
		"Expected",
		"step remove /spec/count",
		"step create gadgets.example.com default/a",
		"write create configmaps in default: 201",
		"write update gadgets.example.com/status default/a: 200",
		"Actual",
		"step create gadgets.example.com default/a",
		"write create configmaps in default: 201",
		"write create configmaps in default: 201",
		"write update gadgets.example.com/status default/a: 200",
		"step remove /spec/count",
		"write update gadgets.example.com/status default/a: 200",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A test that finds something writes the files that it is asked for.
func TestFindingsAreWrittenToFiles(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("FAKECLUSTER_REPORT", filepath.Join(folder, "pages"))
	if err := os.CopyFS(filepath.Join(folder, "testdata", "gadget"), os.DirFS("testdata/gadget")); err != nil {
		t.Fatal(err)
	}
	out := runChild(t, folder, "TestChildFinds", "-explore.junit=results", "-explore.replay=gadgets.example.com default/a: create; remove /spec/count")
	for _, path := range []string{"results/TestChildFinds.xml", "pages/TestChildFinds-path-independent-53a928078ecf.html"} {
		if _, err := os.Stat(filepath.Join(folder, path)); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
