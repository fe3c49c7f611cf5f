package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// get answers with one object.
func get(r *request) error {
	var resourceVersion string
	if r.http.URL.RawQuery != "" {
		var err error
		if resourceVersion, err = r.checkGet(); err != nil {
			return err
		}
	}
	record, err := r.cluster.Store.GetAt(r.key(), r.asOf(resourceVersion))
	if err != nil {
		return r.readError(err)
	}
	text, err := r.textOf(record, resourceVersion)
	if err != nil {
		return view.Corrupt(r.version, r.info.Namespace, r.info.Name, err)
	}
	if text, err = r.project(text); err != nil {
		return err
	}
	return r.answer(http.StatusOK, text)
}

// textOf returns the text of a record, for a get with a resourceVersion.
func (r *request) textOf(record store.Record, resourceVersion string) (string, error) {
	if !r.version.Resource.ConvertedByWebhook {
		return view.Text(r.version, record)
	}
	return compute(r, func() (string, error) {
		if resourceVersion == "" {
			return view.Fresh(r.version, record)
		}
		text, err := view.Text(r.version, record)
		if err != nil {
			return r.cachedText(record, resourceVersion, err)
		}
		return text, nil
	})
}

// checkGet checks the options in the query of a get, and returns the resourceVersion in it.
func (r *request) checkGet() (resourceVersion string, err error) {
	if err := r.refuseExport(); err != nil {
		return "", err
	}
	var options metav1.GetOptions
	if err := r.parseQuery(&options); err != nil {
		return "", err
	}
	err = view.NotInFuture(r.cluster.Store, r.version.Resource, options.ResourceVersion)
	if r.awaitRevision(err) {
		err = view.NotInFuture(r.cluster.Store, r.version.Resource, options.ResourceVersion)
	}
	return options.ResourceVersion, err
}

// refuseExport rejects the parameter export, which servers no longer have.
func (r *request) refuseExport() error {
	if !strings.Contains(r.http.URL.RawQuery, "export") {
		return nil
	}
	export := r.http.URL.Query()["export"]
	if len(export) == 0 {
		return nil
	}
	var wanted bool
	if err := runtime.Convert_Slice_string_To_bool(&export, &wanted, nil); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("the export parameter cannot be parsed: %v", err))
	}
	if wanted {
		return apierrors.NewBadRequest("the export parameter, deprecated since v1.14, is no longer supported")
	}
	return nil
}

// readError returns the API's error for a failed read.
func (r *request) readError(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return apierrors.NewNotFound(r.version.Resource.GroupResource(), r.info.Name)
	}
	return err
}
