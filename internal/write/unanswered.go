package write

import (
	"strconv"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/store"
)

// removeUnanswered deletes an object without decoding it, if the caller does not want the object and
// nothing can hold it back. It is for controllers that delete thousands of objects. It declines
// (done is false) wherever remove might fail, or might do anything but delete the object at
// once.
func (a attempt) removeUnanswered(options *metav1.DeleteOptions) (done bool, err error) {
	v := a.version
	if !a.request.Unanswered || a.request.isDryRun() || !a.chain.Empty() || v.ContentFirst != nil || v.Deletion.Graceful != nil || v.Resource.NamespaceOfItself {
		return false, nil
	}
	if p := options.PropagationPolicy; p != nil && *p != metav1.DeletePropagationBackground {
		return false, nil
	}
	if options.GracePeriodSeconds != nil || OrphanDependents(options) != nil || len(options.DryRun) > 0 || len(a.propagationFinalizers(nil, options)) > 0 {
		return false, nil
	}
	record, err := a.p.Store.Get(v.Resource.Key(a.request.Namespace, a.request.Name))
	if err != nil {
		return false, nil // remove knows the error
	}
	stored := v.Resource.Storage
	if !v.Shows(record) && !(v.Typed && stored.Shows(record)) {
		return false, nil // decoding it could fail
	}
	if wanted := a.request.Revision; wanted != 0 && wanted != record.Revision {
		return false, nil
	}
	metadata := gjson.Get(record.Value, "metadata")
	if metadata.Get("finalizers").Exists() || metadata.Get("deletionTimestamp").Exists() {
		return false, nil
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && string(*p.UID) != metadata.Get("uid").Str {
			return false, nil
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != strconv.FormatInt(record.Revision, 10) {
			return false, nil
		}
	}
	_, err = a.discard(record, a.unlessRedefined())
	return err == nil, err
}

// unlessRedefined returns the preconditions of the request, and that the definition of the
// kind is still the same when the write commits.
func (a attempt) unlessRedefined() []store.Precondition {
	definition := a.version.Resource.Definition
	if definition.Key == "" {
		return a.request.Require
	}
	return append(a.request.Require[:len(a.request.Require):len(a.request.Require)], definition)
}
