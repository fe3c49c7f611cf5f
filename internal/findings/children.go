package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// child is an object that was created for an owner, its controller.
type child struct {
	creator history.Writer
	owner   gjson.Result // its ownerReference
	deleted *store.Event // nil: it exists
	by      history.Writer
	changed []history.Writer // other programs that have changed it, the oldest first
}

// trackChild records that an object is created for an owner, or deleted. hasWriter is set if by has a value.
func (f changes) trackChild(e *store.Event, by history.Writer, hasWriter bool) {
	key := e.Record.Key
	switch {
	case e.Type == store.Created:
		delete(f.children, key)
		if owner := gjson.Get(e.Record.Value, `metadata.ownerReferences.#(controller==true)`); hasWriter && owner.Exists() {
			f.children[key] = &child{creator: by, owner: owner}
		}
	case e.Type == store.Deleted && f.children[key] != nil:
		f.children[key].deleted, f.children[key].by = e, by
	}
	// A test often has the client name of its controller. But controllers do not write the status of objects that they
	// own.
	if known := f.children[key]; known != nil && e.Type != store.Created && by.Request != 0 && !isOfServer(by) &&
		(by.Subresource == "status" || programOf(by.User, by.UserAgent) != programOf(known.creator.User, known.creator.UserAgent)) {
		known.changed = append(known.changed, by)
	}
}

// ignoredChildren lists the kinds that a controller creates for an owner and watches, but whose events do not cause any
// request: the watch only fills a cache and does not enqueue the owner. requests are the newest first.
func (f changes) ignoredChildren(c Source, stats inspect.Stats, requests []inspect.Request) (lines []string) {
	type kind struct {
		res   *resource.Resource
		who   program
		owner string
	}
	type ignored struct {
		changes int
		last    history.Writer
		name    string // of the object that was changed last
	}
	watched, found, handled := watchedBy(stats), map[kind]ignored{}, map[kind]bool{}
	for _, key := range slices.Sorted(maps.Keys(f.children)) {
		child := f.children[key]
		res := c.Registry.ResourceOf(key)
		if res == nil || len(child.changed) == 0 || isOfServer(child.creator) {
			continue
		}
		k := kind{res, programOf(child.creator.User, child.creator.UserAgent), child.owner.Get("kind").Str}
		if !watched[k.who][res.Group+"/"+res.Names.Plural] || !f.lives(c, res.NamespaceOf(key), child.owner) {
			continue
		}
		for _, by := range child.changed {
			handled[k] = handled[k] || c.reacts(requests, k.who, by)
			i := found[k]
			i.changes++
			if i.last.Request < by.Request {
				i.last, i.name = by, inspect.ObjectName("", "", "", res.NamespaceOf(key), res.NameOf(key))
			}
			found[k] = i
		}
	}
	// The newest is the one that a test most likely waits for.
	unanswered := slices.SortedFunc(maps.Keys(found), func(a, b kind) int {
		return cmp.Or(cmp.Compare(found[b].last.Request, found[a].last.Request), strings.Compare(found[a].name, found[b].name))
	})
	for _, k := range unanswered {
		i := found[k]
		if handled[k] {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s has created %s for a %s, but did not react to %s of them by others (the last: %s by %s) within %v: "+
			"if such changes should call the controller, check that its builder has %s; if it has, the controller found nothing to do",
			c.after(i.last.Time), c.clientOf(k.who.user, k.who.name), inspect.ObjectName(k.res.Group, k.res.Names.Plural, "", "", ""), k.owner, printable.Count(i.changes, "change"),
			strings.TrimSpace(i.name), c.clientOf(i.last.User, i.last.UserAgent), reactionTime, owns(k.res)))
	}
	return lines
}

// reactionTime is how long after a change a request may be a reaction to it. A controller is called at once; a later
// request has another reason.
const reactionTime = 5 * time.Second

// reacts reports whether a program has sent a request that may be its reaction to a change: a write, or a read if
// another program made the change.
func (c Source) reacts(requests []inspect.Request, who program, to history.Writer) bool {
	for i := range requests {
		q := &requests[i]
		if q.Number <= to.Request {
			return false
		}
		if q.Time.Sub(to.Time) > reactionTime || programOf(q.User, q.UserAgent) != who || q.Verb == "watch" || q.Resource == "" || q.Resource == "leases" || q.Resource == "events" {
			continue
		}
		if writesObjects(q.Verb) || who != programOf(to.User, to.UserAgent) {
			return true
		}
	}
	return false
}

// packages are the names under which Go programs import the API groups of Kubernetes.
var packages = map[string]string{
	"": "core", "networking.k8s.io": "networking", "rbac.authorization.k8s.io": "rbac", "discovery.k8s.io": "discovery",
	"coordination.k8s.io": "coordination", "storage.k8s.io": "storage", "scheduling.k8s.io": "scheduling",
}

// owns returns the call of controller-runtime's builder that enqueues the owner for each event of a kind, such as
// .Owns(&appsv1.StatefulSet{}).
func owns(res *resource.Resource) string {
	name, ok := packages[res.Group]
	if !ok {
		name, _, _ = strings.Cut(res.Group, ".")
	}
	version := ""
	if res.Storage != nil {
		version = res.Storage.Name
	}
	return fmt.Sprintf(".Owns(&%s%s.%s{})", strings.ReplaceAll(name, "-", ""), version, res.Names.Kind)
}

// deletedChildren lists the objects that a controller created for an owner, that another client deleted, and that the
// controller has not created again. It leaves out objects that the server's own controllers deleted.
func (f changes) deletedChildren(c Source, stats inspect.Stats) (lines []string) {
	watched := watchedBy(stats)
	keys := slices.SortedFunc(maps.Keys(f.children), func(a, b string) int {
		return cmp.Or(f.children[b].by.Time.Compare(f.children[a].by.Time), strings.Compare(a, b))
	})
	for _, key := range keys {
		child := f.children[key]
		res := c.Registry.ResourceOf(key)
		if child.deleted == nil || child.by.Request == 0 || res == nil || isOfServer(child.by) || isOfServer(child.creator) ||
			watched[programOf(child.creator.User, child.creator.UserAgent)] == nil || !f.lives(c, res.NamespaceOf(key), child.owner) {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s of the %s %s: created by %s, deleted by %s; if its changes should call the controller, check that its builder has %s",
			c.after(child.by.Time), inspect.ObjectName(res.Group, res.Names.Plural, "", res.NamespaceOf(key), res.NameOf(key)),
			child.owner.Get("kind").Str, child.owner.Get("name").Str,
			c.clientOf(child.creator.User, child.creator.UserAgent), c.clientOf(child.by.User, child.by.UserAgent), owns(res)))
	}
	return lines
}

// isOfServer reports whether one of the server's own controllers has written something.
func isOfServer(by history.Writer) bool {
	return strings.HasPrefix(by.User, "system:serviceaccount:kube-system:") && strings.HasPrefix(by.UserAgent, "kube-controller-manager/")
}

// lives reports whether an owner exists and is not being deleted.
func (f changes) lives(c Source, namespace string, owner gjson.Result) bool {
	res := c.Registry.Kind(schema.FromAPIVersionAndKind(owner.Get("apiVersion").Str, owner.Get("kind").Str))
	if res == nil {
		return false
	}
	key := res.Key(namespace, owner.Get("name").Str)
	record, err := c.Store.Get(key)
	_, deleted := f.deleted[key]
	return err == nil && !deleted && gjson.Get(record.Value, "metadata.uid").Str == owner.Get("uid").Str
}
