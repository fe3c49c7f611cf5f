package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

var kills = flag.Int("kills", seedtest.Cases(20), "how often TestNothingIsLostByKills kills the process")

// killing is a process that serves a cluster from a file, and is killed again and again.
type killing struct {
	kubeconfig string
	args       []string
	process    *exec.Cmd
	stderr     *bytes.Buffer
	token      string
	client     *dynamic.DynamicClient
}

func (k *killing) start(t *testing.T) {
	t.Helper()
	k.process = exec.CommandContext(t.Context(), os.Args[0], k.args...)
	k.process.Env = append(os.Environ(), asMain+"=yes")
	var stderr bytes.Buffer
	k.process.Stderr = &stderr
	k.stderr = &stderr
	stdout, err := k.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.process.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready http") {
		_ = k.process.Wait()
		t.Fatalf("first line %q, %v, stderr %s", line, err, &stderr)
	}
	config, err := clientcmd.BuildConfigFromFlags("", k.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	for _, file := range []string{"cmdline", "environ"} { // where others can read
		if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", k.process.Process.Pid, file)); bytes.Contains(text, []byte(config.BearerToken)) {
			t.Errorf("the token is in the process's %s", file)
		}
	}
	k.token = config.BearerToken
	if k.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
}

func (k *killing) kill(t *testing.T) {
	t.Helper()
	if err := k.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = k.process.Wait() // the error is that it was killed
	if strings.Contains(k.stderr.String(), k.token) {
		t.Error("the token is in what the process has logged")
	}
}

// clientState is what a client has of an object: the last response, and what it has sent
// without an answer.
type clientState struct {
	state state
	sent  *state
}

// state is that of an object.
type state struct {
	exists bool
	value  string
	rv     string // empty in sent
}

// loader is a client that writes objects of its own, one request at a time.
type loader struct {
	resource schema.GroupVersionResource
	kind     string
	name     string
	random   *rand.Rand
	objects  map[string]*clientState
	events   []event // of the writes that were answered, since the last check
	serial   int
}

// event is one that a watch has to have.
type event struct {
	kind        watch.EventType
	name, value string
	rv          string // empty: unknown, as a delete was sent
}

func (l *loader) object(name string, s state) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": l.resource.GroupVersion().String(), "kind": l.kind,
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"value": s.value}},
	}}
	if s.rv != "" {
		u.SetResourceVersion(s.rv)
	}
	return u
}

// write makes one write. After an error, the object may be in one of two states.
func (l *loader) write(ctx context.Context, client dynamic.Interface) error {
	name := fmt.Sprintf("%s-%d", l.name, l.random.IntN(6))
	o := l.objects[name]
	if o == nil {
		o = &clientState{}
		l.objects[name] = o
	}
	in := client.Resource(l.resource).Namespace("default")
	l.serial++
	next := state{exists: true, value: fmt.Sprint(l.serial, strings.Repeat(".", l.random.IntN(2000)))}
	var err error
	var got *unstructured.Unstructured
	e := event{name: name, value: next.value}
	switch {
	case !o.state.exists:
		e.kind, o.sent = watch.Added, &next
		got, err = in.Create(ctx, l.object(name, next), metav1.CreateOptions{})
	case l.random.IntN(4) == 0:
		e.kind, e.value, o.sent = watch.Deleted, o.state.value, &state{}
		err = in.Delete(ctx, name, metav1.DeleteOptions{})
	default:
		e.kind, o.sent = watch.Modified, &next
		with := next
		with.rv = o.state.rv
		got, err = in.Update(ctx, l.object(name, with), metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	o.state, o.sent = *o.sent, nil
	if got != nil {
		o.state.rv = got.GetResourceVersion()
		e.rv = o.state.rv
	}
	l.events = append(l.events, e)
	return nil
}

// check compares what the client has received with what is stored, and with the events of a watch
// from before the writes.
func (l *loader) check(t *testing.T, client dynamic.Interface, since string) {
	t.Helper()
	in := client.Resource(l.resource).Namespace("default")
	for name, o := range l.objects {
		got, err := in.Get(t.Context(), name, metav1.GetOptions{})
		present := state{}
		switch {
		case err == nil:
			present = state{true, got.GetAnnotations()["value"], got.GetResourceVersion()}
		case !apierrors.IsNotFound(err):
			t.Fatal(err)
		}
		switch {
		case present == o.state:
		case o.sent != nil && present.exists == o.sent.exists && present.value == o.sent.value:
			o.state = present // the write was done, and its answer lost
		default:
			t.Errorf("%s %s: the client received %+v, sent %+v, and %+v is stored", l.resource.Resource, name, o.state, o.sent, present)
		}
		o.sent = nil
	}
	// The watch ends with an object that is made for that.
	end := l.object(l.name+"-end", state{})
	if _, err := in.Create(t.Context(), end, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := in.Delete(t.Context(), end.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := in.Watch(t.Context(), metav1.ListOptions{ResourceVersion: since})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	missing := l.events
	for e := range w.ResultChan() {
		u, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type == watch.Error {
			t.Fatalf("the watch from %s says %v", since, e)
		}
		if u.GetName() == end.GetName() {
			break
		}
		if len(missing) > 0 && missing[0].kind == e.Type && missing[0].name == u.GetName() && missing[0].value == u.GetAnnotations()["value"] &&
			(missing[0].rv == "" || missing[0].rv == u.GetResourceVersion()) {
			missing = missing[1:]
		}
	}
	if len(missing) > 0 {
		t.Errorf("a watch from %s lacks %d of %d events that clients received, first %+v", since, len(missing), len(l.events), missing[0])
	}
	l.events = nil
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// However often the process is killed, answered writes are stored at the resourceVersions of their
// responses, and watches continue.
func TestNothingIsLostByKills(t *testing.T) {
	n := *kills
	if testing.Short() {
		n = min(n, 5)
	}
	random := seedtest.Rand(t)
	folder := t.TempDir()
	k := &killing{kubeconfig: filepath.Join(folder, "kubeconfig")}
	k.args = []string{"serve", "--data", filepath.Join(folder, "data"), "--kubeconfig", k.kubeconfig, "--fsync", "second",
		"--crds", "../../scenarios/crontab/crontab-crd.yaml", "--controllers", "namespace-controller", "--garbage-collection"}
	loaders := []*loader{
		{resource: configMaps, kind: "ConfigMap"}, {resource: configMaps, kind: "ConfigMap"},
		{resource: schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}, kind: "CronTab"},
	}
	for i, l := range loaders {
		l.name, l.objects, l.random = fmt.Sprint("load-", i), map[string]*clientState{}, rand.New(rand.NewPCG(random.Uint64(), 0))
	}
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	written := 0
	since := ""
	for round := range n + 1 {
		k.start(t)
		list, err := k.client.Resource(namespaces).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, ns := range list.Items {
			if ns.GetDeletionTimestamp() != nil {
				t.Errorf("round %d: the namespace %s is left half deleted", round, ns.GetName())
			}
		}
		if round > 0 {
			for _, l := range loaders {
				written += len(l.events)
				l.check(t, k.client, since)
			}
		}
		if round == n || t.Failed() {
			break
		}
		marker, err := k.client.Resource(configMaps).Namespace("default").List(t.Context(), metav1.ListOptions{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		since = marker.GetResourceVersion()

		var killed atomic.Bool
		var left atomic.Int64
		left.Store(int64(5 + random.IntN(150)))
		enough := make(chan struct{})
		var running sync.WaitGroup
		work := func(write func(context.Context, dynamic.Interface) error) {
			running.Go(func() {
				for {
					err := write(t.Context(), k.client)
					if killed.Load() {
						return
					}
					if err != nil {
						t.Errorf("round %d: %v", round, err)
					}
					if now := left.Add(-1); now == 0 {
						close(enough)
					}
					if err != nil {
						return
					}
				}
			})
		}
		for _, l := range loaders {
			work(l.write)
		}
		serial := 0
		work(func(ctx context.Context, client dynamic.Interface) error {
			serial++
			name := fmt.Sprintf("doomed-%d-%d", round, serial)
			ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
			if _, err := client.Resource(namespaces).Create(ctx, ns, metav1.CreateOptions{}); err != nil {
				return err
			}
			for i := range 5 {
				if _, err := client.Resource(configMaps).Namespace(name).Create(ctx, loaders[0].object(fmt.Sprint("c-", i), state{}), metav1.CreateOptions{}); err != nil {
					return err
				}
			}
			return client.Resource(namespaces).Delete(ctx, name, metav1.DeleteOptions{})
		})
		<-enough
		killed.Store(true)
		k.kill(t)
		running.Wait()
	}
	if !t.Failed() {
		k.kill(t)
	}
	t.Logf("%d kills, %d writes that were answered", n, written)
}

// A snapshot of a cluster that runs, and a cluster that begins with it.
func TestSnapshotCommand(t *testing.T) {
	folder := t.TempDir()
	pathOf := func(name string) string { return filepath.Join(folder, name) }
	prepared := pathOf("prepared")
	play := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		if status := execute(t.Context(), args, &out, &errs); status != want {
			t.Fatalf("%q: status %d, stderr %s", args, status, &errs)
		}
		return out.String(), errs.String()
	}
	if stdout, stderr := play(0, "snapshot", "--crds", "../../scenarios/crontab/crontab-crd.yaml", prepared); stdout != "" || stderr != "" {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	if mode := fileMode(t, prepared); mode != 0o600 {
		t.Errorf("mode %o", mode)
	}
	data := pathOf("data")
	first := serveArgs(t, "--snapshot", prepared, "--data", data, "--fsync", "second", "--kubeconfig", pathOf("first"))
	config, err := clientcmd.BuildConfigFromFlags("", pathOf("first"))
	if err != nil {
		t.Fatal(err)
	}
	crontab := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": "a"}}}
	if _, err := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}).
		Namespace("default").Create(t.Context(), crontab, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	play(0, "snapshot", "--snapshot", data, prepared) // in place of the former
	stdout, _ := play(0, "snapshot", "--snapshot", data, "-")
	if content, err := os.ReadFile(prepared); err != nil || string(content) != stdout || strings.Contains(stdout, config.BearerToken) {
		t.Errorf("the snapshot on stdout differs from that in the file, or has the token: %v", err)
	}
	_, stderr := play(1, "serve", "--data", data)
	if want := "fakecluster: serve: WithDataFile: data file " + data + ": another fakecluster has it open\n"; stderr != want {
		t.Errorf("stderr %q, want %q", stderr, want)
	}
	first.end(t)
	second := serveArgs(t, "--snapshot", prepared, "--kubeconfig", pathOf("second"))
	if got := list(t, pathOf("second"), "stable.example.com", "v1", "crontabs"); len(got) != 1 || got[0] != "a" {
		t.Errorf("crontabs %q", got)
	}
	second.end(t)

	if err := os.WriteFile(pathOf("precious"), []byte("my thesis"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"snapshot", pathOf("precious")}, 1, "snapshot: " + pathOf("precious") + " exists, is not a snapshot of fakecluster, and is not overwritten: remove it, or name another file"},
		{[]string{"serve", "--snapshot", pathOf("precious")}, 1, "serve: data file " + pathOf("precious") + ": this is not data of fakecluster (at byte 0)"},
		{[]string{"serve", "--data", pathOf("precious")}, 1, "serve: WithDataFile: data file " + pathOf("precious") + ": this is not data of fakecluster (at byte 0)"},
		{[]string{"serve", "--fsync", "always"}, 2, "serve: --fsync: needs --data FILE"},
		{[]string{"serve", "--data", data, "--fsync", "never"}, 2, `serve: --fsync: there is no mode "never"; write always or second`},
	} {
		if _, stderr := play(c.status, c.args...); stderr != "fakecluster: "+c.want+"\n" {
			t.Errorf("%q: stderr %q, want %q", c.args, stderr, c.want)
		}
	}
	if content, err := os.ReadFile(pathOf("precious")); err != nil || string(content) != "my thesis" {
		t.Errorf("the file has %q, %v", content, err)
	}
}
