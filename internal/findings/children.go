package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/store"
)

// child is an object that was created for an owner, its controller.
type child struct {
	creator history.Writer
	owner   gjson.Result // its ownerReference
	deleted *store.Event // nil: it is there
	by      history.Writer
}

// trackChild records that an object is created for an owner, or deleted. hasWriter is set if by is known.
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
}

// deletedChildren lists the objects that were created for an owner and deleted, and that the program which
// watches the owner has not created again. A watch alone, such as that of a cache, does not enqueue the
// owner. Objects that the server's own controllers delete are left out.
func (f changes) deletedChildren(c Source, stats inspect.Stats) (lines []string) {
	watched := watchedBy(stats)
	keys := slices.SortedFunc(maps.Keys(f.children), func(a, b string) int {
		return cmp.Or(f.children[b].by.Time.Compare(f.children[a].by.Time), strings.Compare(a, b))
	})
	for _, key := range keys {
		child := f.children[key]
		of := c.Registry.ResourceOf(key)
		if child.deleted == nil || child.by.Request == 0 || of == nil || isOfServer(child.by) || isOfServer(child.creator) ||
			watched[programOf(child.creator.User, child.creator.UserAgent)] == nil || !f.lives(c, of.NamespaceOf(key), child.owner) {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s of the %s %s: %s had created it, %s has deleted it; a controller is notified only of the kinds that it Owns",
			c.after(child.by.Time), inspect.ObjectName(of.Group, of.Names.Plural, "", of.NamespaceOf(key), of.NameOf(key)),
			child.owner.Get("kind").Str, child.owner.Get("name").Str,
			c.clientOf(child.creator.User, child.creator.UserAgent), c.clientOf(child.by.User, child.by.UserAgent)))
	}
	return lines
}

// isOfServer reports whether one of the server's own controllers has written something.
func isOfServer(by history.Writer) bool {
	return strings.HasPrefix(by.User, "system:serviceaccount:kube-system:") && strings.HasPrefix(by.UserAgent, "kube-controller-manager/")
}

// lives reports whether an owner exists and is not being deleted.
func (f changes) lives(c Source, namespace string, owner gjson.Result) bool {
	of := c.Registry.Kind(schema.FromAPIVersionAndKind(owner.Get("apiVersion").Str, owner.Get("kind").Str))
	if of == nil {
		return false
	}
	key := of.Key(namespace, owner.Get("name").Str)
	record, err := c.Store.Get(key)
	_, deleted := f.deleted[key]
	return err == nil && !deleted && gjson.Get(record.Value, "metadata.uid").Str == owner.Get("uid").Str
}
