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

// toldVerbs are the verbs of a kind whose objects are told of and not stored.
var toldVerbs = map[string]verb{"get": getTold, "list": listTold, "watch": watchTold}

// getTold answers with an object that is not stored.
func getTold(r *request) error {
	if err := r.refuseExport(); err != nil {
		return err
	}
	if err := r.parseQuery(&metav1.GetOptions{}); err != nil {
		return err
	}
	of := r.version.Resource
	i := slices.IndexFunc(r.version.Told, func(told store.Record) bool { return of.NameOf(told.Key) == r.info.Name })
	if i < 0 {
		return apierrors.NewNotFound(schema.GroupResource{Group: of.Group, Resource: of.Names.Singular}, r.info.Name)
	}
	return r.answer(http.StatusOK, r.version.Told[i].Value)
}

// listTold answers with the objects that are not stored, all on one page.
func listTold(r *request) error {
	_, sel, err := r.selection()
	if err != nil {
		return err
	}
	items := []string{}
	for _, told := range r.version.Told {
		if ok, err := sel.Matches(told); err != nil {
			return err
		} else if ok {
			items = append(items, told.Value)
		}
	}
	return r.answerList(view.Page{}, items)
}

// watchTold refuses to watch what does not change.
func watchTold(r *request) error {
	if _, _, err := r.selection(); err != nil {
		return err
	}
	return apierrors.NewMethodNotSupported(r.version.Resource.GroupResource(), "watch")
}
