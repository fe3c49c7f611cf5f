package rest

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fakecluster/fakecluster/internal/view"
)

// deletecollection deletes the objects that a list with the same options would
// return, and responds with them. It is not a transaction: objects that others delete
// meanwhile are left out, and after an error the remaining objects are not deleted.
func deletecollection(r *request) error {
	list, sel, err := r.selection()
	if err != nil {
		return err
	}
	options, err := r.deleteOptions()
	if err != nil {
		return err
	}
	if ignoresReadErrors(options) {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", field.ErrorList{
			field.Invalid(field.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential"), true, "is not allowed with DELETECOLLECTION, try again after removing the option"),
		})
	}
	var found view.Records
	p, err := r.readPage(list, sel, &found)
	if err != nil {
		return err
	}
	shown := view.NewTexts(r.version)
	for _, record := range found {
		shown.Add(record)
	}
	texts, err := r.textsOf(shown)
	var unreadable *view.UnreadableError
	if errors.As(err, &unreadable) {
		if ready, down := r.version.Conversions.Behind(unreadable.First); !ready {
			return r.notReady(sel.All() && list.Limit > 0, down, unreadable)
		}
	}
	if err != nil {
		return err
	}
	items := make([]string, 0, len(found))
	for i, record := range found {
		w := r.remove(options)
		w.Collection = true
		w.Namespace, w.Name = r.version.Resource.NamespaceOf(record.Key), r.version.Resource.NameOf(record.Key)
		if _, err := r.run(w); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		items = append(items, texts[i])
	}
	r.w.Header().Set("Content-Type", r.form.Accepted.MediaType)
	return r.answerList(p, items)
}
