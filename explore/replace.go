package explore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// replaceVersion ends the operator, and goes on with another version of it, in a cluster that begins from a snapshot of the present one.
// If it is at work still, its pods may change.
func (p *playing) replaceVersion(to *installation, atWork bool) error {
	if to == nil {
		return errors.New("there is no other version: the steps upgrade and downgrade are for explore.Upgrade")
	}
	if to == p.installation {
		return errors.New("this version runs already")
	}
	p.finish()
	before, was := p.objects(), p.current()
	cluster, err := p.startFrom(to)
	if err != nil {
		oracle, version := Upgrades, "new"
		if to == p.operatorExploration.installation {
			oracle, version = Downgrades, "old"
		}
		p.endWith(problem{oracle: oracle, key: "install", step: p.step,
			what: fmt.Sprintf("the %s version cannot be installed where the other one was: %v", version, err)})
		return nil
	}
	p.installation, p.client, p.sent = to, cluster.Dynamic(), 0
	r := newRun()
	r.cluster, r.t, r.earlier = cluster, p.run.t, p.run.earlier+p.sentRequests()
	p.run, p.ended = r, false
	if err := p.findResources(); err != nil {
		p.endWith(problem{oracle: Upgrades, key: "not served", step: p.step,
			what: fmt.Sprintf("%s is not served any more: %v", p.seed.resource.GroupResource(), err)})
		return nil
	}
	if err := errors.Join(p.notePresent(before), p.replaceManifests()); err != nil {
		return err
	}
	if !atWork {
		p.pods = podTemplates(p.unignored(before))
	}
	if was != nil && p.wanted == nil {
		p.wanted, _, _ = unstructured.NestedMap(was.Object, "spec")
	}
	p.startOperator()
	return nil
}

// endWith reports a problem that ends the trial.
func (p *playing) endWith(found problem) {
	p.report(found)
	p.run.t.Fail()
}

// startFrom starts a cluster for a version of the operator with all that is in the present cluster.
func (p *playing) startFrom(to *installation) (c *fakecluster.Cluster, err error) {
	var snapshot bytes.Buffer
	if err := p.run.cluster.Snapshot(&snapshot); err != nil {
		return nil, err
	}
	p.replaced++ // the seed is another one, so that no uid comes twice
	tb := &recorder{TB: p.run.t.TB}
	started := make(chan struct{})
	go func() { // Start ends its goroutine if it fails
		defer close(started)
		c = fakecluster.Start(tb, append(to.options(p.subject.Seed+p.replaced<<32), fakecluster.WithSnapshot(&snapshot))...)
	}()
	<-started
	if c == nil {
		return nil, errors.New(strings.TrimPrefix(tb.text(), "fakecluster: "))
	}
	p.run.t = tb
	return c, nil
}

// findResources finds the versions in which what the trial has changed is served.
func (p *playing) findResources() error {
	for _, resource := range slices.Sorted(maps.Keys(p.changed)) {
		if of, err := p.served(p.changed[resource]); err == nil {
			p.changed[resource] = of
		}
	}
	of, err := p.served(p.seed.resource)
	p.resource = of
	return err
}

// served returns a resource in its version, or in the preferred one if that is not served.
func (p *playing) served(of schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	mapper := p.run.cluster.RESTMapper()
	if exact, err := mapper.ResourceFor(of); err == nil && exact == of {
		return of, nil
	}
	return mapper.ResourceFor(of.GroupResource().WithVersion(""))
}

// notePresent notes the objects of the cluster that the trial has not made.
func (p *playing) notePresent(made []state.Object) error {
	present, err := objectsIn(p.run.cluster)
	for _, o := range made {
		delete(present, o.Name())
	}
	p.present = present
	return err
}

// replaceManifests replaces the objects of the manifests. The cluster itself has replaced definitions and configurations of webhooks.
func (p *playing) replaceManifests() error {
	for _, m := range p.manifests {
		kind := m.GroupVersionKind()
		mapping, err := p.run.cluster.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil || strings.HasPrefix(kind.Group, "apiextensions") || strings.HasPrefix(kind.Group, "admissionregistration") {
			continue
		}
		namespace := m.GetNamespace()
		if namespace == "" && mapping.Scope.Name() == "namespace" {
			namespace = metav1.NamespaceDefault
		}
		objects := p.client.Resource(mapping.Resource).Namespace(namespace)
		was, err := objects.Get(context.Background(), m.GetName(), getOptions)
		if err != nil {
			continue // such as one that a controller has deleted
		}
		now := m.DeepCopy()
		now.SetResourceVersion(was.GetResourceVersion())
		changed, err := objects.Update(context.Background(), now, updateOptions)
		if err != nil {
			return fmt.Errorf("the manifest of %s %s: %w", m.GetKind(), m.GetName(), err)
		}
		p.present[state.Name(mapping.Resource.GroupResource().String(), changed.GetNamespace(), changed.GetName())] = changed.GetResourceVersion()
	}
	return nil
}

// rewriteAll reads each custom resource in each version, changes a label without effect, and writes it as it is.
func (p *playing) rewriteAll() {
	definitions, err := p.run.cluster.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().List(context.Background(), listOptions)
	if err != nil {
		p.out.err = err
		return
	}
	for i := range definitions.Items {
		if why := p.rewrite(&definitions.Items[i]); why != nil {
			p.report(*why)
			return
		}
	}
}

// rewrite writes the custom resources of a definition.
func (p *playing) rewrite(d *apiextensionsv1.CustomResourceDefinition) *problem {
	of := schema.GroupVersionResource{Group: d.Spec.Group, Resource: d.Spec.Names.Plural}
	var stored string
	for _, v := range d.Spec.Versions {
		if v.Storage {
			stored = v.Name
		}
		if !v.Served {
			continue
		}
		if _, err := p.client.Resource(of.GroupResource().WithVersion(v.Name)).List(context.Background(), listOptions); err != nil {
			return p.refused("read "+d.Name, fmt.Sprintf("%s cannot be read in the version %s", d.Name, v.Name), err)
		}
	}
	of.Version = stored
	all, err := p.client.Resource(of).List(context.Background(), listOptions)
	if err != nil {
		return nil // the storage version is not served
	}
	for i := range all.Items {
		if why := p.rewriteOne(of, &all.Items[i]); why != nil {
			return why
		}
	}
	d.Status.StoredVersions = []string{stored}
	if _, err := p.run.cluster.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().UpdateStatus(context.Background(), d, updateOptions); err != nil && !apierrors.IsConflict(err) {
		return p.refused("stored versions "+d.Name, "the status.storedVersions of "+d.Name+" cannot be set", err)
	}
	p.present[state.Name("customresourcedefinitions.apiextensions.k8s.io", "", d.Name)] = p.versionOf(d.Name)
	return nil
}

// versionOf returns the resourceVersion of a definition.
func (p *playing) versionOf(definition string) string {
	d, err := p.run.cluster.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Get(context.Background(), definition, getOptions)
	if err != nil {
		return ""
	}
	return d.ResourceVersion
}

func (p *playing) rewriteOne(of schema.GroupVersionResource, u *unstructured.Unstructured) *problem {
	name := state.Name(of.GroupResource().String(), u.GetNamespace(), u.GetName())
	objects := p.client.Resource(of).Namespace(u.GetNamespace())
	label := []byte(`{"metadata":{"labels":{"explored":"yes"}}}`)
	if _, err := objects.Patch(context.Background(), u.GetName(), types.MergePatchType, label, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return p.refused("label "+of.Resource, "a label of "+name+" cannot be changed any more", err)
	}
	if _, err := objects.Update(context.Background(), u, updateOptions); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return p.refused("write "+of.Resource, name+" cannot be written as it is any more", err)
	}
	return nil
}

// refused is a problem with what the server refuses after an upgrade.
func (p *playing) refused(key, what string, err error) *problem {
	return &problem{oracle: Upgrades, key: key, step: p.step, what: what, detail: err.Error()}
}

// checkKept checks that the custom resource still has what it had before the version was replaced. New fields are defaults.
func (p *playing) checkKept(u *unstructured.Unstructured) {
	if p.wanted == nil || p.resource != p.seed.resource {
		return
	}
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	of := func(spec map[string]any) state.State {
		return state.State{p.seed.name: {"spec": spec}}
	}
	for _, d := range state.Differences(of(p.wanted), of(spec), nil) {
		if !d.Added {
			oracle := Upgrades
			if p.installation != p.next {
				oracle = Downgrades
			}
			p.report(problem{oracle: oracle, key: "lost " + d.Path, step: p.step,
				what:   fmt.Sprintf("%s does not have the %s that it had before the upgrade:", p.seed.name, d.Path),
				detail: state.Diff(map[string]any{"spec": p.wanted}, map[string]any{"spec": spec})})
			return
		}
	}
}
