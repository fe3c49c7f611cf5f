package inspect_test

import (
	"fmt"

	"github.com/fakecluster/fakecluster/inspect"
)

func ExampleRequest() {
	fmt.Println(inspect.Request{
		UserAgent: "website-operator/v1.2", Verb: "update", Group: "example.com", Resource: "websites", Subresource: "status",
		Namespace: "default", Name: "blog", Code: 200, Revision: 14, Revisions: 1,
	})
	// Output: website-operator update websites.example.com/status default/blog: 200, revision 14
}

func ExampleRevision() {
	fmt.Println(inspect.Revision{
		Revision: 14, Event: "MODIFIED", UserAgent: "website-operator/v1.2", Verb: "patch", Patch: "apply", Subresource: "status",
		Changes: []inspect.FieldChange{{Path: "status.ready", Was: false, Is: true}},
	})
	// Output:
	// revision 14: website-operator apply status
	// 	status.ready: false → true
}

func ExampleStats_Since() {
	update := inspect.Counted{UserAgent: "website-operator/v1.2", Verb: "update", Group: "example.com", Resource: "websites"}
	before := inspect.Stats{update: {Requests: 3, Revisions: 3}}
	after := inspect.Stats{update: {Requests: 5, Conflicts: 1, Failures: 1, Revisions: 4}}
	fmt.Print(after.Since(before))
	// Output: website-operator update websites.example.com: 2, failures 1, conflicts 1, revisions 1
}

func ExampleExplanation() {
	fmt.Print(inspect.Explanation{
		Request:   inspect.ExplainedRequest{User: "jane", Verb: "create", Object: "websites.example.com default/blog", DryRun: true},
		Pruned:    []inspect.FieldValue{{Path: "spec.colour", Value: "red"}},
		Defaulted: []inspect.FieldValue{{Path: "spec.replicas", Value: int64(1)}},
		Answer:    inspect.Answer{Code: 201},
	})
	// Output:
	// create websites.example.com default/blog as jane (dry run): 201
	//   pruned: spec.colour, which was "red" and is not in the schema
	//   defaulted: spec.replicas = 1
}

func ExampleFindings() {
	fmt.Println(inspect.Findings{
		Summary:  "what happened in the cluster, the newest first (3 requests, the last after 2ms):",
		Sections: []inspect.Finding{{Title: "refused:", Lines: []string{"+2ms jane create websites.example.com default/blog: 422 Invalid"}, More: 1}},
	})
	// Output:
	// what happened in the cluster, the newest first (3 requests, the last after 2ms):
	//   refused:
	//     +2ms jane create websites.example.com default/blog: 422 Invalid
	//     … and 1 more
}
