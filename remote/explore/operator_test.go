//go:build go1.25

// Bubbles need the timers of Go 1.23, which a module with "go 1.22" does not have otherwise.
//go:debug asynctimerchan=0

package explore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/remote/explore"
)

// operator makes spec.count ConfigMaps with spec.text for each Gadget, and reports how many. It needs the standard library alone. Each of its fields is a mistake.
type operator struct {
	neverRetries  bool // gives up after an error
	forgets       bool // does not look at what is there when it starts
	leaks         bool // leaves a goroutine behind
	panics        bool // if the mode is Safe
	ends          bool // with an error, if the count is 0
	writesForever bool // the status, whenever it is called
	hides         bool // sets no observedGeneration
	shrinksNever  bool // leaves ConfigMaps when the count becomes smaller
	// prefix is that of the names of ConfigMaps, which is no mistake, unless another version has another one.
	prefix string
	// reconciled is called for each Gadget that the operator looks at; nil: nothing is called.
	reconciled func()
	// before is called at each start.
	before func(ctx context.Context)
}

var testdata = "../../explore/testdata/gadget/"

func (o operator) subject() explore.Subject {
	return explore.Subject{
		Install: []string{testdata + "crd.yaml", testdata + "rbac.yaml"},
		Roles:   []string{testdata + "rbac.yaml"},
		Seeds:   []string{testdata + "sample.yaml"},
		Run:     o.run,
	}
}

const (
	gadgets    = "/apis/example.com/v1/gadgets"
	configMaps = "/api/v1/configmaps"
)

// object has the fields of Gadgets and ConfigMaps that the operator knows.
type object struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metadata          `json:"metadata"`
	Spec       *spec             `json:"spec,omitempty"`
	Status     *status           `json:"status,omitempty"`
	Data       map[string]string `json:"data,omitempty"`
}

type metadata struct {
	Namespace         string         `json:"namespace"`
	Name              string         `json:"name,omitempty"`
	GenerateName      string         `json:"generateName,omitempty"`
	UID               string         `json:"uid,omitempty"`
	Generation        int64          `json:"generation,omitempty"`
	ResourceVersion   string         `json:"resourceVersion,omitempty"`
	DeletionTimestamp string         `json:"deletionTimestamp,omitempty"`
	Labels            map[string]any `json:"labels,omitempty"`
	Annotations       map[string]any `json:"annotations,omitempty"`
	Finalizers        []string       `json:"finalizers,omitempty"`
	OwnerReferences   []owner        `json:"ownerReferences,omitempty"`
}

type owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller,omitempty"`
}

type spec struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
	Mode  string `json:"mode,omitempty"`
}

type status struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	Made               int   `json:"made"`
}

// failure is the answer of the API server to a request that it refuses.
type failure int

func (f failure) Error() string { return fmt.Sprintf("the server answers with %d", int(f)) }

// client sends requests to a cluster.
type client struct{ cluster *remote.Cluster }

func (c client) do(ctx context.Context, method, path string, body, into any) error {
	answer, err := c.open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	if into == nil {
		_, err = io.Copy(io.Discard, answer)
		return err
	}
	return json.NewDecoder(answer).Decode(into)
}

// open returns an answer that goes on.
func (c client) open(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if body == nil {
		text = nil
	}
	req, err := http.NewRequestWithContext(ctx, method, c.cluster.URL()+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.cluster.Token())
	req.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Transport: c.cluster.Transport()}).Do(req)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 300 {
		answer.Body.Close()
		return nil, failure(answer.StatusCode)
	}
	return answer.Body, nil
}

// list returns all objects of a resource, and their revision.
func (c client) list(ctx context.Context, path string) (items []object, revision string, err error) {
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []object
	}
	err = c.do(ctx, "GET", path, nil, &list)
	return list.Items, list.Metadata.ResourceVersion, err
}

var errBroken = errors.New("the operator is broken")

// run runs the operator until ctx ends. It looks at everything whenever something has changed, and once more after an error.
func (o operator) run(ctx context.Context, cluster *remote.Cluster) error {
	if o.before != nil {
		o.before(ctx)
	}
	c := client{cluster}
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, time.Minute) {
		if err := o.follow(ctx, c); errors.Is(err, errBroken) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return nil
}

// follow reconciles until a watch ends, or something fails.
func (o operator) follow(ctx context.Context, c client) error {
	ctx, cancel := context.WithCancel(ctx)
	changed, ended := make(chan struct{}, 1), make(chan struct{})
	watches := 0
	defer func() {
		cancel()
		for range watches {
			<-ended
		}
	}()
	for _, path := range []string{gadgets, configMaps} {
		_, revision, err := c.list(ctx, path)
		if err != nil {
			return err
		}
		watch, err := c.open(ctx, "GET", path+"?watch=true&resourceVersion="+revision, nil)
		if err != nil {
			return err
		}
		watches++
		go func() {
			defer func() { ended <- struct{}{} }()
			defer watch.Close()
			events := json.NewDecoder(watch)
			for {
				var event struct{ Type string }
				if err := events.Decode(&event); err != nil || event.Type == "ERROR" {
					cancel()
					return
				}
				select {
				case changed <- struct{}{}:
				default:
				}
			}
		}()
	}
	for first := true; ctx.Err() == nil; first = false {
		if !first || !o.forgets {
			if err := o.reconcile(ctx, c); err != nil && !o.neverRetries {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// reconcile makes all Gadgets as they should be.
func (o operator) reconcile(ctx context.Context, c client) error {
	wanted, _, err := c.list(ctx, gadgets)
	if err != nil {
		return err
	}
	present, _, err := c.list(ctx, configMaps)
	if err != nil {
		return err
	}
	var failed error
	for _, g := range wanted {
		if g.Metadata.DeletionTimestamp == "" {
			failed = errors.Join(failed, o.reconcileOne(ctx, c, g, present))
		}
	}
	return failed
}

func (o operator) reconcileOne(ctx context.Context, c client, g object, present []object) error {
	if o.reconciled != nil {
		o.reconciled()
	}
	if o.leaks {
		go func() { <-make(chan struct{}) }()
	}
	switch {
	case o.panics && g.Spec.Mode == "Safe":
		panic("no mode")
	case o.ends && g.Spec.Count == 0:
		return errBroken
	}
	made := g.Spec.Count
	for i := range 5 {
		want := object{APIVersion: "v1", Kind: "ConfigMap", Data: map[string]string{"text": g.Spec.Text, "mode": g.Spec.Mode}, Metadata: metadata{
			Namespace: g.Metadata.Namespace, Name: fmt.Sprintf("%s%s-%d", o.prefix, g.Metadata.Name, i),
			OwnerReferences: []owner{{APIVersion: "example.com/v1", Kind: "Gadget", Name: g.Metadata.Name, UID: g.Metadata.UID}},
		}}
		collection := "/api/v1/namespaces/" + want.Metadata.Namespace + "/configmaps"
		now := find(present, want.Metadata)
		var err error
		switch {
		case i >= g.Spec.Count && now != nil && !o.shrinksNever:
			err = c.do(ctx, "DELETE", collection+"/"+want.Metadata.Name, nil, nil)
		case i >= g.Spec.Count:
		case now == nil:
			err = c.do(ctx, "POST", collection, want, nil)
		case len(now.Metadata.OwnerReferences) > 0 && now.Metadata.OwnerReferences[0].Controller:
			made--
		case !reflect.DeepEqual(now.Data, want.Data) || !reflect.DeepEqual(now.Metadata.OwnerReferences, want.Metadata.OwnerReferences):
			changed := *now
			changed.APIVersion, changed.Kind = want.APIVersion, want.Kind
			changed.Data, changed.Metadata.OwnerReferences = want.Data, want.Metadata.OwnerReferences
			err = c.do(ctx, "PUT", collection+"/"+want.Metadata.Name, changed, nil)
		}
		if err != nil && !errors.Is(err, failure(http.StatusNotFound)) {
			return err
		}
	}
	now := status{ObservedGeneration: g.Metadata.Generation, Made: made}
	if o.hides {
		now.ObservedGeneration = 0
	}
	if o.writesForever && g.Status != nil {
		now.Made = g.Status.Made%1000 + 1
	}
	if g.Status != nil && *g.Status == now {
		return nil
	}
	g.APIVersion, g.Kind, g.Status = "example.com/v1", "Gadget", &now
	return c.do(ctx, "PUT", "/apis/example.com/v1/namespaces/"+g.Metadata.Namespace+"/gadgets/"+g.Metadata.Name+"/status", g, nil)
}

// find returns an object by its name, or nil.
func find(objects []object, m metadata) *object {
	for i, o := range objects {
		if o.Metadata.Namespace == m.Namespace && o.Metadata.Name == m.Name {
			return &objects[i]
		}
	}
	return nil
}
