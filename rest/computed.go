package rest

import (
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// computedVerbs are the verbs of a kind whose objects are computed on read and never stored.
var computedVerbs = map[string]verb{"get": getComputed, "list": listComputed, "watch": watchComputed}

// getComputed answers with a computed object.
func getComputed(r *request) error {
	if err := r.refuseExport(); err != nil {
		return err
	}
	if err := r.parseQuery(&metav1.GetOptions{}); err != nil {
		return err
	}
	res := r.version.Resource
	i := slices.IndexFunc(r.version.Unstored.Computed, func(record store.Record) bool { return res.NameOf(record.Key) == r.info.Name })
	if i < 0 {
		return apierrors.NewNotFound(schema.GroupResource{Group: res.Group, Resource: res.Names.Singular}, r.info.Name)
	}
	return r.answer(http.StatusOK, r.version.Unstored.Computed[i].Value)
}

// listComputed answers with the computed objects, all on one page.
func listComputed(r *request) error {
	_, sel, err := r.selection()
	if err != nil {
		return err
	}
	items := []string{}
	for _, record := range r.version.Unstored.Computed {
		if ok, err := sel.Matches(record); err != nil {
			return err
		} else if ok {
			items = append(items, record.Value)
		}
	}
	return r.answerList(view.Page{}, items)
}

// watchComputed refuses to watch what does not change.
func watchComputed(r *request) error {
	if _, _, err := r.selection(); err != nil {
		return err
	}
	return apierrors.NewMethodNotSupported(r.version.Resource.GroupResource(), "watch")
}
