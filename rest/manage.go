package rest

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/warning"
)

// manageFields records that the manager of the write set what differs between
// the object and the current one, which is nil for a create. An apply has done
// so already.
func (w *write) manageFields(obj, current runtime.Object) (runtime.Object, error) {
	if w.applied {
		return obj, nil
	}
	var learn func(runtime.Object)
	if shortcut := w.version.FieldShortcut; shortcut != nil && w.subresource == "" {
		var done bool
		if learn, done = shortcut.ManageFields(obj, current, w.manager, w.now()); done {
			return obj, nil
		}
	}
	fields, err := w.fieldManager()
	if err != nil {
		return nil, err
	}
	if abridge := w.version.Abridge; abridge != nil {
		if short, shortCurrent, ok := abridge(obj, current); ok {
			return obj, copyManagedFields(obj, fields.UpdateNoErrors(shortCurrent, short, w.manager))
		}
	}
	if current == nil {
		current = w.version.Codec.New()
	}
	obj = fields.UpdateNoErrors(current, obj, w.manager)
	if learn != nil {
		learn(obj)
	}
	return obj, nil
}

// copyManagedFields gives an object the managedFields of another.
func copyManagedFields(to, from runtime.Object) error {
	target, err := meta.Accessor(to)
	if err != nil {
		return err
	}
	source, err := meta.Accessor(from)
	if err != nil {
		return err
	}
	target.SetManagedFields(source.GetManagedFields())
	return nil
}

// keepTimestamps takes back the new times in managedFields if nothing but them
// has changed, so that nothing is written.
func (w *write) keepTimestamps(obj, current runtime.Object) (runtime.Object, error) {
	is, ok := obj.(*unstructured.Unstructured)
	was, alsoOK := current.(*unstructured.Unstructured)
	if ok && alsoOK {
		// What is looked at first is what differs most often.
		for key, value := range is.Object {
			if key != "metadata" && !reflect.DeepEqual(value, was.Object[key]) {
				return obj, nil
			}
		}
	}
	return fieldmanager.IgnoreManagedFieldsTimestampsTransformer(w.ctx, obj, current)
}

// fieldManager is that of the object or of the subresource that is written.
func (w *write) fieldManager() (*managedfields.FieldManager, error) {
	if w.subresource != "" {
		return w.version.Subresource[w.subresource].FieldManager()
	}
	return w.version.FieldManager()
}

// managerOf is the field manager that a request names, or else the beginning of
// its user agent.
func managerOf(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	name, _, _ := strings.Cut(userAgent, "/")
	var b strings.Builder
	for _, r := range name {
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > metav1validation.FieldManagerMaxLength {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// When duplicate owner references are found, as the warning says it.
const (
	beforeAdmission = ""
	afterAdmission  = " after mutating admission happens"
)

// dropDuplicateOwners leaves each owner reference once, and warns of the others.
func (w *write) dropDuplicateOwners(obj runtime.Object, when string) {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	owners := metadata.GetOwnerReferences()
	if len(owners) < 2 {
		return
	}
	var kept []metav1.OwnerReference
	var dropped []string
	seen := map[types.UID]bool{}
	for _, owner := range owners {
		if seen[owner.UID] && contains(kept, owner) {
			dropped = append(dropped, string(owner.UID))
			continue
		}
		seen[owner.UID] = true
		kept = append(kept, owner)
	}
	if len(dropped) > 0 {
		metadata.SetOwnerReferences(kept)
		warning.AddWarning(w.ctx, "", fmt.Sprintf(".metadata.ownerReferences contains duplicate entries%s; "+
			"API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; "+
			"please fix your requests; duplicate UID(s) observed: %v", when, strings.Join(dropped, ", ")))
	}
}

func contains(owners []metav1.OwnerReference, owner metav1.OwnerReference) bool {
	for _, o := range owners {
		if equality.Semantic.DeepEqual(o, owner) {
			return true
		}
	}
	return false
}
