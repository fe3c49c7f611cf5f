package rest

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
)

// deletes serves the verb delete.
type deletes struct {
	// mayIgnoreReadErrors returns an error if the user may delete objects, but not objects that cannot be
	// read.
	mayIgnoreReadErrors func(r *request, options *metav1.DeleteOptions) error
}

// deleteOne deletes an object. If it has finalizers or a grace period, deleteOne only begins the deletion.
func (d deletes) deleteOne(r *request) error {
	options, err := r.deleteOptions()
	if err != nil {
		return err
	}
	if forbids := r.version.Deletion.Forbids; forbids != nil {
		if err := forbids(r.info.Name); err != nil {
			return err
		}
	}
	if ignoresReadErrors(options) {
		return d.deleteUnreadable(r, options)
	}
	result, err := r.run(r.remove(options))
	if err != nil {
		return err
	}
	if !result.Deleted || result.Shown || result.Version.Deletion.AnswersObject {
		code := http.StatusOK
		if orphan := write.OrphanDependents(options); !result.Deleted && orphan != nil && !*orphan {
			code = http.StatusAccepted
		}
		return r.answer(code, result.Text)
	}
	status, err := result.DeletedStatus()
	if err != nil {
		return err
	}
	// The client requests a form of the object, such as a Table. The Status comes as it
	// is, in that media type.
	encodeObject(r.w, r.http, http.StatusOK, status, r.form)
	return nil
}

// remove returns the write that deletes the object that the path names.
func (r *request) remove(options *metav1.DeleteOptions) *write.Request {
	return r.write(write.Delete{Options: options}, write.Options{DryRun: options.DryRun})
}

// deleteOptions returns the options of a delete: those in the body or, without one, those in the query.
func (r *request) deleteOptions() (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	body, err := r.readBody()
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		if err := r.parseQuery(options); err != nil {
			return nil, err
		}
	} else {
		sent, err := decodeDeleteOptions(r.http, body, options)
		if err != nil {
			return nil, err
		}
		observe.From(r.ctx).Object(options, sent.GroupVersion(), r.version.GroupVersionResource(), r.info.Subresource, metainternalversionscheme.Codecs)
	}
	if !resource.ReportsCorrupt() {
		options.IgnoreStoreReadErrorWithClusterBreakingPotential = nil
	}
	if errs := metav1validation.ValidateDeleteOptions(options); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	if text := r.version.Deletion.Warning; text != "" && !ignoresReadErrors(options) && options.PropagationPolicy == nil && write.OrphanDependents(options) == nil {
		warning.AddWarning(r.ctx, "", text)
	}
	return options, nil
}
