package view

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// Page has the metadata of a list, whose objects are all of one revision.
type Page struct {
	Revision int64 // 0: the objects are not stored
	// Continue is the token with which to request the next page. It is empty on the last
	// page.
	Continue string
	// Remaining is the number of objects after the page; nil: not counted.
	Remaining *int64
}

// resourceVersion returns the resourceVersion of the list; "" for objects that are not stored.
func (p Page) resourceVersion() string {
	if p.Revision == 0 {
		return ""
	}
	return formatRevision(p.Revision)
}

// ReadPage reads the records of a list into the receiver: those that the selector matches, in a namespace or, if
// namespace is empty, in all. Lists at revisions before expired are too old, even if the store still has them. ReadPage
// ends with the context.
func ReadPage(ctx context.Context, s *store.Store, expired int64, namespace string, o *internalversion.ListOptions, sel Selector, into Receiver) (Page, error) {
	if o.Continue == "" {
		if err := isRevision(s, sel.version.Resource, o.ResourceVersion); err != nil {
			return Page{}, err
		}
	}
	var key string // of the only object
	var one bool
	if o.Continue == "" {
		namespace = sel.narrowed(namespace)
		key, one = sel.one(namespace)
	}
	prefix := sel.version.Resource.PrefixOf(namespace)
	limit := int(o.Limit)
	if o.ResourceVersion == "0" && !sel.version.Resource.Uncached {
		limit = 0 // a real server answers from its cache here, which ignores the limit
	}
	// As on a real server, a limit is ignored for a selector that names the object.
	revision, start, err := storage.ValidateListOptions(prefix, storage.APIObjectVersioner{}, storage.ListOptions{
		ResourceVersion: o.ResourceVersion, ResourceVersionMatch: o.ResourceVersionMatch, Recursive: !one,
		Predicate: storage.SelectionPredicate{Limit: o.Limit, Continue: o.Continue},
	})
	if err != nil {
		return Page{}, err
	}
	if revision > 0 && revision < expired {
		return Page{}, listError(&store.CompactedError{Requested: revision, Oldest: expired}, sel.version.Resource, o, start, prefix)
	}
	if revision == 0 {
		if err := NotInFuture(s, sel.version.Resource, o.ResourceVersion); err != nil {
			return Page{}, err
		}
	}
	var p Page
	within := prefix
	if one {
		// Read that object alone, as a real server does. No other key can come before it.
		within, limit = key, 1
	}
	taken := 0
	for {
		part, err := s.Scan(within, store.ListOptions{Start: start, Limit: limit, Revision: revision})
		if err != nil {
			return Page{}, listError(err, sel.version.Resource, o, start, prefix)
		}
		revision, p.Revision = part.Revision, part.Revision
		if sel.All() {
			into.Expect(part.Len())
		}
		quick := labelMatcher{Selector: sel}
		for i := range part.Len() {
			if !sel.relabels() && !quick.matchesLabels(part.Index(i)) || !sel.matchesNames(part.Key(i)) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return Page{}, err
			}
			record := part.Record(i)
			if ok, err := sel.Matches(record); err != nil {
				if _, unreadable := decodeEach(sel.version, []store.Record{record}); unreadable != nil {
					err = unreadable
				}
				return Page{}, err
			} else if !ok {
				continue
			}
			into.Add(record)
			taken++
			left := part.Remaining + int64(part.Len()-i-1)
			if limit > 0 && taken == limit && left > 0 && !one {
				if p.Continue, err = encodeContinue(record.Key+"\x00", prefix, revision); err != nil {
					return Page{}, err
				}
				if sel.All() {
					p.Remaining = &left
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

// isRevision returns an error for a resourceVersion that does not fit into an int64. Another function reports one that
// is not a number.
func isRevision(s *store.Store, r *resource.Resource, resourceVersion string) error {
	wanted, err := storage.APIObjectVersioner{}.ParseResourceVersion(resourceVersion)
	if err == nil && wanted > math.MaxInt64 {
		return tooLarge(r, wanted, uint64(s.Revision()))
	}
	return nil
}

// NotInFuture returns an error for a resourceVersion that is newer than the store.
func NotInFuture(s *store.Store, r *resource.Resource, resourceVersion string) error {
	if resourceVersion == "" || resourceVersion == "0" {
		return nil
	}
	wanted, err := storage.APIObjectVersioner{}.ParseResourceVersion(resourceVersion)
	if err != nil && r.Uncached {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	if err != nil {
		return err
	}
	if current := uint64(s.Revision()); wanted > current {
		return tooLarge(r, wanted, current)
	}
	return nil
}

// tooLarge returns the error for a revision that does not exist yet. Like the cache of a real server, it says when to
// try again.
func tooLarge(r *resource.Resource, wanted, current uint64) error {
	seconds := 1
	if r.Uncached {
		seconds = 0
	}
	return storage.NewTooLargeResourceVersionError(wanted, current, seconds)
}

const (
	listExpired = "The resourceVersion for the provided list is too old."

	continueExpired = "The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response to " +
		"retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - " +
		"objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)

// encodeContinue returns the token with which a list of a prefix continues at a key. The key in it begins with a slash,
// as on a real server.
func encodeContinue(key, prefix string, revision int64) (string, error) {
	return storage.EncodeContinue(key, strings.TrimSuffix(prefix, "/"), revision)
}

// listError returns the error of the API for a failed list.
func listError(err error, r *resource.Resource, o *internalversion.ListOptions, start, prefix string) error {
	var compacted *store.CompactedError
	var future *store.FutureError
	switch {
	case errors.As(err, &future):
		return tooLarge(r, uint64(future.Requested), uint64(future.Current))
	case errors.As(err, &compacted) && o.Continue != "":
		expired := apierrors.NewResourceExpired(continueExpired)
		token, err := storage.EncodeContinue(start, prefix, -1) // etcd's own list ends its prefix in a slash
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
