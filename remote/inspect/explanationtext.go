// Code generated from inspect/explanationtext.go by go test ./internal/description -run RemoteHasTheTypes -update. DO NOT EDIT.

package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/remote/internal/printable"
)

// String returns the explanation as lines of text, without times:
//
//	my-operator create websites.example.com default/blog as jane (dry run): 201
//	  pruned: spec.colour, which was "red" and is not in the schema
//	  defaulted: spec.replicas = 1
//	  webhook validate.example.com (configuration checks) allowed it
//	  new: spec.replicas = 1, managed by my-operator
func (e Explanation) String() string {
	t := &text{}
	t.head(e)
	if e.Omitted != "" {
		t.line("%s", e.Omitted)
	}
	for _, v := range e.Pruned {
		t.line("pruned: %s, which was %s and is not in the schema", v.Path, show(v.Value))
	}
	for _, v := range e.Defaulted {
		t.line("defaulted: %s = %s", v.Path, show(v.Value))
	}
	for _, c := range e.Read {
		t.line("read as: %s", c)
	}
	for _, c := range e.Conflicts {
		t.line("conflict: %s belongs to %s", c.Path, c.Owner)
	}
	if e.Overtaken != nil {
		t.overtaken(*e.Overtaken)
	}
	for _, s := range e.Admission {
		t.step(s)
	}
	for _, c := range e.Prepared {
		t.line("set by the rules of the kind: %s", c)
	}
	for _, r := range e.Refused {
		t.refusal("refused", r)
	}
	for _, r := range e.Ratcheted {
		t.refusal("accepted: the value is invalid but unchanged (ratcheting)", r)
	}
	t.rules(e.Rules)
	for _, c := range e.Changes {
		t.change(c)
	}
	if e.Unchanged {
		t.line("nothing changes, so nothing is written")
	}
	for _, w := range e.Warnings {
		t.line("warning: %s", w)
	}
	return printable.Text(t.String())
}

type text struct{ strings.Builder }

func (t *text) line(format string, args ...any) { fmt.Fprintf(t, "  "+format+"\n", args...) }

// below adds a line with a detail of the previous line.
func (t *text) below(format string, args ...any) { t.line("  "+format, args...) }

func (t *text) head(e Explanation) {
	verb := e.Request.Verb
	switch e.Request.Patch {
	case "":
	case "apply":
		verb = "apply"
	default:
		verb += " (" + e.Request.Patch + ")"
	}
	fmt.Fprintf(t, "%s %s as %s", verb, e.Request.Object, e.Request.User)
	if e.Request.Manager != "" {
		fmt.Fprintf(t, ", manager %s", e.Request.Manager)
	}
	if e.Request.DryRun {
		t.WriteString(" (dry run)")
	}
	fmt.Fprintf(t, ": %d", e.Answer.Code)
	if e.Answer.Reason != "" {
		t.WriteString(" " + e.Answer.Reason)
	}
	if e.Answer.Message != "" {
		t.WriteString(": " + e.Answer.Message)
	}
	t.WriteString("\n")
	if a := e.Access; a != nil && a.Reason != "" {
		word := "forbidden"
		if a.Allowed {
			word = "allowed"
		}
		t.line("%s: %s", word, a.Reason)
	}
	if e.Fault != "" {
		t.line("an injected fault: %s", e.Fault)
	}
	if e.Attempts > 1 {
		t.line("tried %d times, because of other writes in between; the last attempt:", e.Attempts)
	}
}

func (t *text) overtaken(o Overtaken) {
	t.line("the client sent resourceVersion %d, and the current one is %d", o.Sent, o.Is)
	for _, r := range o.By {
		what := []string{"revision", fmt.Sprint(r.Revision)}
		if r.By != "" {
			what = append(what, "by", r.By)
		}
		if r.Verb != "" {
			what = append(what, "("+r.Verb+")")
		}
		t.below("%s", strings.Join(what, " "))
		for _, c := range r.Changes {
			t.below("  %s", c)
		}
	}
}

func (t *text) step(s AdmissionStep) {
	name := s.Kind + " " + s.Name
	if s.Name == "" {
		name = s.Kind
	}
	if s.Kind != Plugin {
		name = s.Phase + " " + name
	}
	switch {
	case s.Configuration != "":
		name += " (configuration " + s.Configuration + ")"
	case s.Params != "":
		name += " (binding " + s.Binding + ", params " + s.Params + ")"
	case s.Binding != "":
		name += " (binding " + s.Binding + ")"
	}
	if s.Again {
		name += ", called again,"
	}
	switch s.Outcome {
	case Skipped:
		t.line("%s was not called: %s", name, s.Message)
		return
	case Allowed:
		t.line("%s allowed it", name)
	case Changed:
		t.line("%s changed it", name)
	case Failed:
		t.line("%s failed: %s", name, s.Message)
	default:
		t.line("%s refused it: %s", name, s.Message)
		if len(s.Actions) > 0 && !slices.Contains(s.Actions, "Deny") {
			t.below("the binding does not deny, it does: %s", strings.Join(s.Actions, ", "))
		}
	}
	for _, c := range s.Changes {
		t.below("%s", c)
	}
	for _, x := range s.Expressions {
		if !x.True {
			t.below("validations[%d] is not true: %s", x.Index, oneLine(x.Expression))
		}
	}
	if s.Cost > 0 {
		t.below("cost %d", s.Cost)
	}
	for _, w := range s.Warnings {
		t.below("it warns: %s", w)
	}
}

func (t *text) refusal(word string, r FieldError) {
	path := r.Path
	if path == "" {
		path = "the object"
	}
	t.line("%s: %s: %s", word, path, r.Message)
	if r.Rule != "" {
		t.below("rule: %s (cost %d)", oneLine(r.Rule), r.Cost)
	}
	if r.Node == "" {
		return
	}
	if len(r.Schema) > 0 {
		t.below("schema: %s is %s", r.Node, r.Schema)
	} else {
		t.below("schema: %s", r.Node)
	}
}

func (t *text) rules(rules []CELRule) {
	var cost int64
	counts := [3]int{}
	for _, r := range rules {
		cost += r.Cost
		switch {
		case len(r.Refuses) > 0:
			counts[1]++
		case r.Cost > 0:
			counts[0]++
		default:
			counts[2]++
		}
	}
	var parts []string
	for i, what := range []string{"passed", "failed", "not evaluated"} {
		if counts[i] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[i], what))
		}
	}
	if len(rules) > 0 {
		t.line("CEL rules: %s (cost %d)", strings.Join(parts, ", "), cost)
	}
}

func (t *text) change(c FieldChange) {
	owned := ""
	switch before, after := strings.Join(c.OwnersBefore, ", "), strings.Join(c.Owners, ", "); {
	case after == "" && before == "":
	case after == "":
		owned = ", before by " + before + ", now not managed"
	case before == "" || before == after:
		owned = ", managed by " + after
	default:
		owned = ", managed by " + after + ", before by " + before
	}
	t.line("%s%s", c, owned)
}

// oneLine shortens a text to one line.
func oneLine(text string) string { return shorten(strings.Join(strings.Fields(text), " ")) }
