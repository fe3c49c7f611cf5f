package rest

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

// ignoreReadErrors is the verb that roles must allow to a user who deletes an object that cannot be read.
const ignoreReadErrors = "unsafe-delete-ignore-read-errors"

// ignoresReadErrors reports whether the options of a delete ask to ignore errors in reading the object.
func ignoresReadErrors(options *metav1.DeleteOptions) bool {
	ignore := options.IgnoreStoreReadErrorWithClusterBreakingPotential
	return ignore != nil && *ignore
}

// deleteUnreadable deletes an object for a client that asks to ignore errors in reading it. The response is a
// Status without the object.
func (d deletes) deleteUnreadable(r *request, options *metav1.DeleteOptions) error {
	if audit.AuditContextFrom(r.ctx) != nil {
		audit.AddAuditAnnotation(r.ctx, "apiserver.k8s.io/unsafe-delete-ignore-read-error", "")
	}
	if r.version.Deletion.OnlyReadable {
		return apierrors.NewInternalError(errors.New("no unsafe deleter provided, can not honor ignoreStoreReadErrorWithClusterBreakingPotential"))
	}
	if err := d.mayIgnoreReadErrors(r, options); err != nil {
		return err
	}
	if _, err := r.run(r.remove(options)); err != nil {
		return err
	}
	status := &metav1.Status{
		Status: metav1.StatusSuccess, Code: http.StatusOK,
		Details: &metav1.StatusDetails{Name: r.info.Name, Kind: r.version.Resource.Names.Kind},
	}
	encodeObject(r.w, r.http, http.StatusOK, status, r.form)
	return nil
}

// mayIgnoreReadErrors returns an error if the user may delete objects, but not objects that cannot be read.
func (h *handler) mayIgnoreReadErrors(r *request, options *metav1.DeleteOptions) error {
	by, ok := apirequest.UserFrom(r.ctx)
	if !ok || by == authentication.Admin {
		return nil
	}
	kind := r.version.GroupVersion().WithKind(r.version.Resource.Names.Kind)
	deleted := admission.NewAttributesRecord(nil, nil, kind, r.info.Namespace, r.info.Name, r.version.GroupVersionResource(), r.info.Subresource, admission.Delete, options, len(options.DryRun) > 0, by)
	attributes := authorizer.AttributesRecord{
		User: by, Verb: ignoreReadErrors, ResourceRequest: true, Namespace: r.info.Namespace, Name: r.info.Name,
		APIGroup: r.info.APIGroup, APIVersion: r.info.APIVersion, Resource: r.info.Resource,
	}
	decision, reason, err := h.cluster.Access.Authorize(r.ctx, attributes)
	h.cluster.Access.Requested.Note(attributes, decision == authorizer.DecisionAllow)
	switch {
	case err != nil:
		return admission.NewForbidden(deleted, fmt.Errorf("error while checking permission for %q, %w", ignoreReadErrors, err))
	case decision == authorizer.DecisionAllow:
		return nil
	}
	return admission.NewForbidden(deleted, fmt.Errorf("not permitted to do %q, reason: %s", ignoreReadErrors, reason))
}
