package builtin

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/testing/fieldstest"
	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// TestRulesThatAreDeclaredAreCheckedAsByUpstream compares declaredRules with
// upstream, for random objects of every kind in every version: it finds the same errors,
// of the rules that are declared and of all others, and leaves both objects as upstream does.
func TestRulesThatAreDeclaredAreCheckedAsByUpstream(t *testing.T) {
	c := declaredCases{T: t, generator: generator{fieldstest.Generator{Rand: seedtest.Source(seedtest.Seed(t), 0)}, allModels()}}
	for _, r := range Resources(Options{LegacyAPIs: true}, nil) {
		for _, v := range r.Versions {
			if v.Informed == nil || r.Group == apiServices.name {
				continue
			}
			ours := v.Informed(resource.Informed{})
			for range 12 {
				c.play(v, "", v.Strategy, ours)
			}
			if s := v.Subresource["status"]; s != nil && s.Informed != nil {
				for range 4 {
					c.play(v, "status", s.Strategy, s.Informed(resource.Informed{}))
				}
			}
		}
	}
	if c.passed < 500 || c.refused < 20 {
		t.Errorf("%d objects passed, %d were refused", c.passed, c.refused)
	}
}

type declaredCases struct {
	*testing.T
	generator
	passed, refused int
}

// play compares a create and updates.
func (c *declaredCases) play(v *resource.Version, subresource string, upstream, ours registryrest.RESTUpdateStrategy) {
	name, err := resource.ModelName(legacyscheme.Scheme, v.Kind())
	if err != nil || c.models[name] == nil {
		c.Fatalf("%s has no model: %v", v.Kind(), err)
	}
	before := c.whole(c.models[name])
	after := c.Changed(before, c.whole(c.models[name]), 10, isKey).(map[string]any)
	old, obj := c.object(v, before), c.object(v, after)
	if old == nil || obj == nil {
		return
	}
	ctx := klog.NewContext(context.Background(), logr.Discard()) // upstream logs where its two sets of rules differ
	ctx = apirequest.WithRequestInfo(ctx, &apirequest.RequestInfo{
		APIGroup: v.Resource.Group, APIVersion: v.Name, Resource: v.Resource.Names.Plural, Subresource: subresource,
	})
	if subresource == "" {
		c.creates(ctx, v, obj, upstream.(registryrest.DeclarativeValidationStrategy), ours.(registryrest.DeclarativeValidationStrategy))
	}
	c.updates(ctx, v, obj, old, upstream, ours)
	c.updates(ctx, v, old.DeepCopyObject(), old, upstream, ours)
}

// object is an object as the strategy of a version sees it; nil: the tree is not such an object.
func (c *declaredCases) object(v *resource.Version, tree map[string]any) runtime.Object {
	obj, err := legacyscheme.Scheme.New(v.Kind())
	if err != nil {
		c.Fatal(err)
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(tree, obj) != nil {
		return nil
	}
	legacyscheme.Scheme.Default(obj)
	hub, err := legacyscheme.Scheme.ConvertToVersion(obj, internalIn(v.Resource.Group))
	if err != nil {
		return nil
	}
	return hub
}

// creates compares the errors of declared rules about a new object.
func (c *declaredCases) creates(ctx context.Context, v *resource.Version, obj runtime.Object, upstream, ours registryrest.DeclarativeValidationStrategy) {
	c.Helper()
	check := func(s registryrest.DeclarativeValidationStrategy) field.ErrorList {
		own := obj.DeepCopyObject()
		errs := s.ValidateDeclaratively(ctx, own, nil, nil, operation.Create, s.DeclarativeValidationConfig(ctx, own, nil))
		if !reflect.DeepEqual(own, obj) {
			c.Errorf("%s: %T altered an object", v.Kind(), s)
		}
		return errs
	}
	c.same(v, "a create", check(upstream), check(ours))
}

// updates compares the errors of all rules about an update.
func (c *declaredCases) updates(ctx context.Context, v *resource.Version, obj, old runtime.Object, upstream, ours registryrest.RESTUpdateStrategy) {
	c.Helper()
	check := func(s registryrest.RESTUpdateStrategy) (field.ErrorList, runtime.Object) {
		own, from := obj.DeepCopyObject(), old.DeepCopyObject()
		errs := registryrest.ValidateUpdate(ctx, own, from, s)
		if !reflect.DeepEqual(from, old) {
			c.Errorf("%s: %T altered the old object", v.Kind(), s)
		}
		return errs, own
	}
	want, wantObj := check(upstream)
	got, gotObj := check(ours)
	c.same(v, "an update", want, got)
	if !reflect.DeepEqual(wantObj, gotObj) {
		c.Errorf("%s: an update leaves (-upstream +ours):\n%s", v.Kind(), cmp.Diff(wantObj, gotObj))
	}
}

// same compares the errors of an operation.
func (c *declaredCases) same(v *resource.Version, operation string, want, got field.ErrorList) {
	c.Helper()
	if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
		c.Errorf("%s: %s (-upstream +ours):\n%s", v.Kind(), operation, diff)
	}
	if len(want) == 0 {
		c.passed++
	} else {
		c.refused++
	}
}

// texts are errors in order: upstream looks at the entries of a map in any.
func texts(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	slices.Sort(out)
	return out
}
