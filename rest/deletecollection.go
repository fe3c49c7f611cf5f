package rest

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fakecluster/fakecluster/internal/view"
)

// deleteCollectionPage is the limit of the list of a request without limit. A real server sets it before it
// reads the other parameters, so that a resourceVersion alone selects the objects at exactly this revision,
// as in a list with a limit.
const deleteCollectionPage = 10_000

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
	limited := list.Limit > 0
	if list.Limit == 0 {
		list.Limit = deleteCollectionPage
	}
	first, items, err := r.deletePage(list, sel, options)
	for next := first.Continue; err == nil && !limited && next != ""; {
		list.Continue, list.ResourceVersion, list.ResourceVersionMatch = next, "", ""
		var p view.Page
		var more []string
		p, more, err = r.deletePage(list, sel, options)
		next, items = p.Continue, append(items, more...)
	}
	if err != nil {
		return err
	}
	r.w.Header().Set("Content-Type", r.form.Accepted.MediaType)
	return r.answerList(first, items)
}

// deletePage deletes the objects of a page of a list, and returns the page and what was deleted.
func (r *request) deletePage(list *internalversion.ListOptions, sel view.Selector, options *metav1.DeleteOptions) (view.Page, []string, error) {
	var found view.Records
	p, err := r.readPage(list, sel, &found)
	if err != nil {
		return p, nil, err
	}
	shown := view.NewTexts(r.version)
	for _, record := range found {
		shown.Add(record)
	}
	texts, err := r.textsOf(shown)
	var unreadable *view.UnreadableError
	if errors.As(err, &unreadable) {
		if ready, down := r.version.Conversions.Behind(unreadable.First); !ready {
			return p, nil, r.notReady(sel.All() && list.Limit > 0, down, unreadable)
		}
	}
	if err != nil {
		return p, nil, err
	}
	items := make([]string, 0, len(found))
	for i, record := range found {
		w := r.remove(options)
		w.Collection = true
		w.Namespace, w.Name = r.version.Resource.NamespaceOf(record.Key), r.version.Resource.NameOf(record.Key)
		if _, err := r.run(w); err != nil && !apierrors.IsNotFound(err) {
			return p, nil, err
		}
		items = append(items, texts[i])
	}
	return p, items, nil
}
