//go:build go1.25

package explore_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/remote"
	"github.com/fakecluster/fakecluster/remote/explore"
)

const (
	secretsOfDefault    = "/api/v1/namespaces/default/secrets"
	configMapsOfDefault = "/api/v1/namespaces/default/configmaps"
)

// keeper makes a Secret for each ConfigMap with a label, and notes on the ConfigMap that it is there. It needs the standard library alone. Each of its fields is a
// mistake: they are those of the operator in the tests of package explore of the main module.
type keeper struct {
	trustsCache   bool // looks into its cache for the Secret, and makes one with a generated name if there is none
	ignoresErrors bool // does not look at the error of an update
	remembers     bool // knows only in memory for which ConfigMaps it has made a Secret with a generated name
}

// cache has the objects of a resource, as the cache of an informer does.
type cache struct {
	path    string
	changed func(name string) // nil: nothing is called

	mu      sync.Mutex
	objects map[string]object
	synced  chan struct{} // closed when it has been filled
	once    sync.Once
}

func newCache(path string, changed func(name string)) *cache {
	return &cache{path: path, changed: changed, objects: map[string]object{}, synced: make(chan struct{})}
}

// follow keeps the cache up to date until ctx ends.
func (c *cache) follow(ctx context.Context, client client) {
	for ctx.Err() == nil {
		items, revision, err := client.list(ctx, c.path+"?resourceVersion=0")
		if err == nil {
			c.mu.Lock()
			c.objects = map[string]object{}
			c.mu.Unlock()
			for _, o := range items {
				c.set("ADDED", o)
			}
			c.once.Do(func() { close(c.synced) })
			c.watch(ctx, client, revision)
		}
		pause(ctx, time.Second)
	}
}

func (c *cache) watch(ctx context.Context, client client, revision string) {
	watch, err := client.open(ctx, "GET", c.path+"?watch=true&resourceVersion="+revision, nil)
	if err != nil {
		return
	}
	defer watch.Close()
	for events := json.NewDecoder(watch); ; {
		var event struct {
			Type   string
			Object object
		}
		if err := events.Decode(&event); err != nil || event.Type == "ERROR" {
			return
		}
		c.set(event.Type, event.Object)
	}
}

func (c *cache) set(kind string, o object) {
	c.mu.Lock()
	if kind == "DELETED" {
		delete(c.objects, o.Metadata.Name)
	} else {
		c.objects[o.Metadata.Name] = o
	}
	c.mu.Unlock()
	if c.changed != nil {
		c.changed(o.Metadata.Name)
	}
}

// find returns an object for which wanted returns true, or nil.
func (c *cache) find(wanted func(object) bool) *object {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.objects {
		if wanted(o) {
			return &o
		}
	}
	return nil
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (k keeper) run(ctx context.Context, cluster *remote.Cluster) error {
	c := client{cluster}
	names := make(chan string, 100)
	maps, secrets := newCache(configMapsOfDefault, func(name string) { names <- name }), newCache(secretsOfDefault, nil)
	var following sync.WaitGroup
	defer following.Wait()
	for _, one := range []*cache{maps, secrets} {
		following.Add(1)
		go func() {
			defer following.Done()
			one.follow(ctx, c)
		}()
	}
	for _, one := range []*cache{maps, secrets} {
		select {
		case <-one.synced:
		case <-ctx.Done():
			return nil
		}
	}
	made := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case name := <-names:
			pause(ctx, time.Second)
			if err := k.reconcile(ctx, c, maps, secrets, made, name); err != nil && ctx.Err() == nil {
				names <- name
			}
		}
	}
}

func (k keeper) reconcile(ctx context.Context, c client, maps, secrets *cache, made map[string]bool, name string) error {
	configMap := maps.find(func(o object) bool { return o.Metadata.Name == name })
	if configMap == nil || configMap.Metadata.Labels["app"] != "web" {
		return nil
	}
	secret := object{APIVersion: "v1", Kind: "Secret", Metadata: metadata{Name: name, Labels: map[string]any{"of": name}}}
	exists := false
	switch {
	case k.trustsCache:
		exists = secrets.find(func(o object) bool { return o.Metadata.Labels["of"] == name }) != nil
	case k.remembers:
		exists = made[name]
	}
	if k.trustsCache || k.remembers {
		secret.Metadata.Name, secret.Metadata.GenerateName = "", name+"-"
	}
	if !exists {
		if err := c.do(ctx, "POST", secretsOfDefault, secret, nil); err != nil && !errors.Is(err, failure(http.StatusConflict)) {
			return err
		}
		made[name] = true
	}
	if configMap.Metadata.Annotations["ready"] == "true" {
		return nil
	}
	changed := *configMap
	changed.APIVersion, changed.Kind = "v1", "ConfigMap"
	changed.Metadata.Annotations = map[string]any{"ready": "true"}
	err := c.do(ctx, "PUT", configMapsOfDefault+"/"+name, changed, nil)
	if k.ignoresErrors {
		return nil
	}
	return err
}

// oneSecret is the test of the keeper: there is one Secret in the end, and the ConfigMap is ready.
func (k keeper) oneSecret(t testing.TB, c *explore.Cluster) {
	c.Control("operator", c.Config(), k.run)
	user := client{c.Cluster}
	must(t, user.do(context.Background(), "POST", configMapsOfDefault, object{APIVersion: "v1", Kind: "ConfigMap", Metadata: metadata{Name: "a", Labels: map[string]any{"app": "web"}}}, nil))
	c.Wait(3 * time.Minute)
	secrets, _, err := user.list(context.Background(), secretsOfDefault)
	must(t, err)
	if n := len(secrets); n != 1 {
		t.Errorf("there are %d secrets, want one", n)
	}
	var configMap object
	must(t, user.do(context.Background(), "GET", configMapsOfDefault+"/a", nil, &configMap))
	if configMap.Metadata.Annotations["ready"] != "true" {
		t.Error("the ConfigMap is not ready")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
