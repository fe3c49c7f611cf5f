package clientgo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

var cronTabs = schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}

// cronTabServer serves the list and the watch of one resource, as much of them as a
// reflector requests.
type cronTabServer struct {
	streamingLists bool // whether it supports sendInitialEvents

	mu       sync.Mutex
	revision int
	oldest   int // watches from before it are answered with 410
	objects  map[string]object
	history  []change
	epoch    int           // a watch of an earlier one ends
	changed  chan struct{} // closed and replaced with any of the above
	requests []string
}

type object = map[string]any

type change struct {
	revision int
	event    object
}

func newCronTabServer() *cronTabServer {
	return &cronTabServer{objects: map[string]object{}, changed: make(chan struct{})}
}

func (s *cronTabServer) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func cronTab(name string, revision int, cronSpec string) object {
	return object{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": object{"name": name, "namespace": "default", "resourceVersion": strconv.Itoa(revision)},
		"spec":     object{"cronSpec": cronSpec},
	}
}

func (s *cronTabServer) put(name, cronSpec string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "ADDED"
	if _, exists := s.objects[name]; exists {
		kind = "MODIFIED"
	}
	s.revision++
	s.objects[name] = cronTab(name, s.revision, cronSpec)
	s.history = append(s.history, change{s.revision, object{"type": kind, "object": s.objects[name]}})
	s.notify()
}

func (s *cronTabServer) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	spec := s.objects[name]["spec"].(object)["cronSpec"].(string)
	s.history = append(s.history, change{s.revision, object{"type": "DELETED", "object": cronTab(name, s.revision, spec)}})
	delete(s.objects, name)
	s.notify()
}

// endWatches ends all watches; with forget it also compacts the history away.
func (s *cronTabServer) endWatches(forget bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	if forget {
		s.oldest = s.revision + 1
		s.history = nil
	}
	s.notify()
}

// takeRequests returns the requests since the last call.
func (s *cronTabServer) takeRequests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests
	s.requests = nil
	return r
}

func (s *cronTabServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	if q.Get("watch") != "true" {
		s.list(w)
		return
	}
	initial := q.Get("sendInitialEvents") == "true"
	if initial && !s.streamingLists {
		s.note("refused a streaming list")
		writeStatus(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is forbidden")
		return
	}
	s.watch(w, r, q.Get("resourceVersion"), initial)
}

func (s *cronTabServer) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, fmt.Sprintf(format, args...))
}

func (s *cronTabServer) list(w http.ResponseWriter) {
	s.note("list")
	s.mu.Lock()
	items := s.sorted()
	revision := strconv.Itoa(s.revision)
	s.mu.Unlock()
	json.NewEncoder(w).Encode(object{
		"apiVersion": "stable.example.com/v1", "kind": "CronTabList",
		"metadata": object{"resourceVersion": revision}, "items": items,
	})
}

// sorted is called with the lock held.
func (s *cronTabServer) sorted() []object {
	items := []object{}
	for _, o := range s.objects {
		items = append(items, o)
	}
	slices.SortFunc(items, func(a, b object) int {
		return int(a["metadata"].(object)["name"].(string)[0]) - int(b["metadata"].(object)["name"].(string)[0])
	})
	return items
}

func (s *cronTabServer) watch(w http.ResponseWriter, r *http.Request, from string, initial bool) {
	kind := "watch"
	if initial {
		kind = "streaming list"
	}
	s.note("%s from %q", kind, from)
	next, _ := strconv.Atoi(from)
	out := json.NewEncoder(w)

	s.mu.Lock()
	epoch := s.epoch
	if initial {
		for _, o := range s.sorted() {
			out.Encode(object{"type": "ADDED", "object": o})
		}
		next = s.revision
		out.Encode(object{"type": "BOOKMARK", "object": object{
			"apiVersion": "stable.example.com/v1", "kind": "CronTab",
			"metadata": object{"resourceVersion": strconv.Itoa(next), "annotations": object{metav1.InitialEventsAnnotationKey: "true"}},
		}})
	} else if next < s.oldest {
		s.mu.Unlock()
		writeStatus(w, http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
		return
	}
	s.mu.Unlock()
	flush(w)

	for {
		s.mu.Lock()
		var events []object
		for _, c := range s.history {
			if c.revision > next {
				events = append(events, c.event)
				next = c.revision
			}
		}
		changed, ended := s.changed, s.epoch != epoch
		s.mu.Unlock()
		if ended {
			return
		}
		for _, e := range events {
			out.Encode(e)
		}
		flush(w)
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func writeStatus(w http.ResponseWriter, code int32, reason metav1.StatusReason, message string) {
	w.WriteHeader(int(code))
	json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	})
}

// seen records the events that an informer sends to its handler.
type seen struct {
	mu     sync.Mutex
	events []string
}

func (s *seen) add(kind string, obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		kind, obj = kind+" (found by a relist)", gone.Obj
	}
	u := obj.(*unstructured.Unstructured)
	spec, _, _ := unstructured.NestedString(u.Object, "spec", "cronSpec")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf("%s %s %s", kind, u.GetName(), spec))
}

func (s *seen) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.events
	s.events = nil
	return e
}

func TestInformerRunsInABubble(t *testing.T) {
	for _, c := range []struct {
		rule           string
		streamingLists bool
		first, relist  []string
	}{
		{"list, then watch", false,
			[]string{"refused a streaming list", "list", `watch from "2"`},
			[]string{`watch from "5"`, "refused a streaming list", "list", `watch from "6"`}},
		{"streaming list", true,
			[]string{`streaming list from ""`},
			[]string{`watch from "5"`, `streaming list from "5"`}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newCronTabServer()
				server.streamingLists = c.streamingLists
				server.put("a", "1")
				server.put("b", "1")
				tr := InProcess(server)
				clients, err := NewClients(Access{Transport: tr}.RESTConfig())
				if err != nil {
					t.Fatal(err)
				}

				const resync = time.Hour
				factory := dynamicinformer.NewDynamicSharedInformerFactory(clients.Dynamic, resync)
				informer := factory.ForResource(cronTabs).Informer()
				var got seen
				informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
					AddFunc:    func(obj any) { got.add("add", obj) },
					UpdateFunc: func(_, obj any) { got.add("update", obj) },
					DeleteFunc: func(obj any) { got.add("delete", obj) },
				})
				stop := make(chan struct{})
				factory.Start(stop)
				factory.WaitForCacheSync(stop)

				expect := func(what string, requests, events []string) {
					t.Helper()
					synctest.Wait()
					if diff := cmp.Diff(requests, server.takeRequests()); diff != "" {
						t.Errorf("%s: requests (-want +got)\n%s", what, diff)
					}
					// A relist is a loop over a map in client-go.
					if diff := cmp.Diff(events, slices.Sorted(slices.Values(got.take()))); diff != "" {
						t.Errorf("%s: events (-want +got)\n%s", what, diff)
					}
				}
				expect("sync", c.first, []string{"add a 1", "add b 1"})

				server.put("a", "2")
				server.put("c", "1")
				server.remove("b")
				expect("watch", nil, []string{"add c 1", "delete b 1", "update a 2"})

				server.endWatches(false)
				time.Sleep(time.Minute) // the reflector backs off
				expect("the watch ended", []string{`watch from "5"`}, nil)

				server.endWatches(true)
				server.remove("c")
				time.Sleep(time.Minute)
				expect("the watch ended and its revision is gone", c.relist, []string{"delete (found by a relist) c 1", "update a 2"})

				time.Sleep(resync)
				expect("resync", nil, []string{"update a 2"})

				close(stop)
				factory.Shutdown()
				synctest.Wait()
				if len(tr.running) != 0 {
					t.Errorf("%d exchanges run after the informer has stopped", len(tr.running))
				}
				tr.Close()
			})
		})
	}
}

func TestCloseUnderARunningInformerLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newCronTabServer()
		tr := InProcess(server)
		clients, err := NewClients(Access{Transport: tr}.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		factory := dynamicinformer.NewDynamicSharedInformerFactory(clients.Dynamic, 0)
		factory.ForResource(cronTabs).Informer()
		stop := make(chan struct{})
		factory.Start(stop)
		factory.WaitForCacheSync(stop)
		tr.Close()
		time.Sleep(time.Minute) // of failing attempts
		close(stop)
		factory.Shutdown()
	})
}
