package explore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fakecluster/fakecluster/explore/internal/generate"
	"github.com/fakecluster/fakecluster/explore/internal/state"
	"github.com/fakecluster/fakecluster/inspect"
)

type ownerReference = metav1.OwnerReference

var (
	createOptions = metav1.CreateOptions{FieldManager: "explore"}
	updateOptions = metav1.UpdateOptions{FieldManager: "explore"}
	listOptions   = metav1.ListOptions{}
	patchOptions  = metav1.PatchOptions{FieldManager: "explore"}
	getOptions    = metav1.GetOptions{}
	// Objects are deleted as kubectl does: without a policy, the Pods of a Job would stay.
	deleteOptions = metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
)

func groupVersionResource(r inspect.Request) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
}

func groupResource(r inspect.Request) string {
	return schema.GroupResource{Group: r.Group, Resource: r.Resource}.String()
}

// desired returns the object of the seed with all changes until now.
func (p *player) desired() (map[string]any, error) {
	return generate.Edit(p.seed.object.Object, p.edits...)
}

// take takes a step. It returns the reason why that is not possible, or "".
func (p *player) take(s generate.Step) (why string) {
	ctx := context.Background()
	objects := p.customResources()
	var err error
	switch s.Verb {
	case generate.Create:
		if p.exists {
			return "the object exists"
		}
		var fields map[string]any
		if fields, err = p.desired(); err == nil {
			fields["apiVersion"] = p.resource.GroupVersion().String()
			_, err = objects.Create(ctx, &unstructured.Unstructured{Object: fields}, createOptions)
			p.exists = err == nil
		}
	case generate.Set, generate.Remove:
		p.wanted, p.pods = nil, nil
		p.edits = append(p.edits, s)
		if !p.exists {
			_, err = p.desired()
			break
		}
		err = p.change(p.resource, p.seed.object.GetNamespace(), p.seed.object.GetName(), s)
	case generate.Delete:
		if !p.exists {
			return "the object does not exist"
		}
		err = objects.Delete(ctx, p.seed.object.GetName(), deleteOptions)
		p.exists, p.wanted, p.pods = false, nil, nil
	case generate.Restart:
		p.restart()
	case generate.Fail, generate.Heal:
		p.failing = s.Verb == generate.Fail
	case generate.DeleteOwned, generate.EditOwned:
		err = p.disturb(s)
	case generate.Occupy:
		err = p.occupy(s.Object)
	case generate.Mark:
		err = p.mark(s.Object)
	case generate.Withdraw, generate.Provide:
		err = p.supply(s)
	case generate.EditNeed:
		err = p.editNeed(s)
	case generate.Neighbor:
		err = p.createBeside(p.seed.neighbor)
	case generate.Namesake:
		err = p.createBeside(p.seed.namesake)
	case generate.Upgrade:
		err = p.replaceVersion(p.next, s.Rush)
	case generate.Downgrade:
		err = p.replaceVersion(p.operatorExploration.installation, s.Rush)
	case generate.Rewrite:
		p.rewriteAll()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// change changes a field of an object by a get and an update, and tries again after a conflict.
func (p *player) change(resource schema.GroupVersionResource, namespace, name string, s generate.Step) error {
	objects := p.client.Resource(resource).Namespace(namespace)
	for tries := 0; ; tries++ {
		u, err := objects.Get(context.Background(), name, getOptions)
		if err != nil {
			return err
		}
		changed, err := generate.Edit(u.Object, s)
		if err != nil {
			return err
		}
		_, err = objects.Update(context.Background(), &unstructured.Unstructured{Object: changed}, updateOptions)
		if !apierrors.IsConflict(err) || tries > 10 {
			return err
		}
	}
}

// restart stops the operator and starts it again.
func (p *player) restart() {
	c := p.run.controllers[0]
	p.run.mu.Lock()
	i := c.instance
	p.run.mu.Unlock()
	i.stop()
	c.begin()
}

// isNamed reports whether a step names an object. It names the first one of a prefix as default/home-*1.
func isNamed(o state.Object, name string) bool {
	prefix := o.Prefix()
	return o.Name() == name || prefix != "" && state.Name(o.Resource, o.GetNamespace(), prefix+"*1") == name
}

// disturb deletes or changes an object of the operator.
func (p *player) disturb(s generate.Step) error {
	for _, o := range p.objects() {
		if !isNamed(o, s.Object) {
			continue
		}
		for _, r := range p.run.cluster.Requests() {
			if groupResource(r) != o.Resource || r.Version == "" {
				continue
			}
			resource, namespace := groupVersionResource(r), o.GetNamespace()
			if s.Verb == generate.EditOwned {
				if !isSet(o.Unstructured, s.Path, p.managers()) {
					return fmt.Errorf("the operator does not set %s of %s", s.Path, s.Object)
				}
				return p.change(resource, namespace, o.GetName(), s)
			}
			if o.Resource == "persistentvolumeclaims" {
				p.deletedClaims[o.GetUID()] = true
			}
			p.tookFromCluster = p.tookFromCluster || p.makerOf(o.Unstructured) == clusterMaker
			return p.client.Resource(resource).Namespace(namespace).Delete(context.Background(), o.GetName(), deleteOptions)
		}
	}
	return fmt.Errorf("the operator has not made %s", s.Object)
}

// managers returns the field managers of the operator's requests until now, also of a former version. Without an
// explicit one, it is the user agent up to the slash.
func (p *player) managers() map[string]bool {
	for _, r := range p.operatorRequests() {
		options, _ := url.ParseQuery(r.Options)
		agent, _, _ := strings.Cut(r.UserAgent, "/")
		p.fieldManagers[cmp.Or(options.Get("fieldManager"), agent)] = true
	}
	return p.fieldManagers
}

// direct returns the steps that lead directly to the wanted state: the current custom resource, in the same
// surroundings.
func (p *player) direct() []generate.Step {
	return append(append(p.surroundings(), p.shortened()...), create)
}

// surroundings returns the steps that lead directly to the current surroundings of the custom resource:
// missing or changed needs, failing workloads, the version of the operator.
func (p *player) surroundings() (steps []generate.Step) {
	for _, name := range slices.Sorted(maps.Keys(p.withdrawn)) {
		if p.withdrawn[name] {
			steps = append(steps, generate.Step{Verb: generate.Withdraw, Object: name})
		}
	}
	steps = append(steps, p.needEdits...)
	if p.failing {
		steps = append(steps, fail)
	}
	if p.installation == p.next {
		steps = append(steps, upgrade)
	}
	return steps
}

// shortened returns the edits without those that have no effect on the result.
func (p *player) shortened() []generate.Step {
	want, err := p.desired()
	if err != nil {
		return p.edits
	}
	edits := slices.Clone(p.edits)
	for i := range edits {
		edits[i].Rush = false
	}
	for i := 0; i < len(edits); {
		without := slices.Delete(slices.Clone(edits), i, i+1)
		if got, err := generate.Edit(p.seed.object.Object, without...); err == nil && equality.Semantic.DeepEqual(got, want) {
			edits = without
		} else {
			i++
		}
	}
	return edits
}
