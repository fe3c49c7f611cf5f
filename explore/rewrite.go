package explore

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/explore/internal/state"
)

// rewriteAll reads each custom resource in each version, changes a label in a dry run, and writes the object
// unchanged.
func (p *player) rewriteAll() {
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
func (p *player) rewrite(d *apiextensionsv1.CustomResourceDefinition) *problem {
	resource := schema.GroupVersionResource{Group: d.Spec.Group, Resource: d.Spec.Names.Plural}
	var stored string
	for _, v := range d.Spec.Versions {
		if v.Storage {
			stored = v.Name
		}
		if !v.Served {
			continue
		}
		if _, err := p.client.Resource(resource.GroupResource().WithVersion(v.Name)).List(context.Background(), listOptions); err != nil {
			return p.refused("read "+d.Name, fmt.Sprintf("%s cannot be read in the version %s", d.Name, v.Name), err)
		}
	}
	resource.Version = stored
	list, err := p.client.Resource(resource).List(context.Background(), listOptions)
	if err != nil {
		return nil // the storage version is not served
	}
	for i := range list.Items {
		if why := p.rewriteOne(resource, &list.Items[i]); why != nil {
			return why
		}
	}
	d.Status.StoredVersions = []string{stored}
	written, err := p.run.cluster.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().UpdateStatus(context.Background(), d, updateOptions)
	if err != nil {
		return p.refused("stored versions "+d.Name, "the status.storedVersions of "+d.Name+" cannot be set", err)
	}
	p.present[state.Name("customresourcedefinitions.apiextensions.k8s.io", "", d.Name)] = written.ResourceVersion
	return nil
}

// rewriteOne writes a custom resource.
func (p *player) rewriteOne(resource schema.GroupVersionResource, u *unstructured.Unstructured) *problem {
	name := state.Name(resource.GroupResource().String(), u.GetNamespace(), u.GetName())
	objects := p.client.Resource(resource).Namespace(u.GetNamespace())
	label := []byte(`{"metadata":{"labels":{"explored":"yes"}}}`)
	if _, err := objects.Patch(context.Background(), u.GetName(), types.MergePatchType, label, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return p.refused("label "+resource.Resource, "a label of "+name+" cannot be changed any more", err)
	}
	if _, err := objects.Update(context.Background(), u, updateOptions); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return p.refused("write "+resource.Resource, name+" cannot be written as it is any more", err)
	}
	return nil
}

// refused returns the problem that the server rejects a request after an upgrade.
func (p *player) refused(key, what string, err error) *problem {
	return &problem{oracle: Upgrades, key: key, step: p.step, what: what, detail: err.Error()}
}
