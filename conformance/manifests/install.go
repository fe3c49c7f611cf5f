package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/serve"
	"github.com/fakecluster/fakecluster/conformance/verdict"
	"github.com/fakecluster/fakecluster/internal/manifests"
	"github.com/fakecluster/fakecluster/kustomize"
)

// patience is how long something may take that happens by itself: to become ready, and to be gone.
const patience = time.Minute

// check installs, uses and deletes the manifests of a project in a cluster of its own.
func (p *project) check(ctx context.Context, server, kubeconfig string) verdict.Result {
	result := verdict.Result{Name: p.String(), Verdict: verdict.Pass}
	began := time.Now()
	summary, err := p.try(ctx, server, kubeconfig)
	result.Time, result.Reason = time.Since(began), summary
	if err != nil {
		result.Verdict, result.Reason = verdict.Fail, verdict.Reason(err.Error())
		if p.why != "" {
			result.Verdict, result.Reason = verdict.NotApplicable, p.why
		}
	}
	return result
}

func (p *project) try(ctx context.Context, server, kubeconfig string) (summary string, err error) {
	var objects, before []*unstructured.Unstructured
	for _, needed := range p.needs {
		if before, err = needed.objects(ctx); err != nil {
			return "", err
		}
		objects = append(objects, before...)
	}
	if p.first != "" {
		extra, err := decode([]byte(p.first))
		if err != nil {
			return "", err
		}
		objects = append(objects, extra...)
	}
	own, err := p.objects(ctx)
	if err != nil {
		return "", err
	}
	_, end, err := serve.Start(ctx, server, slices.Concat([]string{"serve", "--workloads", "--kubeconfig", kubeconfig}, p.flags)...)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, end()) }()
	u, err := newUser(kubeconfig)
	if err != nil {
		return "", err
	}
	pods := 0
	for _, installed := range [][]*unstructured.Unstructured{objects, own} {
		for _, o := range installed {
			if err := u.create(ctx, o); err != nil {
				return "", fmt.Errorf("creating %s: %w", name(o), err)
			}
		}
		if pods, err = u.ready(ctx); err != nil {
			return "", err
		}
	}
	objects = append(objects, own...)
	memory, err := memoryOfChild()
	if err != nil {
		return "", err
	}
	if p.object != "" {
		used, err := decode([]byte(p.object))
		if err != nil {
			return "", err
		}
		for _, o := range used {
			err := u.until(ctx, func() (string, error) { // the endpoints of a webhook follow its Pods
				err := u.create(ctx, o)
				if apierrors.IsInternalError(err) {
					return err.Error(), nil
				}
				return "", err
			})
			if err != nil {
				return "", fmt.Errorf("using %s: %w", name(o), err)
			}
		}
		objects = append(objects, used...)
	}
	slices.Reverse(objects)
	for _, o := range objects {
		if err := u.delete(ctx, o); err != nil {
			return "", fmt.Errorf("deleting %s: %w", name(o), err)
		}
	}
	if err := u.gone(ctx, objects); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d objects, %d Pods, %d MB", len(own), pods, memory>>20), nil
}

// objects returns what the project ships, with its namespace where it names none.
func (p *project) objects(ctx context.Context) ([]*unstructured.Unstructured, error) {
	folder, err := p.folder(ctx)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	if p.namespace != "" {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": p.namespace}}})
	}
	for _, path := range p.paths {
		found, err := read(filepath.Join(folder, path))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s has no objects", path)
		}
		objects = append(objects, found...)
	}
	for _, o := range objects {
		if o.GetNamespace() == "" && p.namespace != "" {
			o.SetNamespace(p.namespace) // create removes it from objects of the cluster
		}
	}
	return objects, nil
}

// folder returns where the module is.
func (p *project) folder(ctx context.Context) (string, error) {
	out, err := gotool.Output(ctx, os.TempDir(), "mod", "download", "-json", p.module+"@"+p.version)
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	return module.Dir, json.Unmarshal(out, &module)
}

// read returns the objects of a file, of the files right in a folder, or of a kustomization.
func read(path string) ([]*unstructured.Unstructured, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return decode(content)
	}
	if _, err := os.Stat(filepath.Join(path, "kustomization.yaml")); err == nil {
		built, err := kustomize.Build(path)
		if err != nil {
			return nil, err
		}
		var objects []*unstructured.Unstructured
		for _, o := range built {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				return nil, err
			}
			objects = append(objects, &unstructured.Unstructured{Object: content})
		}
		slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { // as kubectl apply -k
			return cmp.Compare(manifests.InstallStep(a.GroupVersionKind().GroupKind()), manifests.InstallStep(b.GroupVersionKind().GroupKind()))
		})
		return objects, nil
	}
	files, err := filepath.Glob(filepath.Join(path, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		found, err := read(file)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// decode returns the objects of YAML documents, those of lists one by one.
func decode(content []byte) (objects []*unstructured.Unstructured, err error) {
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(o.Object) == 0:
		case o.IsList():
			err = o.EachListItem(func(item runtime.Object) error {
				objects = append(objects, item.(*unstructured.Unstructured))
				return nil
			})
			if err != nil {
				return nil, err
			}
		default:
			objects = append(objects, o)
		}
	}
}

// name names an object.
func name(o *unstructured.Unstructured) string {
	return strings.TrimPrefix(fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName()), "/")
}

// user is somebody with a kubeconfig.
type user struct {
	client    dynamic.Interface
	set       kubernetes.Interface
	discovery discovery.DiscoveryInterface
	mapper    meta.RESTMapper
}

func newUser(kubeconfig string) (*user, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &user{client: client, set: set, discovery: set.Discovery()}, nil
}

// resource returns a client for the kind of an object, in its namespace.
func (u *user) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := o.GroupVersionKind()
	var mapping *meta.RESTMapping
	var err error
	for range 2 { // the kind may have been defined meanwhile
		if u.mapper != nil {
			if mapping, err = u.mapper.RESTMapping(kind.GroupKind(), kind.Version); err == nil {
				break
			}
		}
		groups, discoverErr := restmapper.GetAPIGroupResources(u.discovery)
		if discoverErr != nil {
			return nil, discoverErr
		}
		u.mapper = restmapper.NewDiscoveryRESTMapper(groups)
		mapping, err = u.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	client := u.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		o.SetNamespace("")
		return client, nil
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(metav1.NamespaceDefault)
	}
	return client.Namespace(o.GetNamespace()), nil
}

// create applies an object as kubectl apply --server-side does.
func (u *user) create(ctx context.Context, o *unstructured.Unstructured) error {
	client, err := u.resource(o)
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(o.Object, "status")
	_, err = client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
	return err
}

// delete deletes an object, unless it went with another one.
func (u *user) delete(ctx context.Context, o *unstructured.Unstructured) error {
	client, err := u.resource(o)
	if meta.IsNoMatchError(err) {
		return nil // with its definition
	}
	if err == nil {
		err = client.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// ready waits until everything that runs Pods is ready, and returns how many Pods there are.
func (u *user) ready(ctx context.Context) (pods int, err error) {
	err = u.until(ctx, func() (string, error) {
		missing := ""
		for _, resource := range []string{"deployments", "statefulsets", "daemonsets"} {
			found, err := u.client.Resource(appsv1.SchemeGroupVersion.WithResource(resource)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return "", err
			}
			for _, o := range found.Items {
				if why := unready(&o); why != "" {
					missing = name(&o) + " is not ready: " + why
				}
			}
		}
		jobs, err := u.set.BatchV1().Jobs("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		for _, j := range jobs.Items {
			if j.Status.Succeeded == 0 {
				missing = fmt.Sprintf("Job %s/%s is not complete", j.Namespace, j.Name)
			}
		}
		if missing == "" {
			found, err := u.set.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
			if err != nil {
				return "", err
			}
			pods = len(found.Items)
		}
		return missing, nil
	})
	if err != nil {
		err = errors.Join(err, u.reasons(ctx))
	}
	return pods, err
}

// unready returns why an object that runs Pods is not ready.
func unready(o *unstructured.Unstructured) string {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(o.Object, fields...)
		return n
	}
	if number("status", "observedGeneration") != number("metadata", "generation") {
		return "not observed"
	}
	want, have := number("spec", "replicas"), number("status", "readyReplicas")
	if o.GetKind() == "DaemonSet" {
		want, have = number("status", "desiredNumberScheduled"), number("status", "numberReady")
	}
	if have < want {
		return fmt.Sprintf("%d of %d Pods", have, want)
	}
	return ""
}

// reasons returns the last Event of a warning.
func (u *user) reasons(ctx context.Context) error {
	events, err := u.set.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(events.Items) {
		if e.Type == corev1.EventTypeWarning {
			return fmt.Errorf("%s of %s: %s", e.Reason, e.InvolvedObject.Name, e.Message)
		}
	}
	return nil
}

// gone waits until none of the objects is there, and no Pod.
func (u *user) gone(ctx context.Context, objects []*unstructured.Unstructured) error {
	return u.until(ctx, func() (string, error) {
		for _, o := range objects {
			client, err := u.resource(o)
			if meta.IsNoMatchError(err) {
				continue
			}
			if err == nil {
				_, err = client.Get(ctx, o.GetName(), metav1.GetOptions{})
			}
			switch {
			case err == nil && !remade(o):
				return name(o) + " is still there", nil
			case err != nil && !apierrors.IsNotFound(err):
				return "", err
			}
		}
		pods, err := u.set.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err == nil && len(pods.Items) > 0 {
			return fmt.Sprintf("the Pod %s/%s is still there", pods.Items[0].Namespace, pods.Items[0].Name), nil
		}
		return "", err
	})
}

// remade reports whether the control plane makes an object again: namespaces that are not deleted, and their content.
func remade(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Namespace" && o.GetName() == metav1.NamespaceDefault || o.GetKind() == "ServiceAccount" && o.GetName() == "default"
}

// until calls a function until it says that nothing is missing.
func (u *user) until(ctx context.Context, missing func() (string, error)) error {
	for end := time.Now().Add(patience); ; {
		what, err := missing()
		switch {
		case err != nil || what == "":
			return err
		case time.Now().After(end):
			return fmt.Errorf("after %v %s", patience, what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
