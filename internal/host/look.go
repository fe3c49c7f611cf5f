package host

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/inspect"
)

// After is the request for the requests after a given one.
type After struct {
	After int64 `json:"after,omitempty" doc:"the number of a request: only later ones are returned"`
}

// Request is a request as in package inspect.
type Request struct {
	inspect.Request
	Client string `json:"client,omitempty" doc:"the client of the request in one word"`
	Object string `json:"object,omitempty" doc:"the object or collection of the request"`
	Text   string `json:"text" doc:"the request on one line"`
}

// Requests is the answer with requests.
type Requests struct {
	Requests []Request `json:"requests" doc:"the newest requests, in the order in which they came"`
}

func getRequests(c call, a After) (Requests, error) {
	answer := Requests{Requests: []Request{}}
	for _, r := range c.cluster.Requests() {
		if r.Number > a.After {
			answer.Requests = append(answer.Requests, Request{r, r.Client(), r.Object(), r.String()})
		}
	}
	return answer, nil
}

// Revision is a revision as in package inspect.
type Revision struct {
	inspect.Revision
	Client string `json:"client,omitempty" doc:"the client that made the revision in one word"`
	Text   string `json:"text" doc:"the revision, with its changes on lines of their own"`
}

// History is the answer with the states of an object.
type History struct {
	Revisions []Revision `json:"revisions" doc:"the states of the object, the oldest first"`
}

func getHistory(c call, o Object) (History, error) {
	answer := History{Revisions: []Revision{}}
	obj, err := c.cluster.find(o)
	if err != nil {
		return answer, err
	}
	history, err := c.cluster.History(obj)
	for _, r := range history {
		answer.Revisions = append(answer.Revisions, Revision{r, r.Client(), r.String()})
	}
	return answer, wrong(err)
}

// ObjectAt is the request for an object at a revision.
type ObjectAt struct {
	Object
	Revision int64 `json:"revision" doc:"a revision, which may be that of a write to any object"`
}

func getObjectAt(c call, o ObjectAt) (Found, error) {
	obj, err := c.cluster.find(o.Object)
	if err != nil {
		return Found{}, err
	}
	u, err := c.cluster.ObjectAt(obj, o.Revision)
	if err != nil {
		return Found{}, failed(err)
	}
	return Found{u.Object}, nil
}

// Counted has the counts of requests with the same client, verb and resource.
type Counted struct {
	inspect.Counted
	inspect.Counts
	Client string `json:"client" doc:"the client in one word"`
}

// Stats is the answer with the counts of all requests.
type Stats struct {
	Counts []Counted `json:"counts" doc:"the counts by client, verb and resource"`
	Text   string    `json:"text" doc:"the same, with a line for each"`
}

func getStats(c call, _ none) (Stats, error) {
	stats := c.cluster.Stats()
	answer := Stats{Counts: []Counted{}, Text: stats.String()}
	for counted, counts := range stats {
		answer.Counts = append(answer.Counts, Counted{counted, counts, counted.Client()})
	}
	slices.SortFunc(answer.Counts, func(a, b Counted) int { return strings.Compare(a.order(), b.order()) })
	return answer, nil
}

func (c Counted) order() string {
	return strings.Join([]string{c.Client, c.Verb, c.Group, c.Resource, c.Subresource, c.User, c.UserAgent}, "\x00")
}

func resetStats(c call, _ none) (none, error) {
	c.cluster.ResetStats()
	return none{}, nil
}

// Findings are findings as in package inspect.
type Findings struct {
	inspect.Findings
	Text string `json:"text,omitempty" doc:"the findings as at most 60 lines, as the log of a failed test has them; absent if there are none"`
}

func getFindings(c call, _ none) (Findings, error) {
	found := c.cluster.Findings()
	return Findings{found, found.String()}, nil
}

// LastWrites is the request for the last writes.
type LastWrites struct {
	Most int `json:"most,omitempty" doc:"how many; default: 20"`
}

// Lines is an answer of lines of text.
type Lines struct {
	Lines []string `json:"lines" doc:"the lines, the oldest first"`
}

func getLastWrites(c call, l LastWrites) (Lines, error) {
	if l.Most <= 0 {
		l.Most = 20
	}
	return Lines{append([]string{}, c.cluster.LastWrites(l.Most)...)}, nil
}

// AuditTrail is the answer with the audit events.
type AuditTrail struct {
	Events []json.RawMessage `json:"events" schema:"object" doc:"events of audit.k8s.io/v1, the oldest first; none without the field audit of the start"`
}

func getAudit(c call, _ none) (AuditTrail, error) {
	answer := AuditTrail{Events: []json.RawMessage{}}
	for _, event := range c.cluster.Audit() {
		text, err := json.Marshal(event)
		if err != nil {
			return answer, err
		}
		answer.Events = append(answer.Events, text)
	}
	return answer, nil
}

// AccessOf is the request for the requests of a user.
type AccessOf struct {
	User string `json:"user" doc:"a user, or system:serviceaccount:NAMESPACE:NAME"`
}

// Access is the answer with the requests of a user.
type Access struct {
	Requests []inspect.AccessRequest `json:"requests" doc:"the requests of the user, allowed or not, each once"`
	Rules    []rbacv1.PolicyRule     `json:"rules" schema:"object" doc:"the fewest rules that allow them"`
}

func getAccess(c call, a AccessOf) (Access, error) {
	access := c.cluster.Access(a.User)
	return Access{append([]inspect.AccessRequest{}, access.Requests...), append([]rbacv1.PolicyRule{}, access.Rules()...)}, nil
}

// Write is the request to explain a write.
type Write struct {
	Verb            string          `json:"verb,omitempty" doc:"create, update, patch, apply or delete; default: create"`
	Object          json.RawMessage `json:"object,omitempty" schema:"object" doc:"what is written; a patch and a delete only need its apiVersion, kind, namespace and name"`
	Manifest        string          `json:"manifest,omitempty" doc:"the same as YAML or JSON, in place of object"`
	Subresource     string          `json:"subresource,omitempty" doc:"such as status; default: the object itself"`
	Patch           string          `json:"patch,omitempty" doc:"what the verb patch sends"`
	PatchType       string          `json:"patchType,omitempty" doc:"the media type of the patch; default: application/merge-patch+json"`
	FieldManager    string          `json:"fieldManager,omitempty" doc:"becomes the owner of the fields; apply needs one"`
	Force           bool            `json:"force,omitempty" doc:"takes over fields that other managers own"`
	FieldValidation string          `json:"fieldValidation,omitempty" doc:"Ignore, Warn or Strict; default: Warn"`
	As              *User           `json:"as,omitempty" doc:"the user of the write; default: the administrator"`
	Commit          bool            `json:"commit,omitempty" doc:"commits the write; default: it is a dry run"`
}

// Explanation is the answer with the explanation of a write.
type Explanation struct {
	inspect.Explanation
	Text string `json:"text" doc:"the explanation in lines for a reader"`
}

func explain(c call, w Write) (Explanation, error) {
	write := fakecluster.Write{
		Verb: w.Verb, Manifest: w.Manifest, Subresource: w.Subresource, Patch: w.Patch, PatchType: types.PatchType(w.PatchType),
		FieldManager: w.FieldManager, Force: w.Force, FieldValidation: w.FieldValidation, Commit: w.Commit,
	}
	if len(w.Object) > 0 {
		u, err := readObject(w.Object, c.cluster.kindOf)
		if err != nil {
			return Explanation{}, wrong(err)
		}
		write.Object = u
	}
	if w.As != nil {
		cfg, err := c.cluster.config(*w.As)
		if err != nil {
			return Explanation{}, err
		}
		write.As = cfg
	}
	e, err := c.cluster.Explain(write)
	return Explanation{e, e.String()}, wrong(err)
}

// Report is the request for the page of a cluster.
type Report struct {
	Title string `json:"title,omitempty" doc:"the title of the page, such as the name of a test"`
}

// getReport returns the HTML page of a cluster. Package fakecluster can only write it into a folder.
func getReport(c call, r Report) (content, error) {
	folder, err := os.MkdirTemp("", "fakecluster-report-")
	if err != nil {
		return content{}, err
	}
	defer os.RemoveAll(folder)
	path, err := c.cluster.WriteReport(folder, r.Title)
	if err != nil {
		return content{}, err
	}
	page, err := os.ReadFile(path)
	return content{"text/html; charset=utf-8", page}, err
}

// Assertion is the request to set the failed assertion.
type Assertion struct {
	Message string `json:"message" doc:"its text"`
}

func reportFailure(c call, a Assertion) (none, error) {
	c.cluster.ReportFailure(a.Message)
	return none{}, nil
}
