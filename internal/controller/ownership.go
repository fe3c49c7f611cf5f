package controller

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/metadata"
)

// ownership is the part of an object's metadata that the garbage collector reads.
type ownership struct {
	uid        string
	namespace  string
	owners     []metav1.OwnerReference
	finalizers []string
	deleting   bool
}

// ownershipOf reads the ownership from the JSON of an object.
func ownershipOf(text string) ownership {
	m := metadata.Find(text)
	o := ownership{
		uid:       m.Get("uid").Str,
		namespace: m.Get("namespace").Str,
		deleting:  m.Get("deletionTimestamp").Exists(),
		owners:    ownerReferences(m.Get("ownerReferences").Raw),
	}
	for _, f := range m.Get("finalizers").Array() {
		o.finalizers = append(o.finalizers, f.Str)
	}
	return o
}

// deletesDependents reports whether the object is deleted in the foreground: it waits for dependents that block its
// deletion.
func (o ownership) deletesDependents() bool {
	return o.deleting && slices.Contains(o.finalizers, metav1.FinalizerDeleteDependents)
}

// orphansDependents reports whether the object waits until its dependents are orphaned.
func (o ownership) orphansDependents() bool {
	return o.deleting && slices.Contains(o.finalizers, metav1.FinalizerOrphanDependents)
}

// ownersIn returns the JSON of an object's owner references; empty: none. Every write calls it, and most objects have
// none, which a search through the bytes finds quickly.
func ownersIn(text string) string {
	if !strings.Contains(text, `References":[{`) {
		return ""
	}
	return metadata.Get(text, "ownerReferences").Raw
}

// isDeleting reports whether an object is being deleted, by a similar search.
func isDeleting(text string) bool {
	return strings.Contains(text, `deletionTimestamp":`) && metadata.Get(text, "deletionTimestamp").Exists()
}

func ownerReferences(raw string) []metav1.OwnerReference {
	if raw == "" {
		return nil
	}
	var owners []metav1.OwnerReference
	// The object was validated. Ignore references that cannot be decoded.
	_ = json.Unmarshal([]byte(raw), &owners)
	return owners
}

// blocks reports whether the reference blocks the foreground deletion of its owner.
func blocks(r metav1.OwnerReference) bool {
	return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
}
