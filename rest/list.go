package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalversionvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/rest/resource"
	"github.com/fakecluster/fakecluster/store"
)

// list answers with the objects of a namespace, or of all.
func (r *request) list() error {
	options, err := r.listOptions()
	if err != nil {
		return err
	}
	sel, err := newSelector(r.version, options)
	if err != nil {
		return err
	}
	page, err := r.page(options, sel)
	if err != nil {
		return err
	}
	items, err := views(r.version, page.records)
	if err != nil {
		return err
	}
	return r.answerList(page, items)
}

// listOptions reads and checks the options of a list or watch. A name in the
// path of a watch is a field selector.
func (r *request) listOptions() (*internalversion.ListOptions, error) {
	options := &internalversion.ListOptions{}
	if err := r.parseQuery(options); err != nil {
		return nil, err
	}
	const watchList = true // the feature gate's default
	internalversion.SetListOptionsDefaults(options, watchList)
	if errs := internalversionvalidation.ValidateListOptions(options, watchList); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	name := r.info.Name
	if name == "" {
		return options, nil
	}
	if options.FieldSelector == nil || options.FieldSelector.Empty() {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", name)
	} else if selected, ok := options.FieldSelector.RequiresExactMatch("metadata.name"); !ok || selected != name {
		return nil, apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
	}
	return options, nil
}

// page is a part of a list, consistent at one revision.
type page struct {
	records   []store.Record
	revision  int64
	next      string // the continue token, empty at the end
	remaining *int64 // how many follow, if that is known
}

// page reads what the options ask for.
func (r *request) page(o *internalversion.ListOptions, sel selector) (page, error) {
	prefix := r.version.Resource.PrefixOf(r.namespace())
	limit := int(o.Limit)
	if o.ResourceVersion == "0" {
		limit = 0 // what a real server has in its cache it gives whole
	}
	revision, start, err := storage.ValidateListOptions(prefix, storage.APIObjectVersioner{}, storage.ListOptions{
		ResourceVersion: o.ResourceVersion, ResourceVersionMatch: o.ResourceVersionMatch, Recursive: true,
		Predicate: storage.SelectionPredicate{Limit: o.Limit, Continue: o.Continue},
	})
	if err != nil {
		return page{}, err
	}
	if revision == 0 {
		if err := r.notInFuture(o.ResourceVersion); err != nil {
			return page{}, err
		}
	}
	var p page
	if sel.one(r.namespace()) {
		limit = 0 // a real server reads the one object that is meant
	}
	for {
		part, err := r.store.List(prefix, store.ListOptions{Start: start, Limit: limit, Revision: revision})
		if err != nil {
			return page{}, listError(err, o, start, prefix)
		}
		revision, p.revision = part.Revision, part.Revision
		if sel.all() && p.records == nil {
			p.records = make([]store.Record, 0, len(part.Records))
		}
		for i, record := range part.Records {
			ok, err := sel.matches(record)
			if err != nil {
				return page{}, err
			}
			if !ok {
				continue
			}
			p.records = append(p.records, record)
			left := part.Remaining + int64(len(part.Records)-i-1)
			if limit > 0 && len(p.records) == limit && left > 0 {
				if p.next, err = encodeContinue(record.Key+"\x00", prefix, revision); err != nil {
					return page{}, err
				}
				if sel.all() {
					p.remaining = &left
				}
				return p, nil
			}
		}
		if part.Remaining == 0 {
			return p, nil
		}
		start = part.Records[len(part.Records)-1].Key + "\x00"
	}
}

const (
	listExpired = "The resourceVersion for the provided list is too old."

	continueExpired = "The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response to " +
		"retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - " +
		"objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)

// encodeContinue is the token to continue a list of a prefix at a key. The key in
// it begins with a slash, as in those of a real server.
func encodeContinue(key, prefix string, revision int64) (string, error) {
	return storage.EncodeContinue(key, strings.TrimSuffix(prefix, "/"), revision)
}

// listError puts a failed list into the words of the API.
func listError(err error, o *internalversion.ListOptions, start, prefix string) error {
	var compacted *store.CompactedError
	var future *store.FutureError
	switch {
	case errors.As(err, &future):
		return storage.NewTooLargeResourceVersionError(uint64(future.Requested), uint64(future.Current), 1)
	case errors.As(err, &compacted) && o.Continue != "":
		expired := apierrors.NewResourceExpired(continueExpired)
		token, err := encodeContinue(start, prefix, -1)
		if err != nil {
			return err
		}
		expired.ErrStatus.ListMeta.Continue = token
		return expired
	case errors.As(err, &compacted):
		return apierrors.NewResourceExpired(listExpired)
	}
	return err
}

// answerList joins the items into a list object.
func (r *request) answerList(p page, items []string) error {
	if t, err := r.transformer(); t != nil || err != nil {
		if err != nil {
			return err
		}
		obj, err := t.list(p, items)
		if err != nil {
			return err
		}
		return r.answerTransformed(http.StatusOK, t, obj)
	}
	head, tail := listEnvelope(r.version, p)
	if !r.output.plain {
		return r.answer(http.StatusOK, head+joinItems(r.version, items)+tail)
	}
	parts := make([]string, 0, 2*len(items)+3)
	parts = append(parts, head)
	for i, item := range items {
		if i > 0 {
			parts = append(parts, ",")
		}
		parts = append(parts, asItem(r.version, item)...)
	}
	r.writeText(http.StatusOK, "application/json", append(parts, tail, "\n")...)
	return nil
}

func joinItems(v *resource.Version, items []string) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, part := range asItem(v, item) {
			b.WriteString(part)
		}
	}
	return b.String()
}

// asItem is an object as a list shows it: without kind and apiVersion, if it is
// typed.
func asItem(v *resource.Version, text string) []string {
	if !v.Typed {
		return []string{text}
	}
	if rest, ok := strings.CutPrefix(text, typeMetaOf(v)); ok {
		return []string{"{", rest}
	}
	return []string{text}
}

// typeMetaOf is what the JSON of each typed object of a version begins with.
func typeMetaOf(v *resource.Version) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, v.Resource.Names.Kind, v.GroupVersion())
}

// listEnvelope is what surrounds the items of a list. Typed lists are in the
// order of the Go fields, others in that of sorted keys, as upstream encodes
// them.
func listEnvelope(v *resource.Version, p page) (head, tail string) {
	revision := strconv.FormatInt(p.revision, 10)
	if v.Typed {
		metadata, err := json.Marshal(metav1.ListMeta{ResourceVersion: revision, Continue: p.next, RemainingItemCount: p.remaining})
		if err != nil {
			panic(err) // strings and a number
		}
		return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, v.Resource.Names.ListKind, v.GroupVersion(), metadata), "]}"
	}
	remaining := ""
	if p.remaining != nil {
		remaining = fmt.Sprintf(`"remainingItemCount":%d,`, *p.remaining)
	}
	return fmt.Sprintf(`{"apiVersion":%q,"items":[`, v.GroupVersion()),
		fmt.Sprintf(`],"kind":%q,"metadata":{"continue":%q,%s"resourceVersion":%q}}`, v.Resource.Names.ListKind, p.next, remaining, revision)
}
