package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalversionvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/internal/resource"
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
	found := items{version: r.version}
	page, err := r.page(options, sel, &found)
	if err != nil {
		return err
	}
	texts, err := found.all()
	if err != nil {
		return err
	}
	return r.answerList(page, texts)
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
	revision  int64
	next      string // the continue token, empty at the end
	remaining *int64 // how many follow, if that is known
}

// receiver takes the objects of a page, one after the other.
type receiver interface {
	// expect says that there will be so many.
	expect(n int)
	add(record store.Record)
}

// records is a receiver that takes them as they are.
type records []store.Record

func (r *records) expect(n int)            { *r = slices.Grow(*r, n) }
func (r *records) add(record store.Record) { *r = append(*r, record) }

// page reads what the options ask for, into the receiver.
func (r *request) page(o *internalversion.ListOptions, sel selector, into receiver) (page, error) {
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
	within := prefix
	key, one := sel.one(r.namespace())
	if one {
		// A real server reads the one object that is meant. No other key can come
		// before it.
		within, limit = key, 1
	}
	taken := 0
	for {
		part, err := r.store.Scan(within, store.ListOptions{Start: start, Limit: limit, Revision: revision})
		if err != nil {
			return page{}, listError(err, o, start, prefix)
		}
		revision, p.revision = part.Revision, part.Revision
		if sel.all() {
			into.expect(part.Len())
		}
		quick := labelMatcher{selector: sel}
		for i := range part.Len() {
			if !sel.relabels() && !quick.matchesLabels(part.Index(i)) || !sel.matchesNames(part.Key(i)) {
				continue
			}
			record := part.Record(i)
			if ok, err := sel.matches(record); err != nil {
				return page{}, err
			} else if !ok {
				continue
			}
			into.add(record)
			taken++
			left := part.Remaining + int64(part.Len()-i-1)
			if limit > 0 && taken == limit && left > 0 && !one {
				if p.next, err = encodeContinue(record.Key+"\x00", prefix, revision); err != nil {
					return page{}, err
				}
				if sel.all() {
					p.remaining = &left
				}
				return p, nil
			}
		}
		if part.Remaining == 0 || one {
			return p, nil
		}
		start = part.Key(part.Len()-1) + "\x00"
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
		if t.joins() {
			return t.answerJoined(p, items)
		}
		obj, err := t.list(p, items)
		if err != nil {
			return err
		}
		return r.answerTransformed(http.StatusOK, t, obj)
	}
	text := listText{version: r.version, page: p, items: items}
	if !r.output.plain {
		return r.answer(http.StatusOK, strings.Join(slices.Collect(text.pieces), ""))
	}
	text.end = "\n"
	size := 0
	for piece := range text.pieces {
		size += len(piece)
	}
	r.writePieces(http.StatusOK, runtime.ContentTypeJSON, size, text.pieces)
	return nil
}

// listText is the JSON of a list. Only its pieces are there, never the whole of it.
type listText struct {
	version *resource.Version
	page    page
	items   []string
	end     string // what follows the JSON
}

// pieces are what the JSON is to be joined of.
func (l listText) pieces(yield func(string) bool) {
	head, tail := listEnvelope(l.version, l.page)
	// In a list, typed objects are without kind and apiVersion.
	typeMeta := ""
	if l.version.Typed {
		typeMeta = typeMetaOf(l.version)
	}
	more := yield(head)
	for i, item := range l.items {
		if !more {
			return
		}
		if i > 0 {
			more = yield(",")
		}
		if rest, ok := strings.CutPrefix(item, typeMeta); ok && typeMeta != "" {
			more = more && yield("{")
			item = rest
		}
		more = more && yield(item)
	}
	if more {
		yield(tail + l.end)
	}
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
