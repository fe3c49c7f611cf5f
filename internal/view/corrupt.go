package view

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Corrupt returns the error of a real server for a get or a delete of an object that cannot be read. It returns other
// errors as they are, and every error where objects are not reported as corrupt.
func Corrupt(v *resource.Version, namespace, name string, err error) error {
	var corrupt *resource.CorruptError
	if !errors.As(err, &corrupt) || !resource.ReportsCorrupt() {
		return err
	}
	return faultinjection.Answer(apierrors.NewInternalError(storage.NewCorruptObjError(etcdKey(v, namespace, name), corrupt)), err)
}

// etcdKey returns the key that a real server uses for an object in etcd.
func etcdKey(v *resource.Version, namespace, name string) string {
	var key strings.Builder
	for _, part := range []string{v.Resource.Group, v.Resource.Names.Plural, namespace, name} {
		if part != "" {
			key.WriteString("/" + part)
		}
	}
	return key.String()
}

// maxCorrupt is the maximum of unreadable objects that the error of a list names.
const maxCorrupt = 100

// decodeEach decodes records one by one. If some cannot be read, the error names them, as that of a real server for a
// list does. Where objects are not reported as corrupt, it is the error of the first one.
func decodeEach(v *resource.Version, records []store.Record) ([]runtime.Object, error) {
	objects := make([]runtime.Object, 0, len(records))
	var unreadable, reasons []error
	var first int64
	var causes []metav1.StatusCause
	for _, record := range records {
		obj, err := v.Codec.DecodeStored(record)
		var corrupt *resource.CorruptError
		switch {
		case err == nil:
			objects = append(objects, obj)
			continue
		case !errors.As(err, &corrupt) || !resource.ReportsCorrupt():
			return nil, err
		}
		key := "/registry" + etcdKey(v, v.Resource.NamespaceOf(record.Key), v.Resource.NameOf(record.Key))
		reasons = append(reasons, err)
		if first == 0 || record.Revision < first {
			first = record.Revision
		}
		err = storage.NewCorruptObjError(key, corrupt)
		unreadable = append(unreadable, err)
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeUnexpectedServerResponse, Field: key, Message: err.Error()})
		if len(unreadable) == maxCorrupt {
			causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeTooMany, Message: "too many errors, the list is truncated"})
			break
		}
	}
	if len(unreadable) == 0 {
		return objects, nil
	}
	resource := v.Resource.GroupResource()
	message := fmt.Sprintf("failed to read one or more %s from the storage: %v", resource, unreadable[0])
	if more := len(unreadable) - 1; more > 0 {
		message = fmt.Sprintf("%s (and %d more)", message, more)
	}
	return nil, &UnreadableError{First: first, Err: faultinjection.Answer(&apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonStoreReadError, Message: message,
		Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: "list", Causes: causes},
	}}, errors.Join(reasons...))}
}

// UnreadableError is the error of a list with objects that cannot be read.
type UnreadableError struct {
	First int64 // the lowest of their revisions
	Err   error // the error of a real server that reads them without a cache
}

// Error implements error.
func (e *UnreadableError) Error() string { return e.Err.Error() }

// Unwrap returns the server's error.
func (e *UnreadableError) Unwrap() error { return e.Err }
