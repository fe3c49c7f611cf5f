package rest

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// This file answers reads while a conversion webhook fails, as a real server does from its watch cache.
// Objects that were converted before can still be read. The cache stops at the first change that cannot be
// converted. After some time, or if the first list of the cache failed, there is no cache.

// cachedTexts answers a list of which some objects cannot be converted.
func (r *request) cachedTexts(o *internalversion.ListOptions, sel view.Selector, unreadable *view.UnreadableError) (view.Page, []string, error) {
	ready, down := r.version.Conversions.Behind(unreadable.First)
	exact := o.ResourceVersionMatch == metav1.ResourceVersionMatchExact || o.Limit > 0 && o.ResourceVersionMatch == "" && o.ResourceVersion != "0"
	if !ready || exact || o.Continue != "" || o.ResourceVersion == "" {
		// The cache does not have that state.
		var page view.Page
		var texts []string
		var err error = unreadable
		if r.version.Conversions.HasAny() { // the first reading has used them
			page, texts, err = r.readTexts(o, sel, true)
		}
		if errors.As(err, &unreadable) && !ready {
			err = r.notReady(sel.All() && o.Limit > 0, down, unreadable)
		}
		return page, texts, err
	}
	position := unreadable.First - 1
	if err := r.tooLarge(o.ResourceVersion, position); err != nil {
		return view.Page{}, nil, err
	}
	past := *o
	if o.ResourceVersion == "0" {
		past.Limit = 0
	}
	past.ResourceVersion, past.ResourceVersionMatch = strconv.FormatInt(position, 10), metav1.ResourceVersionMatchExact
	page, texts, err := r.readTexts(&past, sel, false)
	var again *view.UnreadableError
	if errors.As(err, &again) || apierrors.IsResourceExpired(err) {
		return page, nil, r.notReady(false, 0, unreadable)
	}
	return page, texts, err
}

// notReady is the error of a read from a cache that is not initialized. If uncached is true, a real server
// reads without the cache, and the error is that of the webhook.
func (r *request) notReady(uncached bool, down time.Duration, unreadable *view.UnreadableError) error {
	if uncached {
		return unreadable
	}
	message := fmt.Sprintf("storage is (re)initializing: failed to list <unspecified>: %v", unreadable)
	return faultinjection.Answer(apierrors.NewTooManyRequests(message, resource.RetryAfter(down)), unreadable.Err)
}

// tooLarge returns the error of a read that needs a newer state than the cache has; nil: it does not.
func (r *request) tooLarge(resourceVersion string, position int64) error {
	wanted, err := storage.APIObjectVersioner{}.ParseResourceVersion(resourceVersion)
	if err == nil && wanted > uint64(position) {
		err = storage.NewTooLargeResourceVersionError(wanted, uint64(position), 1)
	}
	return err
}

// cachedText returns the text of a record that cannot be converted, or of the one before it, for a get with a resourceVersion.
func (r *request) cachedText(record store.Record, resourceVersion string, because error) (string, error) {
	var corrupt *resource.CorruptError
	if !errors.As(because, &corrupt) {
		return "", because
	}
	if ready, _ := r.version.Conversions.Behind(record.Revision); !ready {
		return "", because
	}
	if err := r.tooLarge(resourceVersion, record.Revision-1); err != nil {
		return "", err
	}
	former, err := r.cluster.Store.GetAt(record.Key, record.Revision-1)
	if err != nil {
		return "", r.readError(err)
	}
	return view.Text(r.version, former)
}

// beginCached returns the revision at which a watch begins if the cache is behind, and 0 otherwise. It fails
// if there is no cache.
func (w watches) beginCached(r *request, o *internalversion.ListOptions, initial bool) (int64, error) {
	conversions := r.version.Conversions
	if conversions == nil || !initial && conversions.Began() {
		return 0, nil
	}
	present := view.NewTexts(r.version)
	scan, err := r.cluster.Store.Scan(r.version.Resource.Prefix, store.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range scan.Len() {
		present.Add(scan.Record(i))
	}
	_, err = r.textsOf(present)
	var unreadable *view.UnreadableError
	if !errors.As(err, &unreadable) {
		return 0, err
	}
	faultinjection.Observe(r.ctx, err)
	ready, down := conversions.Behind(unreadable.First)
	if !ready {
		return 0, r.notReady(false, down, unreadable)
	}
	return unreadable.First - 1, nil
}
