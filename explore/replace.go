package explore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// replaceVersion ends the operator, and starts another version of it in a cluster from a snapshot of the
// current one. If the operator may still be at work (atWork), its pods may change.
func (p *player) replaceVersion(to *installation, atWork bool) error {
	if to == nil {
		return errors.New("there is no other version: the steps upgrade and downgrade are for explore.Upgrade")
	}
	if to == p.installation {
		return errors.New("this version runs already")
	}
	p.finish()
	before, former := p.objects(), p.current()
	p.managers() // while the history knows them
	for _, o := range before {
		p.makerOf(o.Unstructured)
	}
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
	r := p.newRun()
	r.cluster, r.t, r.earlier = cluster, p.run.t, p.run.earlier+p.sentRequests()
	p.run, p.ended = r, false
	p.expectUser()
	if err := p.findResources(); err != nil {
		p.endWith(problem{oracle: Upgrades, key: "not served", step: p.step,
			what: fmt.Sprintf("%s is not served any more: %v", p.seed.resource.GroupResource(), err)})
		return nil
	}
	if err := errors.Join(p.notePresent(before), p.replaceManifests()); err != nil {
		return err
	}
	if !atWork {
		p.pods = p.podTemplates(p.unignored(before))
	}
	if former != nil && p.wanted == nil {
		p.wanted, _, _ = unstructured.NestedMap(former.Object, "spec")
	}
	p.startOperator()
	return nil
}

// endWith reports a problem that ends the trial.
func (p *player) endWith(found problem) {
	p.report(found)
	p.run.t.Fail()
}

// startFrom starts a cluster for a version of the operator with all objects of the current cluster.
func (p *player) startFrom(to *installation) (c *fakecluster.Cluster, err error) {
	var snapshot bytes.Buffer
	if err := p.run.cluster.Snapshot(&snapshot); err != nil {
		return nil, err
	}
	p.replaced++ // gives another seed, so that no uid comes twice
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

// findResources finds the versions in which the changed resources are served.
func (p *player) findResources() error {
	for _, resource := range slices.Sorted(maps.Keys(p.changed)) {
		if served, err := p.served(p.changed[resource]); err == nil {
			p.changed[resource] = served
		}
	}
	served, err := p.served(p.seed.resource)
	p.resource = served
	return err
}

// served returns a resource in its version, or in the preferred one if that is not served.
func (p *player) served(resource schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	mapper := p.run.cluster.RESTMapper()
	if exact, err := mapper.ResourceFor(resource); err == nil && exact == resource {
		return resource, nil
	}
	return mapper.ResourceFor(resource.GroupResource().WithVersion(""))
}

// notePresent records the objects of the cluster that the trial has not created.
func (p *player) notePresent(made []state.Object) error {
	present, err := objectsIn(p.run.cluster)
	for _, o := range made {
		delete(present, o.Name())
	}
	p.present = present
	return err
}

// replaceManifests replaces the objects of the manifests. The cluster itself has replaced definitions and configurations of webhooks.
func (p *player) replaceManifests() error {
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
		former, err := objects.Get(context.Background(), m.GetName(), getOptions)
		if err != nil {
			continue // such as one that a controller has deleted
		}
		now := m.DeepCopy()
		now.SetResourceVersion(former.GetResourceVersion())
		changed, err := objects.Update(context.Background(), now, updateOptions)
		if err != nil {
			return fmt.Errorf("the manifest of %s %s: %w", m.GetKind(), m.GetName(), err)
		}
		p.present[state.Name(mapping.Resource.GroupResource().String(), changed.GetNamespace(), changed.GetName())] = changed.GetResourceVersion()
	}
	return nil
}
