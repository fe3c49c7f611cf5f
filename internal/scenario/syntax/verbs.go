package syntax

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// verb is a kind of step. The parser, the manual and the schema read the table of verbs; the player has a
// table of what each of them does.
type verb struct {
	Name     string
	argument argument
	doc      string
}

var verbs = []*verb{
	{"create", oneManifest, "sends the manifest as a new object."},
	{"get", objectReference, "reads one object, or whatever the server has at a path."},
	{"list", listReference, "reads all objects of a kind: those of one namespace, or without namespace those of all."},
	{"watch", listReference, "reads events of what list reads, as many as expect has, and no further. It begins where" +
		" the option resourceVersion says."},
	{"update", oneManifest, "sends the manifest in place of the object of its name, under the resourceVersion" +
		" that the manifest says; if it says nothing about that, under the current one; and under none with resourceVersion: !absent."},
	{"patch", objectReference, "changes one object as the body says; type says which type of patch it is."},
	{"apply", oneManifest, "sends the manifest as an apply configuration, for server-side apply. Without the option" +
		" fieldManager, the manager is scenario."},
	{"delete", objectReference, "deletes one object."},
	{"deletecollection", listReference, "deletes the objects that list reads, with the same options."},
	{"scale", scaleReference, "changes how many replicas one object asks for, by its subresource scale."},
	{"status", statusManifest, "sends the status of the manifest, as a merge patch of the subresource status: what a controller" +
		" or a kubelet would write."},
	{"finalize", finalizeReference, "takes a finalizer off an object, as who has put it there does in the end; without finalizer all of them." +
		" The finalizer kubernetes of a namespace goes by its subresource finalize."},
	{"evict", podReference, "evicts a Pod, as kubectl drain does; body has DeleteOptions."},
	{"absent", maybeReference, "makes sure that one object is not there, or without name that none is that list would read."},
	{"count", listReference, "counts the objects that list reads; the answer is the number."},
	{"events", objectReferenceByKind, "reads the Events recorded for one object, the oldest first; the answer is the list of them."},
	{"log", anyValue, "writes a line to the log of the scenario, which is shown if it fails."},
	{"advance", oneDuration, "lets that much virtual time pass, which may be computed."},
	{"settle", settlePeriods, "waits until nothing is left to do: no request is on its way, all events are" +
		" delivered, and nothing is written for quiet of virtual time (1s if left out). It fails if that takes longer than within (10m)."},
	{"fault", faultFields, "lets requests of clients go wrong from now on, as fakecluster.Inject does: those of the scenario itself, too, unless" +
		" user or userAgent say whose. effect is conflict, unavailable, timeout, cutBeforeCommit, cutAfterCommit, expireWatch or failConversion, or one of" +
		" tooManyRequests: DURATION, internalError: TEXT, refuseAdmission: TEXT, failWebhook: NAME, staleRead: REVISIONS, dropWatch: EVENTS and" +
		" delayWatch: DURATION. It leaves the first after requests alone, strikes times of the others at most, and each of them with the" +
		" probability, such as 0.5: as the seed of the cluster is always the same, it strikes the same ones in every run. The scenario fails if" +
		" the fault has never struck, unless it is optional."},
	{"compact", nothing, "forgets the history of the cluster, as etcd does every five minutes: older revisions are answered with 410."},
	{"calls", webhookName, "reads the calls that a webhook got since the last step that read them."},
	{"webhook", webhookReply, "changes how a webhook answers from now on."},
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
