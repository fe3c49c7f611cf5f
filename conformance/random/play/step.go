// Package play plays histories of requests on two servers, compares the answers, and makes a history that differs shorter.
//
// A history is a sequence of steps, each one request. What servers make, such as a uid, stands in a step as a reference:
// ${uid} is the uid of the object that the step is about, on each server its own. So a history
// can be recorded from one server, and played on another one later.
package play

import (
	"regexp"
	"strings"
)

// Step is one request of a history.
type Step struct {
	Method string `json:"method"`
	// Path has the query, too.
	Path string `json:"path"`
	// Type is the Content-Type; empty: application/json, if there is a body.
	Type string `json:"type,omitempty"`
	// Accept is the header; empty: application/json.
	Accept string `json:"accept,omitempty"`
	Body   string `json:"body,omitempty"`
	// Object is the path of the object that references are about; empty: the path of the step, without its query.
	Object string `json:"object,omitempty"`
	// Until repeats the request on a server that does some things later, until the status is this one.
	Until int `json:"until,omitempty"`
	// Not repeats it until the status is another one.
	Not int `json:"not,omitempty"`
	// Holds is a text that the answer has to contain, too, before Until is met.
	Holds string `json:"holds,omitempty"`
	// Hidden says that the answer is not compared, because chance is in it: how far a server is with something that it does later.
	Hidden bool `json:"hidden,omitempty"`
}

// Reviews is the method of a step that makes no request: it returns what the webhooks of the history in its path were sent since the last time.
const Reviews = "REVIEWS"

// The media types of patches.
const (
	JSONPatch      = "application/json-patch+json"
	MergePatch     = "application/merge-patch+json"
	StrategicPatch = "application/strategic-merge-patch+json"
	ApplyPatch     = "application/apply-patch+yaml"
)

// Name returns the method and the path, with the type of a patch.
func (s Step) Name() string {
	name := s.Method + " " + s.Path
	if s.Method == "PATCH" {
		name += " " + strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(s.Type, "application/"), "+json"), "+yaml")
	}
	return name
}

// object returns the path of the object that the references of the step are about.
func (s Step) object() string {
	if s.Object != "" {
		return s.Object
	}
	path, _, _ := strings.Cut(s.Path, "?")
	return path
}

// reference is a value that a server has made:
//
//	${uid}, ${resourceVersion}, ${creationTimestamp}, ${managedFields}  of the object, as it was last seen
//	${text:spec.clusterIP}, ${number:spec.ports.0.nodePort}             of the object, what is at this path
//	${firstResourceVersion}                                             of the object, when it was first seen
//	${continue}                                                         of the last list
//	${listed}                                                           the resourceVersion of the last list
//	${webhook}, ${authority}                                            where the server finds webhooks, and their certificate authority
var reference = regexp.MustCompile(`\$\{[a-zA-Z]+(:[^}"]*)?\}`)
