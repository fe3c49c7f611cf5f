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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/internal/resource"
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
	stream.selector.view = stream.viewOnce
	if info.MediaType != runtime.ContentTypeJSON {
		stream.mediaType += ";stream=watch"
		stream.binary = newBinaryFrames(r.version, info)
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
	binary    *binaryFrames // nil: JSON, one event after the other
	buffer    []byte

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
		record := initial.Record(i)
		if ok, err := s.selector.matches(record); err != nil {
			return err
		} else if !ok {
			continue
		}
		if err := s.send(watch.Added, record, 0); err != nil {
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
		if e.Record.Key == s.version.Resource.Definition.Key && e.Type == store.Deleted || redefinedSince(e.Previous.Value, e.Record.Value) {
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
		return s.send(watch.Modified, e.Record, e.Record.Revision)
	case is:
		return s.send(watch.Added, e.Record, e.Record.Revision)
	case was && e.Type == store.Deleted:
		return s.send(watch.Deleted, e.Record, e.Record.Revision)
	case was:
		// It changed out of sight: what is sent is how it looked before, at the
		// revision of the change.
		return s.send(watch.Deleted, *e.Previous, e.Record.Revision)
	}
	return nil
}

// send sends an object under the revision of a change; of none, if it was there when
// the watch began. In a stream of Tables only the first has headers.
func (s *watchStream) send(kind watch.EventType, record store.Record, change int64) error {
	seen := func(text string) string {
		if change > 0 && change != record.Revision {
			return withResourceVersion(text, change)
		}
		return text
	}
	if s.transform == nil && s.binary == nil {
		if text, ok := viewOf(s.version, record); ok {
			return s.write(kind, seen(text))
		}
	}
	frame := func() (string, error) {
		text, err := s.viewOnce(record)
		if err != nil {
			return "", err
		}
		return s.frame(kind, seen(text))
	}
	var text string
	var err error
	if change == 0 {
		text, err = frame()
	} else {
		text, err = s.frames.get(change, s.frameKey(kind), frame)
	}
	if err != nil {
		return err
	}
	return s.writeFrame(text)
}

// viewOnce is the JSON of a stored object in the version. If the object has to be
// converted for it, all watchers share that, too.
func (s *watchStream) viewOnce(record store.Record) (string, error) {
	if text, ok := viewOf(s.version, record); ok {
		return text, nil
	}
	return s.frames.get(record.Revision, frameKey{version: s.version}, func() (string, error) { return view(s.version, record) })
}

// frameKey is what decides how the frame of a change looks.
func (s *watchStream) frameKey(kind watch.EventType) frameKey {
	key := frameKey{kind: kind, version: s.version, mediaType: s.mediaType, pretty: s.output.pretty}
	if s.transform != nil {
		key.target = *s.output.Convert
		if options := s.transform.table; options != nil {
			key.include, key.headers, key.second = options.IncludeObject, !options.NoHeaders, time.Now().Unix()
		}
	}
	return key
}

// frame is an event about an object of the version as the client wants to see it.
func (s *watchStream) frame(kind watch.EventType, text string) (string, error) {
	switch {
	case s.transform == nil && s.binary == nil:
		return jsonFrame(kind, text), nil
	case s.transform == nil:
		return s.binary.frame(kind, text)
	}
	obj, err := s.transform.one(text)
	if err != nil {
		return "", err
	}
	out, err := s.transform.encode(obj)
	if err != nil {
		return "", err
	}
	if s.binary != nil {
		return s.binary.frameOf(kind, out)
	}
	return jsonFrame(kind, strings.TrimSuffix(string(out), "\n")), nil
}

func jsonFrame(kind watch.EventType, text string) string {
	return `{"type":"` + string(kind) + `","object":` + text + "}\n"
}

// errGone ends a watch whose client does not read any more.
var errGone = errors.New("the client has gone")

// writeFrame writes what frame has made.
func (s *watchStream) writeFrame(text string) error {
	if s.transform != nil && s.transform.table != nil {
		s.transform.table.NoHeaders = true
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return errGone
	}
	return nil
}

// write writes an event as JSON in one write, from a buffer that is used again: it
// would be a copy for each watcher otherwise.
func (s *watchStream) write(kind watch.EventType, text string) error {
	b := append(s.buffer[:0], `{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","object":`...)
	b = append(b, text...)
	b = append(b, "}\n"...)
	if len(b) <= maxWatchBuffer {
		s.buffer = b
	}
	if _, err := s.w.Write(b); err != nil {
		return errGone
	}
	return nil
}

// maxWatchBuffer is how large a buffer a watch keeps.
const maxWatchBuffer = 32 << 10

func (s *watchStream) flush() { s.w.(http.Flusher).Flush() }

// sendBookmark tells the client how far it has seen everything.
func (s *watchStream) sendBookmark(revision int64, initialEventsEnd bool) error {
	text, err := bookmark(s.version, revision, initialEventsEnd)
	if err != nil {
		return err
	}
	if text, err = s.frame(watch.Bookmark, text); err != nil {
		return err
	}
	return s.writeFrame(text)
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
	text, err := s.errorFrame(toStatus(err))
	if err != nil {
		return
	}
	_ = s.writeFrame(text)
	s.flush()
}

// errorFrame is an event with a Status, which is shown as it is in every view.
func (s *watchStream) errorFrame(status *metav1.Status) (string, error) {
	if s.binary != nil {
		return s.binary.frameOfObject(watch.Error, status)
	}
	text, err := json.Marshal(status)
	return jsonFrame(watch.Error, string(text)), err
}
