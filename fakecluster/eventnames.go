package fakecluster

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// eventNames gives the Events of a cluster in a bubble the names that they would have if time advanced. client-go names an Event
// by its object and the time in nanoseconds. A clock outside of bubbles is never the same for two of them; in a bubble it often is,
// and a server rejects all but the first with AlreadyExists, which recorders do not report. A later Event of the object at the
// same moment gets the next nanosecond. This is done to the requests of clients: the server does not rename anything.
//
// A recorder goes on with the name in the response. The exception is an Event that combines similar ones: its patches have the name
// that the recorder has sent.
type eventNames struct {
	mu       sync.Mutex
	sent     int64                // the last time at which an Event was sent
	last     map[string]int64     // by namespace and object: the time in the last name; only times from sent on
	combined map[combining]string // the new names of renamed Events that combine others
}

// combining is an Event that combines others, with the name that its recorder has sent.
type combining struct{ userAgent, namespace, name string }

// combinedPrefix begins the message of an Event that combines others: EventAggregatorByReasonMessageFunc of client-go.
const combinedPrefix = "(combined from similar events)"

// rename changes the name of an Event in a request: in a create, if an Event with this name was sent at the
// same moment; in the path of a patch, if that Event was renamed.
func (n *eventNames) rename(req *http.Request) (*http.Request, error) {
	create := req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/events")
	folder, name := path.Split(req.URL.Path)
	patch := req.Method == http.MethodPatch && strings.HasSuffix(folder, "/events/")
	if req.Body == nil || !create && !patch {
		return req, nil
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	changed := req.Clone(req.Context())
	if create {
		body = n.renamed(req, body)
	} else if bytes.Contains(body, []byte(`"message":"`+combinedPrefix)) {
		combined := combining{req.UserAgent(), path.Base(path.Dir(path.Dir(folder))), name}
		n.mu.Lock()
		if to, ok := n.combined[combined]; ok {
			changed.URL.Path, changed.URL.RawPath = folder+to, ""
		}
		n.mu.Unlock()
	}
	changed.ContentLength = int64(len(body))
	changed.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	changed.Body, _ = changed.GetBody()
	return changed, nil
}

// renamed returns the body of a create with another name for the Event, or unchanged.
func (n *eventNames) renamed(req *http.Request, body []byte) []byte {
	mediaType, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil {
		return body
	}
	format, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		return body
	}
	obj, _, err := format.Serializer.Decode(body, nil, nil)
	if err != nil {
		return body // the server reports it
	}
	event, err := meta.Accessor(obj)
	if err != nil {
		return body
	}
	dot := strings.LastIndexByte(event.GetName(), '.') + 1
	object, now := event.GetName()[:dot], time.Now().UnixNano()
	if event.GetName()[dot:] != strconv.FormatInt(now, 16) {
		return body // not from a recorder, or sent again
	}
	next := n.next(event.GetNamespace()+"/"+object, now)
	if next == now {
		return body
	}
	sent := combining{req.UserAgent(), event.GetNamespace(), event.GetName()}
	event.SetName(object + strconv.FormatInt(next, 16))
	if e, ok := obj.(*corev1.Event); ok && strings.HasPrefix(e.Message, combinedPrefix) {
		n.mu.Lock()
		if n.combined == nil {
			n.combined = map[combining]string{}
		}
		n.combined[sent] = e.Name
		n.mu.Unlock()
	}
	var changed bytes.Buffer
	if err := format.Serializer.Encode(obj, &changed); err != nil {
		return body
	}
	return changed.Bytes()
}

// next returns the time for the name of an Event of an object.
func (n *eventNames) next(object string, now int64) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sent != now {
		n.sent = now
		maps.DeleteFunc(n.last, func(_ string, last int64) bool { return last < now })
	}
	if n.last == nil {
		n.last = map[string]int64{}
	}
	next := now
	if last, ok := n.last[object]; ok {
		next = max(now, last+1)
	}
	n.last[object] = next
	return next
}
