package builtin

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	api "k8s.io/kubernetes/pkg/apis/core"
	schedulingv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
)

var update = flag.Bool("update", false, "write initial.txt anew")

// initialObject is how kube-apiserver makes an object at its start.
type initialObject struct {
	object  runtime.Object
	manager string // empty: kube-apiserver
	// allocated fills in what the server allocates, which belongs to no manager.
	allocated func(obj runtime.Object)
	// applied is a status that applier applies.
	applied map[string]any
	applier string
}

// initialObjects are all of them except the namespaced kinds' maps of bootstrappolicy, which
// are sorted by the file anyway.
func initialObjects() []initialObject {
	const producer, consumer = "api-priority-and-fairness-config-producer-v1", "api-priority-and-fairness-config-consumer-v1"
	var objects []initialObject
	add := func(objs ...runtime.Object) {
		for _, obj := range objs {
			objects = append(objects, initialObject{object: obj})
		}
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, role := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		add(&role)
	}
	for _, binding := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		add(&binding)
	}
	for namespace, roles := range bootstrappolicy.NamespaceRoles() {
		for _, role := range roles {
			role.Namespace = namespace
			add(&role)
		}
	}
	for namespace, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, binding := range bindings {
			binding.Namespace = namespace
			add(&binding)
		}
	}
	for _, class := range schedulingv1.SystemPriorityClasses() {
		add(class.DeepCopy())
	}
	for _, level := range append(slices.Clone(bootstrap.SuggestedPriorityLevelConfigurations), bootstrap.MandatoryPriorityLevelConfigurations...) {
		objects = append(objects, initialObject{object: level.DeepCopy(), manager: producer})
	}
	for _, flow := range append(slices.Clone(bootstrap.SuggestedFlowSchemas), bootstrap.MandatoryFlowSchemas...) {
		objects = append(objects, initialObject{object: flow.DeepCopy(), manager: producer, applier: consumer, applied: map[string]any{
			"type": string(flowcontrolv1.FlowSchemaConditionDangling), "status": "False", "reason": "Found",
			"message": fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", flow.Spec.PriorityLevelConfiguration.Name),
		}})
	}
	objects = append(objects, initialObject{
		object:  &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.0.0.0/24"}}},
		applier: "kubernetes-service-cidr-controller",
		applied: map[string]any{"type": networkingv1.ServiceCIDRConditionReady, "status": "True", "message": "Kubernetes default Service CIDR is ready"},
	})
	add(kubernetesAddress())
	singleStack := corev1.IPFamilyPolicySingleStack
	inDefault := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}
	service := &corev1.Service{ObjectMeta: inDefault, Spec: corev1.ServiceSpec{
		Ports:     []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt32(6443)}},
		ClusterIP: "10.0.0.1", IPFamilyPolicy: &singleStack, SessionAffinity: corev1.ServiceAffinityNone, Type: corev1.ServiceTypeClusterIP,
	}}
	service.Labels = map[string]string{"provider": "kubernetes", "component": "apiserver"}
	objects = append(objects, initialObject{object: service, allocated: func(obj runtime.Object) {
		spec := &obj.(*api.Service).Spec
		spec.ClusterIPs, spec.IPFamilies = []string{"10.0.0.1"}, []api.IPFamily{api.IPv4Protocol}
	}})
	// The address is one that is reserved for examples: a cluster may have several addresses,
	// or none, and all of them are loopback ones, which an Endpoints object must not have.
	const address = "192.0.2.1"
	//lint:ignore SA1019 a real server still makes them
	endpoints := &corev1.Endpoints{ObjectMeta: inDefault, Subsets: []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: address}},
		Ports:     []corev1.EndpointPort{{Name: "https", Port: 6443, Protocol: corev1.ProtocolTCP}},
	}}}
	endpoints.Labels = map[string]string{discoveryv1.LabelSkipMirror: "true"}
	port, ready := &endpoints.Subsets[0].Ports[0], true
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: inDefault, AddressType: discoveryv1.AddressTypeIPv4,
		Ports:     []discoveryv1.EndpointPort{{Name: &port.Name, Port: &port.Port, Protocol: &port.Protocol}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: "kubernetes"}
	add(endpoints, slice)

	inSystem := metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "extension-apiserver-authentication"}
	add(&corev1.ConfigMap{ObjectMeta: inSystem, Data: map[string]string{}})
	inSystem.Name = "kube-apiserver-legacy-service-account-token-tracking"
	add(&corev1.ConfigMap{ObjectMeta: inSystem, Data: map[string]string{"since": placeDate}})
	return objects
}

func kubernetesAddress() runtime.Object {
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: "10.0.0.1", Labels: map[string]string{
			networkingv1.LabelIPAddressFamily: "IPv4", networkingv1.LabelManagedBy: "ipallocator.k8s.io",
		}},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "default", Name: "kubernetes"}},
	}
}

// text makes the object as the write pipeline would, and returns its key and what is stored
// of it, with placeholders.
func (o initialObject) text(t *testing.T, resources []*resource.Resource) (key, text string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%T: %v", o.object, err)
		}
	}
	manager := o.manager
	if manager == "" {
		manager = "kube-apiserver"
	}
	v := versionOf(t, resources, o.object)
	v.Codec.Objects().Default(o.object)
	obj := v.Codec.New()
	must(v.Codec.Objects().Convert(o.object, obj, nil))
	metadata, err := meta.Accessor(obj)
	must(err)
	ctx := background(v.Resource.Group, v.Resource.Names.Plural)
	ctx = apirequest.WithNamespace(ctx, metadata.GetNamespace())
	obj, _, err = v.FieldManager.Update(resource.Decoded{Object: v.Codec.New()}, obj, manager, metav1.Now())
	must(err)
	if o.allocated != nil {
		o.allocated(obj)
	}
	metadata, err = meta.Accessor(obj)
	must(err)
	metadata.SetUID(placeUID)
	metadata.SetCreationTimestamp(metav1.Now())
	must(registryrest.BeforeCreate(v.Strategy, ctx, obj))
	if errs := v.Strategy.Validate(ctx, obj); len(errs) > 0 {
		t.Fatalf("%T %s: %v", o.object, metadata.GetName(), errs.ToAggregate())
	}

	status := v.Subresource["status"]
	if o.applied != nil {
		condition := maps.Clone(o.applied)
		condition["lastTransitionTime"] = time.Now().UTC().Format(time.RFC3339)
		configuration := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": metadata.GetName()},
			"status":   map[string]any{"conditions": []any{condition}},
		}}
		configuration.SetGroupVersionKind(v.Kind())
		obj, _, err = status.FieldManager.Apply(resource.Decoded{Object: obj}, configuration, o.applier, true, metav1.Now())
		must(err)
	}
	metadata, err = meta.Accessor(obj)
	must(err)
	metadata.SetResourceVersion("1")
	stored, err := v.Resource.Storage.Codec.EncodeToStore(resource.Decoded{Object: obj})
	must(err)
	text = regexp.MustCompile(`"(time|creationTimestamp|lastTransitionTime)":"[^"]*"`).ReplaceAllString(string(stored.Text), `"$1":"`+strings.ReplaceAll(placeTime, "$", "$$")+`"`)
	text = strings.Replace(text, `"resourceVersion":"1"`, `"resourceVersion":"`+placeRevision+`"`, 1)
	return v.Resource.Key(metadata.GetNamespace(), metadata.GetName()), text
}

// versionOf is the stored version of the kind of an object.
func versionOf(t *testing.T, resources []*resource.Resource, obj runtime.Object) *resource.Version {
	t.Helper()
	for _, r := range resources {
		if r.Storage.Strategy == nil {
			continue
		}
		kinds, _, err := r.Storage.Codec.Objects().ObjectKinds(obj)
		if err == nil && slices.Contains(kinds, r.Storage.Kind()) && r.Storage.Resource == r {
			return r.Storage
		}
	}
	t.Fatalf("no kind for %T", obj)
	return nil
}

// TestInitialObjects makes the objects anew, by upstream's code.
func TestInitialObjects(t *testing.T) {
	resources := Resources(Options{}, crd.Definitions(false))
	var lines []string
	for _, o := range initialObjects() {
		key, text := o.text(t, resources)
		lines = append(lines, key+" "+text+"\n")
	}
	slices.Sort(lines)
	file, want := "initial.txt", initialText
	if release.Suffix(release.Version()) != "" {
		older, err := initialOlder.ReadFile(olderFile(release.Version()))
		if err != nil && !*update {
			t.Fatal(err)
		}
		file, want, lines = olderFile(release.Version()), string(older), differences(lines)
	}
	made := strings.Join(lines, "")
	if *update {
		if err := os.WriteFile(file, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(strings.Split(made, "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("%s (-made +file); -update writes it anew:\n%s", file, diff)
	}
}

// differences returns the lines that are not in initial.txt, and the keys of its objects that have no line.
func differences(lines []string) []string {
	key := func(line string) string { return strings.Fields(line)[0] }
	have := map[string]bool{}
	var texts []string
	newest := slices.Collect(strings.Lines(initialText))
	for _, line := range lines {
		have[key(line)] = true
		if !slices.Contains(newest, line) {
			texts = append(texts, line)
		}
	}
	for _, line := range newest {
		if !have[key(line)] {
			texts = append(texts, key(line)+"\n")
		}
	}
	slices.Sort(texts)
	return texts
}

// The objects of older versions are made in processes of their own, whose feature gates are those of the version.
func TestInitialObjectsOfOlderVersions(t *testing.T) {
	older := release.Names()[:len(release.Names())-1]
	if entries, err := initialOlder.ReadDir("."); err != nil || !*update && len(entries) != len(older) {
		t.Errorf("there are %d files initial-*.txt, want those of %v", len(entries), older)
	}
	for _, minor := range older {
		t.Run(minor, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestInitialObjects$", "-update="+strconv.FormatBool(*update))
			child.Env = append(os.Environ(), release.Variable+"="+minor)
			if output, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
}

func TestAPIServicesOfTheServersOwnVersions(t *testing.T) {
	resources := Resources(Options{}, crd.Definitions(false))
	for _, gv := range []schema.GroupVersion{{Version: "v1"}, {Group: "apps", Version: "v1"}, {Group: "autoscaling", Version: "v2"}} {
		made := initialObject{
			object: &apiregistrationv1.APIService{
				ObjectMeta: metav1.ObjectMeta{Name: gv.Version + "." + gv.Group, Labels: map[string]string{"kube-aggregator.kubernetes.io/automanaged": "onstart"}},
				Spec: apiregistrationv1.APIServiceSpec{
					Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: int32(priorities[gv].Group), VersionPriority: int32(priorities[gv].Version),
				},
			},
		}
		key, want := made.text(t, resources)
		if key != "/registry/apiservices/"+apiServiceName(gv) {
			t.Errorf("%s: the key is %s", gv, key)
		}
		got, _ := localAPIService(gv)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-made +got):\n%s", gv, diff)
		}
	}
}

// TestPrioritiesAreThoseOfKubeAPIServer reads them in upstream's sources.
func TestPrioritiesAreThoseOfKubeAPIServer(t *testing.T) {
	real := map[schema.GroupVersion]resource.Priority{}
	row := regexp.MustCompile(`\{Group: "([^"]*)", Version: "([^"]*)"\}: +\{Group: (\d+), Version: (\d+)\}`)
	folder := upstreamFolder(t)
	for _, name := range []string{"pkg/controlplane/apiserver/aggregator.go", "cmd/kube-apiserver/app/aggregator.go"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range row.FindAllStringSubmatch(string(text), -1) {
			group, _ := strconv.Atoi(m[3])
			version, _ := strconv.Atoi(m[4])
			real[schema.GroupVersion{Group: m[1], Version: m[2]}] = resource.Priority{Group: group, Version: version}
		}
	}
	versions := map[schema.GroupVersion]bool{{Group: definitions.name, Version: "v1"}: true, {Group: definitions.name, Version: "v1beta1"}: true}
	for _, g := range groups {
		for _, k := range g.kinds { // also those whose feature gate is off
			for _, name := range slices.Concat(k.versions, k.optional, k.legacy) {
				versions[schema.GroupVersion{Group: g.name, Version: name}] = true
			}
		}
	}
	for gv := range versions {
		switch got, want := priorities[gv], real[gv]; {
		case gv.Group == apiServices.name:
			if _, ok := priorities[gv]; ok {
				t.Errorf("%s has a priority", gv)
			}
		case want == resource.Priority{}: // of versions that only earlier releases served
			if gv != (schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1beta1"}) {
				t.Errorf("kube-apiserver has no priority for %s", gv)
			}
		case got != want:
			t.Errorf("%s: the priority is %v, and of a real server %v: write that of the real server into priorities in apiservice.go", gv, got, want)
		}
	}
	if len(real) < 50 {
		t.Errorf("only %d priorities have been read", len(real))
	}
}

func TestAClusterBeginsWithTheObjectsOfARealServer(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "initial-objects.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(text)) {
		want = append(want, strings.TrimSpace(line))
	}
	slices.Sort(want)

	resources := Resources(Options{}, crd.Definitions(false))
	var got []string
	uids := 0
	for i, r := range InitialRecords(Options{}, time.Unix(0, 0), func() string { uids++; return fmt.Sprint(uids) }, 2) {
		index := slices.IndexFunc(resources, func(res *resource.Resource) bool { return res.Prefix != "" && strings.HasPrefix(r.Key, res.Prefix) })
		res := resources[index]
		namespace := res.NamespaceOf(r.Key)
		if namespace == "" {
			namespace = "-"
		}
		got = append(got, fmt.Sprintf("%s %s %s", res.GroupResource(), namespace, res.NameOf(r.Key)))

		if r.Tag != res.Storage.Identity {
			t.Errorf("%s: the tag is %q", r.Key, r.Tag)
		}
		obj, err := res.Storage.Codec.DecodeStored(r)
		if err != nil {
			t.Fatalf("%s: %v", r.Key, err)
		}
		again, err := res.Storage.Codec.EncodeToStore(resource.Decoded{Object: obj})
		if err != nil || string(again.Text) != r.Value {
			t.Errorf("%s: it is stored as\n%s\nand encoded (%v) as\n%s", r.Key, r.Value, err, again.Text)
		}
		metadata, err := meta.Accessor(obj)
		if err != nil {
			t.Fatal(err)
		}
		if metadata.GetUID() == "" || metadata.GetResourceVersion() != fmt.Sprint(i+2) || r.Revision != int64(i+2) || metadata.GetCreationTimestamp().Unix() != 0 {
			t.Errorf("%s: uid %q, resourceVersion %q of revision %d, created %v", r.Key, metadata.GetUID(), metadata.GetResourceVersion(), r.Revision, metadata.GetCreationTimestamp())
		}
		if strings.Contains(r.Value, "$(") || !json.Valid([]byte(r.Value)) {
			t.Errorf("%s: a placeholder is left, or it is not JSON: %s", r.Key, r.Value)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-real +got):\n%s", diff)
	}
}

func TestRequestedVersionsHaveAnAPIService(t *testing.T) {
	config, err := ParseRuntimeConfig("resource.k8s.io/v1beta2=true")
	if err != nil {
		t.Fatal(err)
	}
	names := func(o Options) []string {
		var texts []string
		for _, r := range InitialRecords(o, time.Unix(0, 0), func() string { return "u" }, 2) {
			if name, ok := strings.CutPrefix(r.Key, "/registry/apiservices/"); ok {
				texts = append(texts, name)
			}
		}
		return texts
	}
	usual := names(Options{})
	var more []string
	for _, name := range names(Options{LegacyAPIs: true, RuntimeConfig: config}) {
		if !slices.Contains(usual, name) {
			more = append(more, name)
		}
	}
	want := []string{"v1beta1.admissionregistration.k8s.io", "v1beta1.apiextensions.k8s.io", "v1beta2.resource.k8s.io"}
	if diff := cmp.Diff(want, more); diff != "" {
		t.Errorf("further APIServices (-want +got):\n%s", diff)
	}
}

// upstreamFolder is where the sources of k8s.io/kubernetes are.
func upstreamFolder(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatalf("looking for k8s.io/kubernetes: %v", err)
	}
	return strings.TrimSpace(string(out))
}
