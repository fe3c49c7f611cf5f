package envtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fakecluster/fakecluster/conformance/verdict"
)

func TestResultsAreThoseOfSpecs(t *testing.T) {
	got, err := Specs([]byte(`[{"SpecReports":[
{"LeafNodeType":"BeforeSuite","State":"passed"},
{"ContainerHierarchyTexts":["Client","  Create "],"LeafNodeType":"It","LeafNodeText":"should\n create","State":"passed","RunTime":5},
{"ContainerHierarchyTexts":["Client","Create"],"LeafNodeType":"It","LeafNodeText":"should create","State":"failed","Failure":{"Message":"\nno\nmore"}},
{"ContainerHierarchyTexts":null,"LeafNodeType":"It","LeafNodeText":"bug # 7","State":"pending"},
{"LeafNodeType":"AfterSuite","State":"panicked","Failure":{"Message":"oh"}}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []verdict.Result{
		{Name: "Client Create should create", Verdict: verdict.Pass, Time: 5},
		{Name: "Client Create should create (2)", Verdict: verdict.Fail, Reason: "no"},
		{Name: "bug no. 7", Verdict: verdict.NotApplicable, Reason: "pending by the suite"},
		{Name: "AfterSuite", Verdict: verdict.Fail, Reason: "oh"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := Specs([]byte("{")); err == nil {
		t.Error("half a report is read")
	}
}
