package typed

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/randfill"

	"github.com/fakecluster/fakecluster/internal/schema"
	"github.com/fakecluster/fakecluster/internal/seedtest"
)

// kinds are types with all that the API has: lists by key, maps, quantities, times, bytes,
// types that encode themselves, recursive types.
var kinds = []runtime.Object{
	&appsv1.Deployment{}, &corev1.Pod{}, &corev1.Secret{}, &corev1.Node{}, &corev1.Service{}, &corev1.Event{}, &eventsv1.Event{},
	&autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.Ingress{}, &rbacv1.ClusterRole{}, &resourcev1.ResourceClaim{},
	&apiextensionsv1.CustomResourceDefinition{},
}

// values are the random values of types of which not any will do.
func values(serializer.CodecFactory) []any {
	return []any{
		func(q *apiresource.Quantity, c randfill.Continue) {
			text := []string{"1", "100m", "1000m", "1Gi", "1024Mi", "0", "1e3", "123456789123456789123456789"}[c.Intn(8)]
			*q = apiresource.MustParse(text)
			if c.Bool() {
				_ = q.String()
			}
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(7), intstr.FromString("25%"), intstr.FromString("")}[c.Intn(4)]
		},
		func(v *runtime.RawExtension, c randfill.Continue) {
			*v = runtime.RawExtension{Raw: []byte(`{"a":[1,null,"<b>"]}`)}
		},
		func(v *apiextensionsv1.JSON, c randfill.Continue) {
			v.Raw = []byte([]string{`{"b":1,"a":[true]}`, `"x"`, `1`}[c.Intn(3)])
		},
		func(v *apiextensionsv1.JSONSchemaProps, c randfill.Continue) {
			c.FillNoCustom(&v.Description)
			v.Type = "object"
			c.Fill(&v.Default)
			c.Fill(&v.Required)
			if c.Intn(3) > 0 {
				v.Properties = map[string]apiextensionsv1.JSONSchemaProps{"a": {}}
				of := apiextensionsv1.JSONSchemaProps{}
				if c.Intn(3) == 0 {
					c.Fill(&of)
				}
				v.Properties["b"] = of
				v.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}
				v.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}
			}
		},
	}
}

// random makes random objects of a type.
func random(r *rand.Rand, of runtime.Object, n int) []runtime.Object {
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, values), source{r},
		serializer.NewCodecFactory(runtime.NewScheme()))
	out := make([]runtime.Object, n)
	for i := range out {
		out[i] = reflect.New(reflect.TypeOf(of).Elem()).Interface().(runtime.Object)
		filler.Fill(out[i])
		if i%2 == 1 { // a part of it is as in the one before
			a, b := reflect.ValueOf(out[i-1].DeepCopyObject()).Elem(), reflect.ValueOf(out[i]).Elem()
			for f := range a.NumField() {
				if f%2 == i/2%2 {
					b.Field(f).Set(a.Field(f))
				}
			}
		}
	}
	return out
}

// source is a source of random numbers as the old package wants it.
type source struct{ *rand.Rand }

func (s source) Int63() int64 { return s.Int64() }
func (source) Seed(int64)     {}

// objects runs a test for random objects of each kind.
func objects(t *testing.T, test func(t *testing.T, all []runtime.Object)) {
	randomly(t, func(t *testing.T, _ *rand.Rand, all []runtime.Object) { test(t, all) })
}

// randomly is objects for a test that is random itself.
func randomly(t *testing.T, test func(t *testing.T, r *rand.Rand, all []runtime.Object)) {
	for _, of := range kinds {
		t.Run(reflect.TypeOf(of).Elem().String(), func(t *testing.T) {
			r := seedtest.Source(seedtest.Seed(t), 0)
			test(t, r, random(r, of, 20))
		})
	}
}

func tree(t *testing.T, obj any) map[string]any {
	t.Helper()
	tree, err := Tree(obj)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func text(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestATreeIsTheJSONOfAnObject(t *testing.T) {
	objects(t, func(t *testing.T, all []runtime.Object) {
		for _, obj := range all {
			before := obj.DeepCopyObject()
			got := tree(t, obj)
			var want map[string]any
			if err := utiljson.Unmarshal(text(t, obj), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("not as encoding/json has it (-want +got):\n%s", diff)
			}
			if !reflect.DeepEqual(before, obj) {
				t.Error("the object has been altered")
			}
		}
	})
}

func TestSettledIsAsReadFromJSON(t *testing.T) {
	objects(t, func(t *testing.T, all []runtime.Object) {
		for _, obj := range all {
			want := reflect.New(reflect.TypeOf(obj).Elem()).Interface()
			if err := utiljson.Unmarshal(text(t, obj), want); err != nil {
				t.Fatal(err)
			}
			got := obj.DeepCopyObject()
			if !Settle(got) {
				t.Fatal("not settled")
			}
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("not as it is read (-want +got):\n%s", cmp.Diff(want, got))
			}
		}
	})
}

func TestAssignMakesOneObjectOfAnother(t *testing.T) {
	objects(t, func(t *testing.T, all []runtime.Object) {
		for i := 0; i < len(all); i += 2 {
			was, is := tree(t, all[i]), tree(t, all[i+1])
			share(was, is)
			want := reflect.New(reflect.TypeOf(all[i]).Elem()).Interface()
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(is, want); err != nil {
				t.Fatal(err)
			}
			got := all[i].DeepCopyObject()
			if err := Assign(got, was, is); err != nil {
				t.Fatal(err)
			}
			// What is equal keeps its text, and the converter writes the fields of free JSON,
			// such as a default, in another order.
			if diff := cmp.Diff(read(t, want), read(t, got)); diff != "" {
				t.Fatalf("not as converted (-want +got):\n%s", diff)
			}
		}
	})
}

// read is what a client reads of an object.
func read(t *testing.T, obj any) (tree any) {
	t.Helper()
	if err := utiljson.Unmarshal(text(t, obj), &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// share puts into a tree what is equal in another, as a merge does.
func share(was, is map[string]any) {
	for name, to := range is {
		from, ok := was[name]
		if !ok {
			continue
		}
		if reflect.DeepEqual(from, to) {
			is[name] = from
			continue
		}
		if l, ok := from.(map[string]any); ok {
			if r, ok := to.(map[string]any); ok {
				share(l, r)
			}
		}
	}
}

func TestDifferHasWhatDiffers(t *testing.T) {
	objects(t, func(t *testing.T, all []runtime.Object) {
		_, hasOwnJSON := all[0].(*apiextensionsv1.CustomResourceDefinition)
		if _, ok := all[0].(*resourcev1.ResourceClaim); ok {
			hasOwnJSON = true
		}
		compared := 0
		for i := 0; i < len(all); i += 2 {
			a, b := all[i].DeepCopyObject(), all[i+1].DeepCopyObject()
			if !Settle(a) || !Settle(b) {
				t.Fatal("not settled")
			}
			x, y, err := Differ(a, b, nil)
			if errors.Is(err, ErrUnsettled) && hasOwnJSON {
				continue // in a list
			}
			if err != nil {
				t.Fatal(err)
			}
			compared++
			is, was := tree(t, a), tree(t, b)
			overlay(t, is, x, y)
			if diff := cmp.Diff(was, is); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if x, y, err := Differ(a, a.DeepCopyObject(), nil); err != nil || len(x)+len(y) > 0 {
				t.Errorf("an object differs from its copy in %v and %v: %v", x, y, err)
			}
		}
		if compared == 0 {
			t.Error("no objects were compared")
		}
	})
}

// overlay changes a tree by what differs between it and another, and checks that nothing
// else is there.
func overlay(t *testing.T, obj, x, y map[string]any) {
	t.Helper()
	for name := range x {
		if _, ok := y[name]; !ok {
			delete(obj, name)
		}
	}
	for name, to := range y {
		from, had := x[name]
		if had && reflect.DeepEqual(from, to) {
			t.Errorf("%s is in both, and the same: %v", name, to)
		}
		l, ok1 := from.(map[string]any)
		r, ok2 := to.(map[string]any)
		into, ok3 := obj[name].(map[string]any)
		if ok1 && ok2 && ok3 {
			overlay(t, into, l, r)
			continue
		}
		obj[name] = to
	}
}

func TestDifferSharesItemsThatAreTheSame(t *testing.T) {
	pod := func(image string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "x"}, {Name: "b", Image: image}}}}
	}
	x, y, err := Differ(pod("1"), pod("2"), nil)
	if err != nil {
		t.Fatal(err)
	}
	item := func(tree map[string]any, i int) map[string]any {
		return tree["spec"].(map[string]any)["containers"].([]any)[i].(map[string]any)
	}
	if mapAddress(item(x, 0)) != mapAddress(item(y, 0)) {
		t.Error("the first item is not one value")
	}
	if item(x, 1)["image"] != "1" || item(y, 1)["image"] != "2" || len(x["spec"].(map[string]any)) != 1 {
		t.Errorf("got %v and %v", x, y)
	}
}

func TestOfItemsWithTheSameKeysDifferHasTheKeysAndWhatDiffers(t *testing.T) {
	list := func(items *schema.Node, keys ...string) *schema.Node {
		return &schema.Node{Type: "array", List: schema.MapList, Keys: keys, Items: items}
	}
	fields := func(fields map[string]*schema.Node) *schema.Node {
		return &schema.Node{Type: "object", Properties: fields}
	}
	port := fields(nil)
	container := fields(map[string]*schema.Node{"ports": list(port, "containerPort", "protocol"), "args": {Type: "array"}})
	pod := fields(map[string]*schema.Node{"spec": fields(map[string]*schema.Node{"containers": list(container, "name")})})

	for name, test := range map[string]struct{ was, is, x, y string }{
		"a field": {
			`[{"name":"a","image":"1","tty":true},{"name":"b","image":"1"}]`, `[{"name":"a","image":"1","tty":true},{"name":"b","image":"2"}]`,
			`[{"name":"a"},{"name":"b","image":"1"}]`, `[{"name":"a"},{"name":"b","image":"2"}]`,
		},
		"an item before others": {
			`[{"name":"a","image":"1"},{"name":"b","image":"2"}]`, `[{"name":"a","image":"2"},{"name":"b","image":"2"}]`,
			`[{"name":"a","image":"1"},{"name":"b"}]`, `[{"name":"a","image":"2"},{"name":"b"}]`,
		},
		"an item more": {
			`[{"name":"a","image":"1"}]`, `[{"name":"a","image":"1"},{"name":"b","image":"2"}]`,
			`[{"name":"a"}]`, `[{"name":"a"},{"name":"b","image":"2"}]`,
		},
		"another order": {
			`[{"name":"a","image":"1"},{"name":"b","image":"2"},{"name":"c","image":"3"}]`, `[{"name":"b","image":"2"},{"name":"a","image":"1"},{"name":"c","image":"3"}]`,
			`[{"name":"a","image":"1"},{"name":"b","image":"2"},{"name":"c"}]`, `[{"name":"b","image":"2"},{"name":"a","image":"1"},{"name":"c"}]`,
		},
		"keys that repeat": {
			`[{"name":"a","image":"1"},{"name":"a","image":"2"}]`, `[{"name":"a","image":"1"},{"name":"a","image":"3"}]`,
			`[{"name":"a"},{"name":"a","image":"2"}]`, `[{"name":"a"},{"name":"a","image":"3"}]`,
		},
		"a list in an item": {
			`[{"name":"a","ports":[{"containerPort":1,"hostIP":"x"},{"containerPort":1,"protocol":"UDP","hostIP":"x"}]}]`,
			`[{"name":"a","ports":[{"containerPort":1,"hostIP":"y"},{"containerPort":1,"protocol":"UDP","hostIP":"x"}]}]`,
			`[{"name":"a","ports":[{"containerPort":1,"hostIP":"x"},{"containerPort":1,"protocol":"UDP"}]}]`,
			`[{"name":"a","ports":[{"containerPort":1,"hostIP":"y"},{"containerPort":1,"protocol":"UDP"}]}]`,
		},
		"a key that one item does not have": {
			`[{"name":"a","ports":[{"containerPort":1,"hostIP":"x"}]}]`, `[{"name":"a","ports":[{"containerPort":1,"protocol":"TCP","hostIP":"x"}]}]`,
			`[{"name":"a","ports":[{"containerPort":1,"hostIP":"x"}]}]`, `[{"name":"a","ports":[{"containerPort":1,"protocol":"TCP","hostIP":"x"}]}]`,
		},
		"a list without keys in an item": {
			`[{"name":"a","image":"1","args":["x","y"]}]`, `[{"name":"a","image":"1","args":["x","z"]}]`,
			`[{"name":"a","args":["x","y"]}]`, `[{"name":"a","args":["x","z"]}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := func(containers string) *corev1.Pod {
				p := &corev1.Pod{}
				if err := json.Unmarshal([]byte(`{"spec":{"containers":`+containers+`}}`), p); err != nil {
					t.Fatal(err)
				}
				return p
			}
			x, y, err := Differ(object(test.was), object(test.is), pod)
			if err != nil {
				t.Fatal(err)
			}
			for _, side := range []struct {
				want string
				got  map[string]any
			}{{test.x, x}, {test.y, y}} {
				want := any(nil)
				if err := utiljson.Unmarshal([]byte(side.want), &want); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(map[string]any{"spec": map[string]any{"containers": want}}, withoutResources(side.got)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// withoutResources removes the resources of containers, an empty struct that JSON always has.
func withoutResources(pod map[string]any) map[string]any {
	for _, c := range pod["spec"].(map[string]any)["containers"].([]any) {
		delete(c.(map[string]any), "resources")
	}
	return pod
}

func TestListsThatDifferOnlyAsGoValuesAreUnsettled(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		term := corev1.PodAffinityTerm{TopologyKey: "a"}
		p := &corev1.Pod{Spec: corev1.PodSpec{
			Affinity:    &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}},
			Containers:  []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": apiresource.MustParse("1")}}}},
			Tolerations: []corev1.Toleration{{Key: "a"}},
		}}
		change(p)
		return p
	}
	terms := func(p *corev1.Pod) []corev1.PodAffinityTerm {
		return p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   error
	}{
		"an empty list in a list": {func(p *corev1.Pod) { terms(p)[0].Namespaces = []string{} }, ErrUnsettled},
		"a number that was computed": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits["cpu"] = *apiresource.NewQuantity(1, apiresource.DecimalSI)
		}, ErrUnsettled},
		"the same number in other words":     {func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits["cpu"] = apiresource.MustParse("1000m") }, ErrUnsettled},
		"an empty list that is in no list":   {func(p *corev1.Pod) { p.Finalizers = []string{} }, nil},
		"an empty list beside other changes": {func(p *corev1.Pod) { terms(p)[0].TopologyKey, terms(p)[0].Namespaces = "b", []string{} }, ErrUnsettled},
		"another value":                      {func(p *corev1.Pod) { terms(p)[0].TopologyKey = "b" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Differ(pod(func(*corev1.Pod) {}), pod(test.change), nil); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestAssignRefuses(t *testing.T) {
	for name, is := range map[string]map[string]any{
		"a field that the type does not have":    {"spec": map[string]any{"colour": "red"}},
		"a number in place of a text":            {"metadata": map[string]any{"name": int64(1)}},
		"a text in place of a number":            {"spec": map[string]any{"replicas": "1"}},
		"a number that is too large":             {"spec": map[string]any{"replicas": int64(1) << 40}},
		"a number with a fraction":               {"spec": map[string]any{"replicas": 1.5}},
		"a list in place of a map":               {"spec": []any{}},
		"a map in place of a list":               {"metadata": map[string]any{"finalizers": map[string]any{}}},
		"a time that cannot be read":             {"metadata": map[string]any{"creationTimestamp": "yesterday"}},
		"a number in place of a text in a list":  {"metadata": map[string]any{"finalizers": []any{int64(1)}}},
		"a number in place of a text in a map":   {"metadata": map[string]any{"labels": map[string]any{"a": int64(1)}}},
		"a boolean in place of an int or string": {"spec": map[string]any{"strategy": map[string]any{"rollingUpdate": map[string]any{"maxSurge": true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{}
			if err := Assign(d, tree(t, d), is); err == nil {
				t.Errorf("no error; the object is %v", d)
			}
		})
	}
}

func TestTypesWhoseJSONCannotBeToldAreRefused(t *testing.T) {
	type inner struct{ A string }
	for name, obj := range map[string]any{
		"no pointer":             struct{}{},
		"a pointer to a text":    new(string),
		"an interface":           &struct{ A any }{},
		"keys that are no texts": &struct{ A map[int]string }{},
		"a pointer is embedded":  &struct{ *inner }{},
		"numbers as strings": &struct {
			A int `json:",string"`
		}{}, //nolint
		"a name that comes twice": &struct {
			metav1.TypeMeta
			Own string `json:"kind"`
		}{},
		"a type encodes itself": &metav1.Time{},
	} {
		t.Run(name, func(t *testing.T) {
			if tree, err := Tree(obj); err == nil {
				t.Errorf("no error, and the tree %v", tree)
			}
		})
	}
}

func BenchmarkTree(b *testing.B) {
	d := deployment(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Tree(d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkToUnstructured(b *testing.B) {
	d := deployment(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDiffer(b *testing.B) {
	d := deployment(b)
	e := d.DeepCopy()
	e.Spec.Paused = true
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Differ(d, e, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSettle(b *testing.B) {
	d := deployment(b)
	b.ReportAllocs()
	for b.Loop() {
		if !Settle(d) {
			b.Fatal("not settled")
		}
	}
}

// deployment is one as users write them.
func deployment(tb testing.TB) *appsv1.Deployment {
	tb.Helper()
	container := corev1.Container{
		Name: "web", Image: "example.com/web:1", Args: []string{"--listen=:8080"},
		Env:       []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "C", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
		Ports:     []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": apiresource.MustParse("100m"), "memory": apiresource.MustParse("1Gi")}},
	}
	labels := map[string]string{"app": "web", "tier": "front", "team": "shop"}
	replicas := int32(3)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Labels: labels, CreationTimestamp: metav1.Now()},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container, container}}},
		},
	}
}
