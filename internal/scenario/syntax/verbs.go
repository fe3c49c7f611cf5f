package syntax

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/types"
)

// Verb is a kind of step: a row of the table verbs. The parser, the manual and the schema read the table. What the step does
// is in the table of actions of the player; a test there compares the names of both.
type Verb struct {
	Name     string
	argument argument
	// doc completes a sentence that begins with the name.
	doc string
	// fields are the names of the request fields that may stand beside the verb, separated by spaces.
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
		doc: "sends the manifest as a new object."},
	{Name: "get", argument: objectReference, fields: "subresource options headers as eventually consistently", answer: objectAnswer,
		doc: "reads one object, or whatever the server has at a path."},
	{Name: "list", argument: listReference, fields: "options headers as eventually consistently", answer: objectAnswer,
		doc: "reads all objects of a kind: those of one namespace, or without namespace those of all."},
	{Name: "watch", argument: listReference, fields: "options as", check: checkWatch,
		doc: "reads events of what list reads, as many as expect has, and no further. It begins where" +
			" the option resourceVersion says."},
	{Name: "update", argument: oneManifest, fields: "subresource options body to headers as", answer: objectAnswer,
		doc: "sends the manifest in place of the object of its name, under the resourceVersion" +
			" that the manifest says; if it says nothing about that, under the current one; and under none with resourceVersion: !absent."},
	{Name: "patch", argument: objectReference, fields: "subresource options type body headers as", answer: objectAnswer, check: checkPatch,
		doc: "changes one object as the body says; type says which type of patch it is."},
	{Name: "apply", argument: oneManifest, fields: "subresource options body to headers as", answer: objectAnswer,
		doc: "sends the manifest as an apply configuration, for server-side apply. Without the option" +
			" fieldManager, the manager is scenario."},
	{Name: "delete", argument: objectReference, fields: "options body headers as",
		doc: "deletes one object."},
	{Name: "deletecollection", argument: listReference, fields: "options body headers as",
		doc: "deletes the objects that list reads, with the same options."},
	{Name: "scale", argument: scaleReference, fields: "options as", answer: objectAnswer,
		doc: "changes how many replicas one object asks for, by its subresource scale."},
	{Name: "status", argument: statusManifest, fields: "options as", answer: objectAnswer,
		doc: "sends the status of the manifest, as a merge patch of the subresource status: what a controller" +
			" or a kubelet would write."},
	{Name: "finalize", argument: finalizeReference, fields: "as",
		doc: "takes a finalizer off an object, as who has put it there does in the end; without finalizer all of them." +
			" The finalizer kubernetes of a namespace goes by its subresource finalize."},
	{Name: "evict", argument: podReference, fields: "body as",
		doc: "evicts a Pod, as kubectl drain does; body has DeleteOptions."},
	{Name: "absent", argument: maybeReference, fields: "options as eventually consistently", answer: noAnswer,
		doc: "makes sure that one object is not there, or without name that none is that list would read."},
	{Name: "count", argument: listReference, fields: "options as eventually consistently", answer: numberAnswer,
		doc: "counts the objects that list reads; the answer is the number."},
	{Name: "events", argument: objectReferenceByKind, fields: "as eventually consistently", answer: listAnswer,
		doc: "reads the Events recorded for one object, the oldest first; the answer is the list of them."},
	{Name: "log", argument: anyValue, answer: noAnswer,
		doc: "writes a line to the log of the scenario, which is shown if it fails."},
	{Name: "advance", argument: oneDuration, answer: noAnswer,
		doc: "lets that much virtual time pass, which may be computed."},
	{Name: "settle", argument: settlePeriods, answer: noAnswer,
		doc: "waits until nothing is left to do: no request is on its way, all events are" +
			" delivered, and nothing is written for quiet of virtual time (1s if left out). It fails if that takes longer than within (10m)."},
	{Name: "fault", argument: faultFields, answer: noAnswer,
		doc: "lets requests of clients go wrong from now on, as fakecluster.Inject does: those of the scenario itself, too, unless" +
			" user or userAgent say whose. effect is conflict, unavailable, timeout, cutBeforeCommit, cutAfterCommit, expireWatch or failConversion, or one of" +
			" tooManyRequests: DURATION, internalError: TEXT, refuseAdmission: TEXT, failWebhook: NAME, staleRead: REVISIONS, dropWatch: EVENTS and" +
			" delayWatch: DURATION. It leaves the first after requests alone, strikes times of the others at most, and each of them with the" +
			" probability, such as 0.5: as the seed of the cluster is always the same, it strikes the same ones in every run. The scenario fails if" +
			" the fault has never struck, unless it is optional."},
	{Name: "compact", argument: nothing, answer: noAnswer,
		doc: "forgets the history of the cluster, as etcd does every five minutes: older revisions are answered with 410."},
	{Name: "calls", argument: webhookName,
		doc: "reads the calls that a webhook got since the last step that read them."},
	{Name: "webhook", argument: webhookReply, answer: noAnswer,
		doc: "changes how a webhook answers from now on."},
}

// verbNamed returns the verb of a name, or nil.
func verbNamed(name string) *Verb {
	if i := slices.IndexFunc(verbs, func(v *Verb) bool { return v.Name == name }); i >= 0 {
		return verbs[i]
	}
	return nil
}

// Allows reports whether a request field may stand beside the verb.
func (v *Verb) Allows(field string) bool { return slices.Contains(strings.Fields(v.fields), field) }

// verbsWith returns the names of the verbs that a request field may stand beside.
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

// PatchTypes are the media types of the types of patches.
var PatchTypes = map[string]string{
	"json":      string(types.JSONPatchType),
	"merge":     string(types.MergePatchType),
	"strategic": string(types.StrategicMergePatchType),
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func SortedFields(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
