package policy

import (
	"fmt"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/store"
)

func stored(name, revision, expression string) store.Record {
	return store.Record{Key: "/registry/" + name, Value: fmt.Sprintf(`{"metadata":{"name":%q,"resourceVersion":%q},"spec":{"policyName":"p","validationActions":["Deny"],
		"matchConstraints":{"namespaceSelector":{},"objectSelector":{}},"validations":[{"expression":%q}]}}`, name, revision, expression)}
}

// A policy is compiled at its write, whether or not it is bound, and not again: not
// for another write, another cluster or another policy of the same spec.
func TestAPolicyIsCompiledOnce(t *testing.T) {
	binding := stored("p", "2", "")
	hook := func(records ...store.Record) *validatingEvaluator {
		t.Helper()
		p, err := New(nil, records, []store.Record{binding}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p.(*plugin).validating[0].validatingEvaluator
	}
	if p, err := New(nil, []store.Record{stored("p", "1", "1 == 1")}, nil, nil, nil); p != nil || err != nil {
		t.Fatal("a policy without a binding is evaluated:", p, err)
	}
	shared, ok := compiledValidating.Get(cache.NewID(gjson.Get(stored("p", "1", "1 == 1").Value, "spec").Raw))
	if !ok {
		t.Fatal("a policy is not compiled when it is stored")
	}
	first := hook(stored("p", "1", "1 == 1"))
	if first != shared.evaluator {
		t.Error("a policy that was stored before is compiled when it is bound")
	}
	if hook(stored("p", "7", "1 == 1")) != first {
		t.Error("a policy is compiled again for another revision of the same spec")
	}
	if hook(stored("p", "8", "2 == 2")) == first {
		t.Error("a policy is not compiled for another spec")
	}
}

// More policies than are remembered for the process are compiled once by a cluster
// all the same.
func TestManyPoliciesAreCompiledOnce(t *testing.T) {
	const many = 300
	var policies []store.Record
	for i := range many {
		policies = append(policies, stored(fmt.Sprintf("p%d", i), "1", fmt.Sprintf("%d == %d", i, i)))
	}
	bindings := []store.Record{{Key: "/registry/b", Value: `{"metadata":{"name":"b"},"spec":{"policyName":"p0","validationActions":["Deny"]}}`}}
	before, err := New(nil, policies, bindings, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	after, err := New(before, policies, bindings, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	former, present := before.(*plugin).validatingSpecs, after.(*plugin).validatingSpecs
	if len(former) != many {
		t.Fatalf("%d specs, want %d", len(former), many)
	}
	for id, c := range former {
		if present[id] != c {
			t.Fatal("a spec is compiled again")
		}
	}
}
