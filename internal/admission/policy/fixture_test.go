package policy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	restadmission "github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/admission/policy"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/store"
)

// configured are the objects that a plugin is made of.
type configured struct{ validating, validatingBindings, mutating, mutatingBindings []store.Record }

func record(kind, name, spec string) store.Record {
	return store.Record{
		Key: "/registry/" + kind + "/" + name,
		Value: fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":%q,"metadata":{"name":%q},"spec":{
			"failurePolicy":"Fail",%s}}`, kind, name, spec),
	}
}

// constraints are defaulted, as what is stored is.
func constraints(more, resources string) string {
	return fmt.Sprintf(`"matchConstraints":{"matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},%s
		"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":[%q],"scope":"*"}]}`, more, resources)
}

// validate adds a policy and a binding of the same name that denies.
func (c *configured) validate(name, spec string) {
	c.validating = append(c.validating, record("ValidatingAdmissionPolicy", name, spec))
	c.validatingBindings = append(c.validatingBindings, record("ValidatingAdmissionPolicyBinding", name,
		fmt.Sprintf(`"policyName":%q,"validationActions":["Deny"]`, name)))
}

func (c *configured) mutate(name, spec string) {
	c.mutating = append(c.mutating, record("MutatingAdmissionPolicy", name, spec))
	c.mutatingBindings = append(c.mutatingBindings, record("MutatingAdmissionPolicyBinding", name, fmt.Sprintf(`"policyName":%q`, name)))
}

func (c *configured) plugin(t testing.TB) restadmission.Plugin {
	t.Helper()
	p, err := policy.New(nil, c.validating, c.validatingBindings, c.mutating, c.mutatingBindings)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// world is a cluster with one namespace.
type world struct {
	registry *resource.Registry
	objects  map[string]runtime.Object // by name
}

func newWorld() *world {
	return &world{registry: resource.NewRegistry(1, builtin.Resources(builtin.Options{}, nil), nil)}
}

// serveConfigMapsAs has ConfigMaps served in a version, and nothing else.
func (w *world) serveConfigMapsAs(v *resource.Version) {
	r := *v.Resource
	r.Versions, r.Storage = []*resource.Version{v}, v
	v.Resource = &r
	w.registry = resource.NewRegistry(1, []*resource.Resource{&r}, nil)
}

func (w *world) Registry() *resource.Registry { return w.registry }
func (*world) Now() time.Time                 { return time.Unix(0, 0) }
func (*world) Authorizer() authorizer.UnconditionalAuthorizer {
	return authorizerfactory.NewAlwaysAllowAuthorizer()
}
func (*world) HookClient(webhook.ClientConfig, bool) (*rest.RESTClient, error) {
	return nil, fmt.Errorf("there are no webhooks")
}

func (*world) Namespace(name string) (*corev1.Namespace, error) {
	if name != "default" {
		return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), name)
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"env": "test"}}}, nil
}

func (w *world) Get(v *resource.Version, _, name string) (runtime.Object, error) {
	if obj, ok := w.objects[name]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(v.Resource.GroupResource(), name)
}

func (*world) List(*resource.Version, string, labels.Selector) ([]runtime.Object, error) {
	return nil, nil
}

// create is the creation of a ConfigMap.
func (w *world) create(ctx context.Context, data map[string]string) *restadmission.Write {
	v := w.registry.Resource("", "configmaps").Storage
	obj := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", Labels: map[string]string{"app": "a"}},
		Data:       data,
	}
	return restadmission.NewWrite(ctx, admission.NewAttributesRecord(obj, nil, v.Kind(), "default", "a", v.GroupVersionResource(), "",
		admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "me"}), v, w)
}
