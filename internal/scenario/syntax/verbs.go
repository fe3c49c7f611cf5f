package syntax

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/types"
)

// Verb is a kind of step: a row of the table verbs, which the parser, the manual and the schema read. Package player has
// the code of the steps in its table actions; a test there compares both tables.
type Verb struct {
	Name     string
	argument argument
	// doc completes a sentence that begins with the name.
	doc string
	// fields are the names of the request fields that a step with the verb may have, separated by spaces.
	fields string
	answer answerType
	// check checks the fields of the step against each other; nil: there is nothing to check.
	check func(p *parser, n *yaml.Node, s *Step)
}

// answerType is the type of the answer to a step that succeeds.
type answerType int

const (
	anyAnswer    answerType = iota // depends on the object or the server
	noAnswer                       // the step cannot have a name for its answer, or expectations
	objectAnswer                   // an object or a list object
	listAnswer                     // a list
	numberAnswer                   // a number of objects
)

var verbs = []*Verb{
	{Name: "create", argument: oneManifest, fields: "options body to headers as", answer: objectAnswer,
		doc: "creates the object of the manifest."},
	{Name: "get", argument: objectReference, fields: "subresource options headers as eventually consistently", answer: objectAnswer,
		doc: "reads one object, or sends a GET to any path."},
	{Name: "list", argument: listReference, fields: "options headers as eventually consistently", answer: objectAnswer,
		doc: "reads all objects of a kind, in one namespace or, without namespace, in all."},
	{Name: "watch", argument: listReference, fields: "options as", check: checkWatch,
		doc: "reads watch events of the objects that list would read: as many as expect has. It starts at the option" +
			" resourceVersion."},
	{Name: "update", argument: oneManifest, fields: "subresource options body to headers as", answer: objectAnswer,
		doc: "replaces an object with the manifest. If the manifest does not have a resourceVersion, the runner adds the current" +
			" one; with resourceVersion: !absent it sends none."},
	{Name: "patch", argument: objectReference, fields: "subresource options type body headers as", answer: objectAnswer, check: checkPatch,
		doc: "patches one object with body; type is the type of the patch."},
	{Name: "apply", argument: oneManifest, fields: "subresource options body to headers as", answer: objectAnswer,
		doc: "applies the manifest with server-side apply. The default of the option fieldManager is scenario."},
	{Name: "delete", argument: objectReference, fields: "options body headers as",
		doc: "deletes one object."},
	{Name: "deletecollection", argument: listReference, fields: "options body headers as",
		doc: "deletes the objects that list would read with the same options."},
	{Name: "scale", argument: scaleReference, fields: "options as", answer: objectAnswer,
		doc: "sets the replicas of one object through its subresource scale."},
	{Name: "status", argument: statusManifest, fields: "options as", answer: objectAnswer,
		doc: "merge-patches the subresource status with the status of the manifest, as a controller or a kubelet would."},
	{Name: "finalize", argument: finalizeReference, fields: "as",
		doc: "removes a finalizer from an object, as its owner would; without finalizer it removes all. The finalizer kubernetes of" +
			" a namespace is removed through the subresource finalize."},
	{Name: "evict", argument: podReference, fields: "body as",
		doc: "evicts a Pod, as kubectl drain does; body is the DeleteOptions."},
	{Name: "absent", argument: maybeReference, fields: "options as eventually consistently", answer: noAnswer,
		doc: "checks that an object does not exist or, without name, that list would return no objects."},
	{Name: "count", argument: listReference, fields: "options as eventually consistently", answer: numberAnswer,
		doc: "counts the objects that list would read; the answer is the number."},
	{Name: "events", argument: objectReferenceByKind, fields: "as eventually consistently", answer: listAnswer,
		doc: "reads the Events about one object; the answer is the list of them, oldest first."},
	{Name: "log", argument: anyValue, answer: noAnswer,
		doc: "writes a line to the log of the scenario, which is shown if the scenario fails."},
	{Name: "advance", argument: oneDuration, answer: noAnswer,
		doc: "advances virtual time by the duration, which may be computed."},
	{Name: "settle", argument: settlePeriods, answer: noAnswer,
		doc: "waits until nothing is left to do: no request is in flight, all events are delivered, and there are no writes for" +
			" quiet of virtual time (default 1s). It fails after within (default 10m)."},
	{Name: "fault", argument: faultFields, answer: noAnswer,
		doc: "injects a fault into requests from now on, as fakecluster.Inject does. The fault affects all clients, including the" +
			" scenario itself, unless user or userAgent selects some. effect is conflict, unavailable, timeout, cutBeforeCommit," +
			" cutAfterCommit, expireWatch or failConversion, or one of tooManyRequests: DURATION, internalError: TEXT," +
			" refuseAdmission: TEXT, failWebhook: NAME, staleRead: REVISIONS, dropWatch: EVENTS and delayWatch: DURATION. The" +
			" fault skips the first after requests, and affects at most times of the others, each with the given probability, such" +
			" as 0.5. Because the seed of the cluster is constant, it affects the same requests in every run. The scenario fails" +
			" if the fault never occurred, unless it is optional."},
	{Name: "compact", argument: nothing, answer: noAnswer,
		doc: "discards the history of the cluster, as etcd does every five minutes: requests for older revisions get 410 Gone."},
	{Name: "calls", argument: webhookName,
		doc: "reads the calls that a webhook received since the last calls step."},
	{Name: "webhook", argument: webhookReply, answer: noAnswer,
		doc: "changes the answers of a webhook from now on."},
}

// verbNamed returns the verb with a name, or nil.
func verbNamed(name string) *Verb {
	if i := slices.IndexFunc(verbs, func(v *Verb) bool { return v.Name == name }); i >= 0 {
		return verbs[i]
	}
	return nil
}

// Allows reports whether a step with the verb may have a request field.
func (v *Verb) Allows(field string) bool { return slices.Contains(strings.Fields(v.fields), field) }

// verbsWith returns the names of the verbs that allow a request field.
func verbsWith(field string) []string {
	var names []string
	for _, v := range verbs {
		if v.Allows(field) {
			names = append(names, v.Name)
		}
	}
	return names
}

func checkPatch(p *parser, n *yaml.Node, s *Step) {
	if s.PatchType == "" || s.Body == nil {
		p.mistake(n, "a patch needs type and body")
	}
}

func checkWatch(p *parser, n *yaml.Node, s *Step) {
	events, ok := s.Want.([]any)
	if !ok && !s.HasError {
		p.mistake(n, "a watch needs expect, with a list of events")
	}
	s.Events = len(events)
}

func verbNames() []string {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = v.Name
	}
	return names
}

// PatchTypes maps the values of the field type to media types.
var PatchTypes = map[string]string{
	"json":      string(types.JSONPatchType),
	"merge":     string(types.MergePatchType),
	"strategic": string(types.StrategicMergePatchType),
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// SortedFields returns the field names of a mapping, sorted.
func SortedFields(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
