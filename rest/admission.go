package rest

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/fakecluster/fakecluster/inspect"
	restadmission "github.com/fakecluster/fakecluster/internal/admission"
)

// Admission admits or denies each write, in two phases. An error denies the write and is the response to
// the request. Several goroutines may call it, one for each write in progress.
type Admission interface {
	// Mutate may replace the object, and may deny the write. It is called twice if a
	// webhook, a policy or Mutate itself requests to be reinvoked.
	Mutate(ctx context.Context, w AdmissionWrite) error
	// Validate may deny the write.
	Validate(ctx context.Context, w AdmissionWrite) error
}

// AdmissionWrite is a write that is passed to an [Admission]. Its attributes are the user, the operation and the
// object. The objects may be shared and must not be altered. They are of the
// type that the server works with; the ObjectInterfaces convert them to the version of the
// request.
type AdmissionWrite interface {
	admission.Attributes
	admission.ObjectInterfaces
	// Replace sets the object to one that Mutate has made, in any version. Mutate has to set
	// its defaults first, with GetObjectDefaulter.
	Replace(obj runtime.Object) error
}

// admissionFunctions is an Admission as a restadmission.Plugin.
type admissionFunctions struct{ Admission }

// Mutate implements restadmission.Plugin.
func (j admissionFunctions) Mutate(ctx context.Context, w *restadmission.Write) error {
	return w.Explain(inspect.Function, restadmission.Mutating, "", func() error { return j.Admission.Mutate(ctx, w) })
}

// Validate implements restadmission.Plugin.
func (j admissionFunctions) Validate(ctx context.Context, w *restadmission.Write) error {
	return w.Explain(inspect.Function, restadmission.Validating, "", func() error { return j.Admission.Validate(ctx, w) })
}
