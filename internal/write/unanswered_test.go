package write_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// A delete that nobody looks at does what any other delete does: in each case both are asked
// of two clusters that are the same, which are the same afterwards, too.
func TestADeleteThatNobodyLooksAtIsADelete(t *testing.T) {
	policy := func(p metav1.DeletionPropagation) *metav1.DeletionPropagation { return &p }
	uid, wrong, revision, old := types.UID("u"), types.UID("other"), "4", "1"
	period, yes := int64(0), true
	for name, c := range map[string]struct {
		metadata string
		options  metav1.DeleteOptions
		change   func(r *write.Request)
		refuse   bool
		missing  bool
		kind     resource.Deletion
	}{
		"plain":             {},
		"in the background": {options: metav1.DeleteOptions{PropagationPolicy: policy(metav1.DeletePropagationBackground)}},
		"in the foreground": {options: metav1.DeleteOptions{PropagationPolicy: policy(metav1.DeletePropagationForeground)}},
		"orphaning":         {options: metav1.DeleteOptions{PropagationPolicy: policy(metav1.DeletePropagationOrphan)}},
		//lint:ignore SA1019 clients still send it
		"orphaning, as formerly":               {options: metav1.DeleteOptions{OrphanDependents: &yes}},
		"a policy that there is not":           {options: metav1.DeleteOptions{PropagationPolicy: policy("Sideways")}},
		"with a period":                        {options: metav1.DeleteOptions{GracePeriodSeconds: &period}},
		"with a finalizer":                     {metadata: `,"finalizers":["example.com/a"]`},
		"with a finalizer of orphans":          {metadata: `,"finalizers":["orphan"]`},
		"with an annotation of finalizers":     {metadata: `,"annotations":{"finalizers":"deletionTimestamp"}`},
		"deleted before":                       {metadata: `,"deletionTimestamp":"2020-01-01T00:00:00Z","finalizers":["example.com/a"]`},
		"under its uid":                        {options: metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}},
		"under another uid":                    {options: metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}}},
		"under its resourceVersion":            {options: metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &revision}}},
		"under another resourceVersion":        {options: metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &old}}},
		"at its revision":                      {change: func(r *write.Request) { r.Revision = 4 }},
		"at another revision":                  {change: func(r *write.Request) { r.Revision = 3 }},
		"under a condition that holds":         {change: func(r *write.Request) { r.Revision, r.Require = 4, []store.Precondition{{Key: "/x"}} }},
		"under a condition that does not hold": {change: func(r *write.Request) { r.Revision, r.Require = 4, []store.Precondition{{Key: "/x", Revision: 1}} }},
		"as a dry run":                         {change: func(r *write.Request) { r.Options.DryRun = []string{"All"} }},
		"refused by admission":                 {refuse: true},
		"of nothing":                           {missing: true},
		"of a kind whose dependents stay":      {kind: resource.Deletion{Dependents: orphans}},
		"of a kind that somebody has to end":   {kind: resource.Deletion{Graceful: inSeconds(30)}},
	} {
		t.Run(name, func(t *testing.T) {
			outcome := func(unanswered bool) []any {
				b := newBench(t)
				b.forget = func(v *resource.Version) { v.Deletion = c.kind }
				text := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"default","resourceVersion":"0","uid":"u"` + c.metadata + `},"spec":{"replicas":1}}`
				if !c.missing {
					_, err := b.Store.Create(b.key(), store.Write{Make: func(revision int64) string { return view.WithResourceVersion(text, revision) }, Tag: b.widgets().Identity})
					if err != nil {
						t.Fatal(err)
					}
				}
				if c.refuse {
					b.validate = func(*admission.Write) error { return errors.New("no") }
				}
				options := c.options
				r := b.request(write.Delete{Options: &options})
				if c.change != nil {
					c.change(&r)
				}
				r.Unanswered = unanswered
				result, err := b.Run(t.Context(), r)
				said := ""
				if err != nil {
					said = err.Error()
				}
				left, events := "", []store.Event{}
				if record, err := b.Store.Get(b.key()); err == nil {
					left = record.Value
				}
				cursor, err := b.Store.Watch("", 1)
				if err != nil {
					t.Fatal(err)
				}
				all, err := cursor.Poll()
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range all {
					events = append(events, *e)
				}
				return []any{said, result.Deleted, left, events, b.changes}
			}
			equal(t, "what a delete does that nobody looks at", outcome(true), outcome(false))
		})
	}
}
