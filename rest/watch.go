package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/rest/resource"
	"github.com/fakecluster/fakecluster/store"
)

// bookmarkPeriod is how often a watch that allows bookmarks gets one.
const bookmarkPeriod = time.Minute

// watch streams the changes to the objects of a namespace, of all, or to one
// object, until the client goes, the time is up, or the resource is defined
// anew.
func (r *request) watch() error {
	options, err := r.listOptions()
	if err != nil {
		return err
	}
	sel, err := newSelector(r.version, options)
	if err != nil {
		return err
	}
	transform, err := r.transformer()
	if err != nil {
		return err
	}
	info, err := negotiation.NegotiateOutputMediaTypeStream(r.Request, r.version.Serializer, r.version)
	if err != nil {
		return err
	}
	from, err := storage.APIObjectVersioner{}.ParseResourceVersion(options.ResourceVersion)
	if err != nil {
		return err
	}
	if _, ok := r.w.(http.Flusher); !ok {
		return apierrors.NewInternalError(fmt.Errorf("unable to start watch - can't get http.Flusher: %#v", r.w))
	}
	stream := &watchStream{request: r, selector: sel, options: options, mediaType: info.MediaType, transform: transform}
	if info.MediaType != runtime.ContentTypeJSON {
		stream.mediaType += ";stream=watch"
		stream.frames = newBinaryFrames(r.version, info, r.w)
	}
	ctx, stop := r.untilWatchEnds(options)
	defer stop()
	stream.run(ctx, int64(from))
	return nil
}

// untilWatchEnds is the time of a watch: the request's, at most timeoutSeconds,
// and none after the server closes.
func (r *request) untilWatchEnds(o *internalversion.ListOptions) (context.Context, func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	if o.TimeoutSeconds != nil && *o.TimeoutSeconds > 0 {
		ctx, cancel = context.WithTimeout(r.ctx, time.Duration(*o.TimeoutSeconds)*time.Second)
	}
	detach := context.AfterFunc(r.closing, cancel)
	return ctx, func() { detach(); cancel() }
}

// watchStream is one watch: a cursor over the changes of its objects, and one
// over those of the definition, which end it.
type watchStream struct {
	*request
	selector  selector
	options   *internalversion.ListOptions
	mediaType string
	transform *transformer  // nil: objects go as they are
	frames    *binaryFrames // nil: JSON, one event after the other

	changes    *store.Cursor
	definition *store.Cursor // nil for built-in resources
	after      int64         // changes up to this revision are not sent
	over       bool          // the resource is served in another way now
}

// run streams until the context ends or the watch has to.
func (s *watchStream) run(ctx context.Context, from int64) {
	// The watch begins before the client hears of it: what follows the answer's
	// first bytes is a change.
	initial, err := s.start(from)
	s.w.Header().Set("Content-Type", s.mediaType)
	s.w.WriteHeader(http.StatusOK)
	s.flush()
	if err == nil {
		err = s.sendInitial(initial)
	}
	if err == nil {
		err = s.follow(ctx)
	}
	if err != nil {
		s.sendError(err)
	}
}

// start positions the cursors. Without a revision to start from, it returns the
// present objects, which go first.
func (s *watchStream) start(from int64) (initial *store.Scan, err error) {
	sendInitial := from == 0
	if s.options.SendInitialEvents != nil {
		sendInitial = *s.options.SendInitialEvents
	}
	current := s.store.Revision()
	position := from
	if sendInitial || from == 0 || from > current {
		position = current
	}
	if sendInitial && from > current {
		return nil, storage.NewTooLargeResourceVersionError(uint64(from), uint64(current), 1)
	}
	s.after = max(from, position)
	prefix := s.version.Resource.PrefixOf(s.namespace())
	if sendInitial {
		present, err := s.store.Scan(prefix, store.ListOptions{})
		if err != nil {
			return nil, err
		}
		position, s.after = present.Revision, present.Revision
		initial = &present
	}
	if s.changes, err = s.store.Watch(prefix, position); err != nil {
		return nil, watchError(err)
	}
	if key := s.version.Resource.Definition.Key; key != "" {
		if s.definition, err = s.store.Watch(key, s.version.Resource.Definition.Revision); err != nil {
			// Its history is gone, and this is a new watch: start from now.
			if s.definition, err = s.store.Watch(key, 0); err != nil {
				return nil, watchError(err)
			}
		}
	}
	return initial, nil
}

// watchError puts a watch that cannot start or go on into the words of the API.
func watchError(err error) error {
	var compacted *store.CompactedError
	if errors.As(err, &compacted) {
		return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", compacted.Requested, compacted.Oldest))
	}
	return err
}

// sendInitial sends the objects that are there already, and the bookmark that
// says so.
func (s *watchStream) sendInitial(initial *store.Scan) error {
	if initial == nil {
		return nil
	}
	for i := range initial.Len() {
		if !s.selector.matchesLabels(initial.Index(i)) || !s.selector.matchesNames(initial.Key(i)) {
			continue
		}
		record := initial.Record(i)
		if ok, err := s.selector.matchesInside(record); err != nil {
			return err
		} else if !ok {
			continue
		}
		if err := s.send(watch.Added, record); err != nil {
			return err
		}
	}
	if s.options.AllowWatchBookmarks && s.options.SendInitialEvents != nil && *s.options.SendInitialEvents {
		if err := s.sendBookmark(initial.Revision, true); err != nil {
			return err
		}
	}
	s.flush()
	return nil
}

// follow sends changes as they come.
func (s *watchStream) follow(ctx context.Context) error {
	var bookmarks <-chan time.Time
	if s.options.AllowWatchBookmarks {
		ticker := time.NewTicker(bookmarkPeriod)
		defer ticker.Stop()
		bookmarks = ticker.C
	}
	var err error
	for ctx.Err() == nil {
		changed := s.changes.Changed()
		// The definition first: what its objects went through before it changed
		// is then sure to be sent.
		if s.over, err = s.redefined(); err != nil && !errors.Is(err, store.ErrClosed) {
			return watchError(err)
		}
		events, err := s.changes.Poll()
		if errors.Is(err, store.ErrClosed) {
			return nil
		}
		if err != nil {
			return watchError(err)
		}
		for _, e := range events {
			if err = s.sendEvent(e); err != nil {
				return err
			}
		}
		if len(events) > 0 {
			s.flush()
			continue
		}
		if s.over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-bookmarks:
			if err := s.sendBookmark(s.changes.Revision(), false); err != nil {
				return err
			}
			s.flush()
		}
	}
	return nil
}

// redefined tells whether the watch has to end because the resource is served in
// another way now: its spec or its names changed, or it is gone.
func (s *watchStream) redefined() (bool, error) {
	if s.definition == nil || s.over {
		return s.over, nil
	}
	events, err := s.definition.Poll()
	if err != nil {
		return false, err
	}
	for _, e := range events {
		if e.Record.Key == s.version.Resource.Definition.Key && e.Type == store.Deleted || e.Previous == nil || redefinedSince(e.Previous.Value, e.Record.Value) {
			return true, nil
		}
	}
	return false, nil
}

// sendEvent sends one change, as it looks through the selector.
func (s *watchStream) sendEvent(e *store.Event) error {
	if e.Record.Revision <= s.after {
		return nil
	}
	is, err := e.Type != store.Deleted, error(nil)
	if is {
		if is, err = s.selector.matches(e.Record); err != nil {
			return err
		}
	}
	was := e.Type != store.Created
	if was {
		if was, err = s.selector.matches(*e.Previous); err != nil {
			return err
		}
	}
	switch {
	case is && was:
		return s.send(watch.Modified, e.Record)
	case is:
		return s.send(watch.Added, e.Record)
	case was && e.Type == store.Deleted:
		return s.send(watch.Deleted, e.Record)
	case was:
		// It changed out of sight: what is sent is how it looked before, at the
		// revision of the change.
		gone := *e.Previous
		gone.Value = withResourceVersion(gone.Value, e.Record.Revision)
		return s.send(watch.Deleted, gone)
	}
	return nil
}

func (s *watchStream) send(kind watch.EventType, record store.Record) error {
	text, err := view(s.version, record)
	if err != nil {
		return err
	}
	return s.sendText(kind, text)
}

// sendText sends an object of the version as the client wants to see it. In a
// stream of Tables only the first has headers.
func (s *watchStream) sendText(kind watch.EventType, text string) error {
	if s.transform == nil && s.frames != nil {
		return s.frames.write(kind, text)
	}
	if s.transform == nil {
		return s.write(kind, text)
	}
	obj, err := s.transform.one(text)
	if err != nil {
		return err
	}
	out, err := s.transform.encode(obj)
	if err != nil {
		return err
	}
	if s.transform.table != nil {
		s.transform.table.NoHeaders = true
	}
	if s.frames != nil {
		return s.frames.writeEncoded(kind, out)
	}
	return s.write(kind, strings.TrimSuffix(string(out), "\n"))
}

// errGone ends a watch whose client does not read any more.
var errGone = errors.New("the client has gone")

func (s *watchStream) write(kind watch.EventType, text string) error {
	for _, part := range [...]string{`{"type":"`, string(kind), `","object":`, text, "}\n"} {
		if _, err := io.WriteString(s.w, part); err != nil {
			return errGone
		}
	}
	return nil
}

func (s *watchStream) flush() { s.w.(http.Flusher).Flush() }

// sendBookmark tells the client how far it has seen everything.
func (s *watchStream) sendBookmark(revision int64, initialEventsEnd bool) error {
	text, err := bookmark(s.version, revision, initialEventsEnd)
	if err != nil {
		return err
	}
	return s.sendText(watch.Bookmark, text)
}

// bookmark is an object with nothing but a kind and a resourceVersion.
func bookmark(v *resource.Version, revision int64, initialEventsEnd bool) (string, error) {
	obj := v.Codec.New()
	if err := (storage.APIObjectVersioner{}).UpdateObject(obj, uint64(revision)); err != nil {
		return "", err
	}
	if initialEventsEnd {
		if err := storage.AnnotateInitialEventsEndBookmark(obj); err != nil {
			return "", err
		}
	}
	text, err := v.Codec.Encode(obj)
	return string(text), err
}

// sendError ends the watch with a Status.
func (s *watchStream) sendError(err error) {
	if errors.Is(err, errGone) {
		return
	}
	status := toStatus(err)
	if s.frames != nil {
		_ = s.frames.writeObject(watch.Error, status)
		s.flush()
		return
	}
	text, err := json.Marshal(status)
	if err != nil {
		return
	}
	_ = s.write(watch.Error, string(text))
	s.flush()
}
