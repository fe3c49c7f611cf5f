package rest

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// bookmarkPeriod is how often a watch that allows bookmarks gets one. The cache of a real server sends them, so
// that resources without a cache have only the one that ends the initial events.
const bookmarkPeriod = time.Minute

// watchStream is one watch: a cursor over the changes of its objects, and one
// over those of the definition, which end it.
type watchStream struct {
	r        *request
	selector view.Selector
	options  *internalversion.ListOptions
	events   *view.Events
	out      frames
	buffer   []byte // of the frame that is written, used again for the next
	observe  *observe.Request

	began    int64 // the newest revision when the watch began
	initial  bool  // the present objects go first
	position int64 // of a cache that is behind; 0: it is not
	late     lateChanges

	changes *faultinjection.Watch
	after   int64 // changes up to this revision are not sent
	faults  *faultinjection.Engine
	dropped bool // a fault has ended the watch by breaking the connection
}

// run sends events until the context or the watch ends.
func (s *watchStream) run(ctx context.Context, from uint64) {
	// The cursor is positioned before the header is sent, so that the client gets every change after it has
	// read the header.
	initial, err := s.start(from)
	if s.changes != nil {
		defer s.changes.End()
	}
	s.observe.Reached(store.FirstRevision) // until the cursor has a revision
	s.out.begin(s.events.MediaType())
	if ctx.Err() != nil {
		return // a negative timeoutSeconds: no events, and no error either
	}
	if err == nil {
		err = s.sendInitial(ctx, initial)
		faultinjection.Observe(ctx, err)
		var corrupt *resource.CorruptError
		if errors.As(err, &corrupt) {
			return // a real server, whose cache cannot begin, says nothing
		}
	}
	if err == nil {
		err = s.follow(ctx)
		faultinjection.Observe(ctx, err)
	}
	s.dropped = errors.Is(err, faultinjection.ErrDropped)
	ends := s.dropped || errors.As(err, &view.UnshownError{}) // a real server says nothing of the latter
	if err != nil && !ends {
		s.sendError(err)
	}
}

// start positions the cursors. Without a revision to start from, it returns the
// present objects, which go first.
func (s *watchStream) start(wanted uint64) (initial *store.Scan, err error) {
	from := int64(min(wanted, math.MaxInt64)) // no revision comes after that
	sendInitial := s.initial
	current := s.r.cluster.Store.Revision()
	s.began = current
	if s.position > 0 {
		if s.options.ResourceVersion == "" {
			wanted = uint64(current) // such a watch begins with the newest state
		}
		if current = s.position; sendInitial && wanted > uint64(current) {
			return nil, storage.NewTooLargeResourceVersionError(wanted, uint64(current), 1)
		}
	}
	position := from
	if sendInitial || from == 0 || from > current {
		position = current
	}
	if sendInitial && from > current {
		return nil, storage.NewTooLargeResourceVersionError(wanted, uint64(current), 1)
	}
	s.after = max(from, position)
	prefix := s.r.version.Resource.PrefixOf(s.r.namespace())
	if sendInitial {
		present, err := s.r.cluster.Store.Scan(prefix, store.ListOptions{Revision: s.position})
		if err != nil {
			return nil, err
		}
		position, s.after = present.Revision, present.Revision
		initial = &present
	}
	if err := s.remembers(position); err != nil {
		return nil, s.watchError(err)
	}
	changes, err := s.r.cluster.Store.Watch(prefix, position)
	if err != nil {
		return nil, s.watchError(err)
	}
	var definition *store.Cursor // none for built-in resources
	if key := s.r.version.Resource.Definition.Key; key != "" {
		if definition, err = s.r.cluster.Store.Watch(key, s.r.version.Resource.Definition.Revision); err != nil {
			// Its history is gone, and this is a new watch: start from now.
			if definition, err = s.r.cluster.Store.Watch(key, 0); err != nil {
				return nil, s.watchError(err)
			}
		}
	}
	s.changes = s.faults.Watch(asFaultsSee(s.r.w, s.r.http), faultinjection.Source{
		Cursor: changes, Definition: definition, Ends: s.redefines, Shows: s.shown, Report: s.observe.Fault,
	})
	contextOf(s.r.http).flow.End()
	return initial, nil
}

// remembers fails with a store.CompactedError if a watch cannot start after a revision. What a real server
// watches in etcd, without a cache, ends with the history there: the first event that a compaction keeps is
// that of its own revision.
func (s *watchStream) remembers(revision int64) error {
	if expired := s.r.cluster.Expired(); s.r.version.Resource.Uncached && revision+1 < expired {
		return &store.CompactedError{Requested: revision, Oldest: expired}
	}
	return s.r.version.Resource.Remembers(revision)
}

// watchError returns the API's error for a watch that cannot start or go on.
func (s *watchStream) watchError(err error) error { return view.Expired(s.r.version.Resource, err) }

// sendInitial sends the present objects, and then the bookmark with the annotation k8s.io/initial-events-end.
func (s *watchStream) sendInitial(ctx context.Context, initial *store.Scan) error {
	if initial == nil {
		return nil
	}
	for i := range initial.Len() {
		record := initial.Record(i)
		if ok, err := s.selector.Matches(record); err != nil {
			return err
		} else if !ok {
			continue
		}
		if err := s.sendPresent(ctx, record); err != nil {
			return err
		}
	}
	if s.options.AllowWatchBookmarks && s.options.SendInitialEvents != nil && *s.options.SendInitialEvents {
		if err := s.sendBookmark(ctx, initial.Revision, true); err != nil {
			return err
		}
	}
	s.out.flush()
	return nil
}

// follow sends changes as they come.
func (s *watchStream) follow(ctx context.Context) error {
	var bookmarks <-chan time.Time
	if s.options.AllowWatchBookmarks && !s.r.version.Resource.Uncached {
		ticker := time.NewTicker(bookmarkPeriod)
		defer ticker.Stop()
		bookmarks = ticker.C
	}
	var late delayed
	defer late.stop()
	defer s.late.stop()
	for ctx.Err() == nil {
		changed := s.changes.Changed()
		if s.changes.Broken() {
			return faultinjection.ErrDropped
		}
		some, err := s.sendChanges(ctx)
		if errors.Is(err, store.ErrClosed) || errors.Is(err, errCacheBegins) {
			return nil
		}
		if err != nil {
			return err
		}
		if some {
			continue
		}
		if s.changes.Over() {
			return nil
		}
		s.observe.Reached(s.reached())
		select {
		case <-changed:
		case <-s.late.due():
		case <-s.changes.Wake():
		case <-late.next(s.changes):
		case <-ctx.Done():
		case <-bookmarks:
			if err := s.sendBookmark(ctx, s.reached(), false); err != nil {
				return err
			}
			s.out.flush()
		}
	}
	return nil
}

// sendChanges sends the changes that have come, and reports whether it has sent them all. A change that cannot be
// converted waits, with those after it.
func (s *watchStream) sendChanges(ctx context.Context) (some bool, err error) {
	events := s.late.take()
	if len(events) == 0 {
		if events, err = s.changes.Poll(); err != nil {
			return false, s.watchError(err)
		}
	}
	if len(events) == 0 {
		return false, nil
	}
	defer s.out.flush()
	for i, e := range events {
		sent, err := s.sendEvent(ctx, e)
		if isCorrupt(err) {
			faultinjection.Observe(ctx, err)
			return false, s.late.wait(s.r.version.Conversions, events[i:])
		}
		if err != nil {
			return false, err
		}
		if sent && s.changes.Sent() {
			return false, faultinjection.ErrDropped
		}
	}
	s.late.stop()
	return true, nil
}

// reached returns the revision up to which all changes have been sent.
func (s *watchStream) reached() int64 {
	if len(s.late.changes) > 0 {
		return s.late.changes[0].Record.Revision - 1
	}
	return s.changes.Revision()
}

// redefines reports whether a change ends the watch, because the resource is served in another way
// then: the spec or the names of its definition changed, or it is gone.
func (s *watchStream) redefines(e *store.Event) bool {
	if e.Record.Key != s.r.version.Resource.Definition.Key {
		return false // the name of another definition may begin with that of this one
	}
	return e.Type == store.Deleted || e.Type == store.Updated && redefinedSince(e.Previous.Value, e.Record.Value)
}

// redefinedSince reports whether a definition's spec or names differ between two
// of its states.
func redefinedSince(before, after string) bool {
	for _, path := range []string{"metadata.generation", "status.acceptedNames"} {
		if gjson.Get(before, path).Raw != gjson.Get(after, path).Raw {
			return true
		}
	}
	return false
}

// sendEvent sends the event of one change, and reports whether there is one.
func (s *watchStream) sendEvent(ctx context.Context, e *store.Event) (sent bool, err error) {
	kind, record, err := s.show(e)
	if err != nil || kind == "" {
		return false, err
	}
	return true, s.send(ctx, kind, *record, e.Record.Revision)
}

// show returns the event that the client gets for a change: an object that begins to match the selector is
// added, for example. The kind is empty if there is no event.
func (s *watchStream) show(e *store.Event) (kind watch.EventType, record *store.Record, err error) {
	if e.Record.Revision <= s.after {
		return "", nil, nil
	}
	exists := e.Type != store.Deleted
	if exists {
		if exists, err = s.selector.Matches(e.Record); err != nil {
			return "", nil, err
		}
	}
	existed := e.Type != store.Created
	if existed {
		if existed, err = s.selector.Matches(*e.Previous); err != nil {
			return "", nil, err
		}
	}
	switch {
	case exists && existed:
		return watch.Modified, &e.Record, nil
	case exists:
		return watch.Added, &e.Record, nil
	case existed && e.Type == store.Deleted:
		return watch.Deleted, s.removed(e), nil
	case existed:
		// The object no longer matches. The client gets its former state at the revision of
		// the change.
		return watch.Deleted, e.Previous, nil
	}
	return "", nil, nil
}

// removed returns the record that the event of a removed object has. If the removal came before the watch
// began, and a webhook has converted the record before it, that is the previous record.
func (s *watchStream) removed(e *store.Event) *store.Record {
	if _, ok := s.r.version.Conversions.Text(*e.Previous); ok && e.Record.Revision <= s.began && !s.r.version.Shows(e.Record) {
		return e.Previous
	}
	return &e.Record
}

// shown is show as package faultinjection needs it.
func (s *watchStream) shown(e *store.Event) (faultinjection.Shown, error) {
	kind, record, err := s.show(e)
	if err != nil || kind == "" {
		return faultinjection.Shown{}, err
	}
	res := s.r.version.Resource
	return faultinjection.Shown{Type: string(kind), Namespace: res.NamespaceOf(record.Key), Name: res.NameOf(record.Key)}, nil
}

// delayed is the timer of a watch whose events come late.
type delayed struct{ timer *time.Timer }

// next returns a channel that receives when the next event is due; nil if none waits.
func (d *delayed) next(w *faultinjection.Watch) <-chan time.Time {
	d.stop()
	due, waits := w.Due()
	if !waits {
		return nil
	}
	d.timer = time.NewTimer(time.Until(due))
	return d.timer.C
}

func (d *delayed) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

// errGone ends a watch whose client no longer reads.
var errGone = errors.New("the client has gone")

// sendPresent sends an object that was there when the watch began.
func (s *watchStream) sendPresent(ctx context.Context, record store.Record) error {
	frame, err := s.events.AppendPresent(ctx, s.buffer[:0], record)
	return s.deliver(frame, err)
}

// send sends an object under the revision of a change.
func (s *watchStream) send(ctx context.Context, kind watch.EventType, record store.Record, revision int64) error {
	frame, err := s.events.AppendChange(ctx, s.buffer[:0], kind, record, revision)
	return s.deliver(frame, err)
}

// deliver writes the frame of an event, unless err says that it could not be made. The history
// has the event before the client does.
func (s *watchStream) deliver(frame []byte, err error) error {
	if err == nil {
		s.observe.Sent(0, 1)
	}
	return s.write(frame, err)
}

// sendBookmark sends the revision up to which the client has got all changes.
func (s *watchStream) sendBookmark(ctx context.Context, revision int64, initialEventsEnd bool) error {
	frame, err := s.events.AppendBookmark(ctx, s.buffer[:0], revision, initialEventsEnd)
	return s.write(frame, err)
}

// sendError ends the watch with a Status.
func (s *watchStream) sendError(err error) {
	if errors.Is(err, errGone) {
		return
	}
	frame, err := s.events.AppendError(s.buffer[:0], view.Status(err))
	if s.write(frame, err) == nil {
		s.out.flush()
	}
}

// write writes a frame, unless err says that it could not be made. It keeps the buffer for
// the next frame; otherwise each watcher would copy each object.
func (s *watchStream) write(frame []byte, err error) error {
	if err != nil {
		return err
	}
	if len(frame) <= maxWatchBuffer {
		s.buffer = frame
	}
	if err := s.out.write(frame); err != nil {
		return errGone
	}
	return nil
}

// maxWatchBuffer is the size of the largest buffer that a watch keeps.
const maxWatchBuffer = 32 << 10
