package rest

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// list answers with the objects of one namespace, or of all namespaces.
func list(r *request) error {
	options, sel, err := r.selection()
	if err != nil {
		return err
	}
	r.listAsOf(options)
	uncached := r.version.Conversions.IsBehind() && options.ResourceVersion == "" && options.Continue == ""
	page, texts, err := r.readTexts(options, sel, uncached)
	var unreadable *view.UnreadableError
	if errors.As(err, &unreadable) {
		page, texts, err = r.cachedTexts(options, sel, unreadable)
	}
	if err != nil {
		return err
	}
	return r.answerList(page, texts)
}

// readTexts reads the page of a list, and the texts of its records. If fresh is true, it converts all of them
// again.
func (r *request) readTexts(options *internalversion.ListOptions, sel view.Selector, fresh bool) (view.Page, []string, error) {
	found := view.NewTexts(r.version)
	if fresh {
		found = view.NewFreshTexts(r.version)
	}
	page, err := r.readPage(options, sel, found)
	if err != nil {
		return page, nil, err
	}
	texts, err := r.textsOf(found)
	return page, texts, err
}

// readPage reads the records of a list, once its revision exists.
func (r *request) readPage(options *internalversion.ListOptions, sel view.Selector, into view.Receiver) (view.Page, error) {
	page, err := r.readPresentPage(options, sel, into)
	if r.awaitRevision(err) {
		return r.readPresentPage(options, sel, into)
	}
	return page, err
}

// readPresentPage reads the records of a list, without waiting for its revision. A selector may need objects
// that a webhook converts.
func (r *request) readPresentPage(options *internalversion.ListOptions, sel view.Selector, into view.Receiver) (view.Page, error) {
	if r.version.Resource.ConvertedByWebhook {
		return compute(r, func() (view.Page, error) {
			return view.ReadPage(r.ctx, r.cluster.Store, r.cluster.Expired(), r.namespace(), options, sel, into)
		})
	}
	return view.ReadPage(r.ctx, r.cluster.Store, r.cluster.Expired(), r.namespace(), options, sel, into)
}

// textsOf returns the texts of the records of a list.
func (r *request) textsOf(found *view.Texts) ([]string, error) {
	if r.version.Resource.ConvertedByWebhook || found.Left() > largeAnswer {
		return compute(r, found.All)
	}
	return found.All()
}

// selection returns the options of a list, and the selector of its objects.
func (r *request) selection() (*internalversion.ListOptions, view.Selector, error) {
	o, err := r.listOptions()
	if err != nil {
		return nil, view.Selector{}, err
	}
	sel, err := view.NewSelector(r.version, o, func(record store.Record) (string, error) { return view.Text(r.version, record) })
	return o, sel, err
}
