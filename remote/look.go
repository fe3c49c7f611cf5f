package remote

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/fakecluster/fakecluster/remote/inspect"
)

// query returns a query of names and values.
func query(pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q.Encode()
}

func (r Ref) query(more ...string) string {
	return query(append([]string{"apiVersion", r.APIVersion, "kind", r.Kind, "namespace", r.Namespace, "name", r.Name}, more...)...)
}

func escaped(part string) string { return url.PathEscape(part) }

// Requests returns the newest requests to the cluster, up to 10,000, in the order in which they came. It
// leaves out those that created what the options name.
func (c *Cluster) Requests() []inspect.Request {
	if c.test != nil {
		c.test.Helper()
	}
	var answer struct{ Requests []inspect.Request }
	c.get("/requests", &answer)
	return answer.Requests
}

// Stats returns the counts of all requests since the cluster started, or since [Cluster.ResetStats].
func (c *Cluster) Stats() inspect.Stats {
	if c.test != nil {
		c.test.Helper()
	}
	var answer struct {
		Counts []struct {
			inspect.Counted
			inspect.Counts
		}
	}
	c.get("/stats", &answer)
	stats := inspect.Stats{}
	for _, one := range answer.Counts {
		stats[one.Counted] = one.Counts
	}
	return stats
}

// ResetStats sets all counts to zero, and forgets the requests.
func (c *Cluster) ResetStats() {
	if c.test != nil {
		c.test.Helper()
	}
	if err := c.do("DELETE", "/stats", nil, nil); err != nil {
		c.blame(err)
	}
}

// Findings returns possible reasons of a failure, as the log of a failed test shows them.
func (c *Cluster) Findings() inspect.Findings {
	if c.test != nil {
		c.test.Helper()
	}
	var findings inspect.Findings
	c.get("/findings", &findings)
	return findings
}

// LastWrites returns the last writes of clients, at most this many, the oldest first. Each line has what the
// write changed.
func (c *Cluster) LastWrites(most int) []string {
	if c.test != nil {
		c.test.Helper()
	}
	if most < 1 {
		return nil
	}
	var answer struct{ Lines []string }
	c.get("/last-writes?most="+strconv.Itoa(most), &answer)
	return answer.Lines
}

// History returns the states of an object that the cluster has in its history, the oldest first, each with
// its writer and its changes. obj is as for [Cluster.WaitFor], or [Named]. It is an error if the cluster does
// not serve the kind.
func (c *Cluster) History(obj any) (inspect.History, error) {
	ref, err := refOf(obj)
	if err != nil {
		return nil, err
	}
	var answer struct{ Revisions inspect.History }
	return answer.Revisions, c.do("GET", "/history?"+ref.query(), nil, &answer)
}

// ObjectAt returns an object as it was at a revision, which may be that of a write to any object. obj is as
// for [Cluster.History]. It fails if the object did not exist at that revision, or if the revision is older
// than the history or in the future.
func (c *Cluster) ObjectAt(obj any, revision int64) (map[string]any, error) {
	ref, err := refOf(obj)
	if err != nil {
		return nil, err
	}
	var answer struct{ Object map[string]any }
	err = c.do("GET", "/object-at?"+ref.query("revision", strconv.FormatInt(revision, 10)), nil, &answer)
	return answer.Object, err
}

// Audit returns the audit trail that the option [Audit] keeps: events of audit.k8s.io/v1, the oldest first.
func (c *Cluster) Audit() []json.RawMessage {
	if c.test != nil {
		c.test.Helper()
	}
	var answer struct{ Events []json.RawMessage }
	c.get("/audit", &answer)
	return answer.Events
}

// Write is a write for [Cluster.Explain].
type Write struct {
	// Verb is create, update, patch, apply or delete; empty: create.
	Verb string
	// Object is the object to write, as for [Objects]. Set either Object or Manifest.
	Object any
	// Manifest is the object as YAML or JSON. It is sent unchanged.
	Manifest string
	// Subresource is the subresource to write, such as "status"; empty: the object itself.
	Subresource string
	// Patch is the body of the verb patch. PatchType is its media type; empty: application/merge-patch+json.
	Patch, PatchType string
	// FieldManager is the name that owns the written fields. Force lets an apply take over fields that other
	// managers own.
	FieldManager string
	Force        bool
	// FieldValidation is Ignore, Warn or Strict; empty: Warn.
	FieldValidation string
	// As is the user who writes, for example the result of c.ConfigFor("jane"); nil: the administrator.
	As *Config
	// Commit stores the result. Without it, the write is a dry run.
	Commit bool
}

// Explain reports what the cluster does with a write, stage by stage. It is a dry run, unless Commit is set.
// A rejected write is not an error: the response is in Answer.
func (c *Cluster) Explain(w Write) (inspect.Explanation, error) {
	body := map[string]any{
		"verb": w.Verb, "manifest": w.Manifest, "subresource": w.Subresource, "patch": w.Patch, "patchType": w.PatchType,
		"fieldManager": w.FieldManager, "force": w.Force, "fieldValidation": w.FieldValidation, "commit": w.Commit,
	}
	if w.Object != nil {
		content, err := encoded(w.Object)
		if err != nil {
			return inspect.Explanation{}, fmt.Errorf("explain: %w", err)
		}
		body["object"] = content
	}
	if w.As != nil && w.As.user != nil {
		body["as"] = w.As.user
	}
	var e inspect.Explanation
	return e, c.do("POST", "/explain", body, &e)
}
