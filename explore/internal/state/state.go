package state

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage/names"
)

// State is the objects of a cluster by their names, such as deployments.apps default/home.
type State map[string]map[string]any

// Object is an object of a cluster.
type Object struct {
	// Resource is its resource, such as deployments.apps.
	Resource string
	*unstructured.Unstructured
}

// Name names the object, such as deployments.apps default/home.
func (o Object) Name() string { return Name(o.Resource, o.GetNamespace(), o.GetName()) }

// Name names an object by its resource, its namespace, which may be empty, and its name.
func Name(resource, namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return resource + " " + name
}

// Ignored reports whether the objects of a resource are not part of a state: what reports on others, what the API server
// makes for others, and the histories of controllers.
func Ignored(resource string) bool {
	switch resource {
	case "events", "events.events.k8s.io", "leases.coordination.k8s.io", "ipaddresses.networking.k8s.io", "controllerrevisions.apps",
		"endpoints", "endpointslices.discovery.k8s.io":
		return true
	}
	return false
}

// New returns the state that objects are in.
func New(objects []Object) State {
	return Part(objects, func(o Object) map[string]any { return o.Object })
}

// Part returns the state of a part of each object; an empty one is left out.
func Part(objects []Object, part func(Object) map[string]any) State {
	objects = slices.Clone(objects)
	names := canonical(objects)
	r := newReplacer(objects, names)
	s := State{}
	for _, o := range objects {
		if Ignored(o.Resource) || isMeans(o) {
			continue
		}
		if fields := part(o); len(fields) > 0 {
			s[names[o.Name()]] = r.object(Object{o.Resource, &unstructured.Unstructured{Object: fields}})
		}
	}
	return s
}

// canonical returns the names of objects, in which a random name is the prefix of its object and a number in the order of
// the contents. The uid of another object in a name reads as its name: the volume pvc-UID of the claim
// default/data is pvc-default-data.
func canonical(objects []Object) map[string]string {
	names := map[string]string{}
	random := map[string][]Object{}
	for _, o := range objects {
		names[o.Name()] = o.Name()
		if prefix := o.Prefix(); prefix != "" {
			group := Name(o.Resource, o.GetNamespace(), prefix)
			random[group] = append(random[group], o)
		}
	}
	for group, objects := range random {
		// Controllers often give an object the name of its owner, so that equal objects have the order of their owners by their names.
		slices.SortFunc(objects, func(a, b Object) int {
			return cmp.Or(cmp.Compare(content(a), content(b)), cmp.Compare(a.GetName(), b.GetName()))
		})
		for i, o := range objects {
			names[o.Name()] = fmt.Sprintf("%s*%d", group, i+1)
		}
	}
	named := map[string]string{} // by uid
	for _, o := range objects {
		_, name, _ := strings.Cut(names[o.Name()], " ")
		named[string(o.GetUID())] = strings.ReplaceAll(name, "/", "-")
	}
	for name, shown := range names {
		names[name] = uid.ReplaceAllStringFunc(shown, func(uid string) string { return cmp.Or(named[uid], uid) })
	}
	return names
}

// lastPart returns the name alone of what Name returns.
func lastPart(name string) string { return name[strings.LastIndexAny(name, " /")+1:] }

// Prefix returns what is before the random end of a name; empty: the name has none. The server makes such ends for metadata.generateName, and
// some controllers make the same ends themselves, for objects with an owner. If the name of that is random, too, it has two of them.
func (o Object) Prefix() string {
	prefix := o.GetGenerateName()
	prefix = prefix[:min(len(prefix), names.MaxGeneratedNameLength)]
	if end, generated := strings.CutPrefix(o.GetName(), prefix); !generated || ordinal.MatchString(end) {
		prefix = ""
	}
	prefix = o.withoutHashes(prefix)
	if len(o.GetOwnerReferences()) == 0 {
		return prefix
	}
	name := o.withoutHashes(o.GetName())
	if prefix != "" {
		name = strings.TrimSuffix(prefix, "-")
	}
	if before := withoutRandomEnds(name); before != name {
		return before + "-"
	}
	return prefix
}

// withoutRandomEnds removes the ends that names.SimpleNameGenerator of k8s.io/apiserver makes. They have no vowels, so they are hardly a word.
func withoutRandomEnds(name string) string {
	for {
		end := randomEnd.FindString(name)
		if end == "" || slices.Contains(words, end[1:]) {
			return name
		}
		name = strings.TrimSuffix(name, end)
	}
}

var randomEnd = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// words are ends of names, such as web-https, that look as if they were random. The chance that one of them is random is less than one in a million.
var words = []string{"https", "httpd", "grpcs", "mqtts", "smtps", "pgsql", "mssql"}

// content is an object without its metadata and what is random in it, as text.
func content(o Object) string {
	copied := maps.Clone(o.Object)
	delete(copied, "metadata")
	if o.Resource == "pods" {
		copied = runtime.DeepCopyJSON(copied)
		hideRuns(copied["status"])
		hidePlacement(o, copied)
	}
	text, err := json.Marshal(copied)
	if err != nil {
		return ""
	}
	return randomInText.ReplaceAllString(string(text), "")
}

// randomInText finds the ends of random names, uids, and times.
var randomInText = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|(-[bcdfghjklmnpqrstvwxz2456789]{5})+\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// uid finds the uids of objects.
var uid = regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// tokenVolume is the name of the volume with the token of a Pod, whose end the server makes at random.
var tokenVolume = regexp.MustCompile(`\bkube-api-access-[a-z0-9]{5}\b`)

// hideRuns removes addresses, the ids of containers, and their former runs from the status of a Pod.
func hideRuns(status any) {
	switch typed := status.(type) {
	case map[string]any:
		for key, value := range typed {
			if slices.Contains(runFields, key) {
				delete(typed, key)
			} else {
				hideRuns(value)
			}
		}
	case []any:
		for _, value := range typed {
			hideRuns(value)
		}
	}
}

// runFields are fields of the status of a Pod that differ between any two runs of its containers.
var runFields = []string{"podIP", "podIPs", "containerID", "restartCount", "lastState"}

// replacer replaces values that differ between clusters by what they stand for.
type replacer struct {
	strings  *strings.Replacer
	versions map[string]bool // resourceVersions
}

func newReplacer(objects []Object, names map[string]string) *replacer {
	r := &replacer{versions: map[string]bool{}}
	pairs := map[string]string{}
	for _, o := range objects {
		name := names[o.Name()]
		if uid := string(o.GetUID()); uid != "" {
			pairs[uid] = "<uid of " + name + ">"
		}
		if name != o.Name() {
			pairs[o.GetName()] = lastPart(name)
		}
		r.versions[o.GetResourceVersion()] = true
		for _, hash := range hashes(o) {
			pairs[hash] = "<hash>"
		}
		if o.Resource == "services" {
			ips, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "clusterIPs")
			for _, ip := range ips {
				if ip != "None" {
					pairs[ip] = "<address of " + name + ">"
				}
			}
		}
	}
	var found []string
	// A longer value first: one may be the beginning of another.
	for _, from := range slices.SortedFunc(maps.Keys(pairs), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }) {
		found = append(found, from, pairs[from])
	}
	r.strings = strings.NewReplacer(found...)
	return r
}

// serverMade are the fields of the metadata that no state consists of.
var serverMade = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "generateName"}

func (r *replacer) object(o Object) map[string]any {
	copied := runtime.DeepCopyJSON(o.Object)
	if metadata, ok := copied["metadata"].(map[string]any); ok {
		for _, name := range serverMade {
			delete(metadata, name)
		}
		if owners, ok := metadata["ownerReferences"].([]any); ok {
			for _, owner := range owners {
				delete(owner.(map[string]any), "uid")
			}
			slices.SortFunc(owners, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	if o.Resource == "secrets" {
		hideData(copied)
	}
	if o.Resource == "services" {
		hidePorts(copied)
	}
	if o.Resource == "pods" {
		hideRuns(copied["status"])
	}
	hidePlacement(o, copied)
	if o.Resource == "nodes" {
		hideKubelet(copied)
	}
	if strings.HasSuffix(o.Resource, ".apps") {
		hideRevisions(copied)
	}
	v, _ := r.value("", copied).(map[string]any)
	return v
}

// hideData replaces the values of a Secret by their hashes.
func hideData(secret map[string]any) {
	data, _ := secret["data"].(map[string]any)
	for key, value := range data {
		data[key] = fmt.Sprintf("<hidden, sha256 %.4x>", sha256.Sum256(fmt.Append(nil, value)))
	}
}

// hidePorts replaces the node ports of a Service, which the server allocates at random, and puts the ports into one order: it means nothing, and operators
// make them of a map.
func hidePorts(service map[string]any) {
	ports, _, _ := unstructured.NestedSlice(service, "spec", "ports")
	for _, p := range ports {
		if port, ok := p.(map[string]any); ok && port["nodePort"] != nil {
			port["nodePort"] = "<port>"
		}
	}
	slices.SortStableFunc(ports, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	if len(ports) > 0 {
		_ = unstructured.SetNestedSlice(service, ports, "spec", "ports")
	}
}

// value returns a value without what differs between clusters; nil: nothing is left.
func (r *replacer) value(key string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			// The server derives a default of imagePullPolicy from the tag when a container is created, and keeps it when the
			// image changes.
			if name == "imagePullPolicy" || strings.HasSuffix(strings.ToLower(name), "generation") {
				delete(v, name)
				continue
			}
			if changed := r.value(name, field); changed == nil {
				delete(v, name)
			} else {
				v[name] = changed
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		if key == "conditions" {
			return r.conditions(v)
		}
		for i, item := range v {
			v[i] = r.value("", item)
		}
	case string:
		return r.text(key, v)
	case nil:
		return nil
	}
	return value
}

func (r *replacer) text(key, text string) any {
	if _, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return "<time>"
	}
	if key == "resourceVersion" || r.versions[text] && key != "" && len(text) > 2 {
		return "<resourceVersion>"
	}
	return tokenVolume.ReplaceAllString(r.strings.Replace(text), "kube-api-access-*")
}

// conditions returns conditions in the order of their types, with their status alone.
func (r *replacer) conditions(conditions []any) []any {
	kept := make([]any, 0, len(conditions))
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok {
			return conditions
		}
		kept = append(kept, map[string]any{"type": condition["type"], "status": condition["status"]})
	}
	slices.SortStableFunc(kept, func(a, b any) int {
		return cmp.Compare(fmt.Sprint(a.(map[string]any)["type"]), fmt.Sprint(b.(map[string]any)["type"]))
	})
	return kept
}
