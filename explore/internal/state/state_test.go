package state

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// read returns objects from YAML documents, each with its resource in the annotation resource.
func read(t *testing.T, text string) (objects []Object) {
	t.Helper()
	for document := range strings.SplitSeq(text, "---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatal(err)
		}
		resource, _, _ := unstructured.NestedString(u.Object, "resource")
		delete(u.Object, "resource")
		objects = append(objects, Object{resource, u})
	}
	return objects
}

// Two clusters with the same history differ in uids, generated names, addresses, ports and times, wherever these stand.
func TestWhatTheServerMakesIsNoDifference(t *testing.T) {
	const text = `
resource: websites.example.com
metadata: {name: home, namespace: default, uid: UID1, resourceVersion: "REV1", generation: GEN, creationTimestamp: "2000-01-0DAYT00:00:00Z", managedFields: [{time: "2000-01-0DAYT00:00:00Z"}]}
status:
  observedGeneration: GEN
  token: home-NAME
  address: "http://10.0.0.ADDR:80"
  version: "REV1"
  since: "2000-01-0DAYT00:00:00Z"
  containers: [{image: web, imagePullPolicy: PULL}]
  conditions:
  - {type: B, status: "True", message: "after GEN tries", lastTransitionTime: "2000-01-0DAYT00:00:00Z"}
  - {type: A, status: "False", reason: RGEN}
---
resource: secrets
metadata: {name: home-NAME, generateName: home-, namespace: default, uid: UID2, labels: {owner: UID1}, ownerReferences: [{kind: Website, name: home, uid: UID1}]}
data: {a: b}
---
resource: services
metadata: {name: home, namespace: default}
spec: {clusterIP: 10.0.0.ADDR, clusterIPs: [10.0.0.ADDR], ports: [PORTS]}
---
resource: events
metadata: {name: NAME, namespace: default}
`
	a := New(read(t, strings.NewReplacer("UID1", "aaa-1", "UID2", "aaa-2", "REV1", "101", "GEN", "1", "DAY", "1", "NAME", "x7k2p", "ADDR", "7", "PULL", "Always", "PORTS", "{name: web, port: 80, nodePort: 30001}, {name: admin, port: 81}").Replace(text)))
	b := New(read(t, strings.NewReplacer("UID1", "bbb-1", "UID2", "bbb-2", "REV1", "999", "GEN", "4", "DAY", "9", "NAME", "q4z8w", "ADDR", "81", "PULL", "IfNotPresent", "PORTS", "{name: admin, port: 81}, {name: web, port: 80, nodePort: 30004}").Replace(text)))
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-a +b):\n%s", diff)
	}
	if got := Differences(a, b, nil); len(got) > 0 {
		t.Errorf("differences: %v", got)
	}
	want := State{
		"websites.example.com default/home": {"metadata": map[string]any{"name": "home", "namespace": "default"}, "status": map[string]any{
			"token": "home-*1", "address": "http://<address of services default/home>:80", "version": "<resourceVersion>", "since": "<time>",
			"containers": []any{map[string]any{"image": "web"}},
			"conditions": []any{map[string]any{"type": "A", "status": "False"}, map[string]any{"type": "B", "status": "True"}},
		}},
		"secrets default/home-*1": {"metadata": map[string]any{"name": "home-*1", "namespace": "default",
			"labels":          map[string]any{"owner": "<uid of websites.example.com default/home>"},
			"ownerReferences": []any{map[string]any{"kind": "Website", "name": "home"}}},
			"data": map[string]any{"a": "<hidden, sha256 3e23e816>"}},
		"services default/home": {"metadata": map[string]any{"name": "home", "namespace": "default"}, "spec": map[string]any{
			"clusterIP": "<address of services default/home>", "clusterIPs": []any{"<address of services default/home>"},
			"ports": []any{map[string]any{"name": "admin", "port": int64(81)}, map[string]any{"name": "web", "port": int64(80), "nodePort": "<port>"}}}},
	}
	if diff := cmp.Diff(want, normalNumbers(a)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The scheduler places Pods as it likes, and nodes run their containers as often as they have to. A nodeName that somebody has set is one of the Pod.
func TestWhatNodesAndTheSchedulerMakeIsNoDifference(t *testing.T) {
	const text = `
resource: pods
metadata: {name: home, namespace: default, labels: {topology.kubernetes.io/zone: ZONE, topology.kubernetes.io/region: ZONE}, managedFields: [{manager: operator, fieldsV1: {"f:spec": {"f:containers": {}}}}]}
spec: {nodeName: NODE}
status: {hostIP: 10.0.0.ADDR, hostIPs: [{ip: 10.0.0.ADDR}], containerStatuses: [{name: web, restartCount: ADDR, lastState: {terminated: {exitCode: ADDR}}}]}
---
resource: pods
metadata: {name: fixed, namespace: default, managedFields: [{manager: operator, fieldsV1: {"f:spec": {"f:nodeName": {}}}}]}
spec: {nodeName: FIXED}
---
resource: persistentvolumeclaims
metadata: {name: data, namespace: default, uid: 00000000-0000-0000-0000-00000000000ADDR, resourceVersion: "REV", annotations: {volume.kubernetes.io/selected-node: NODE, a: b}}
spec: {volumeName: pvc-00000000-0000-0000-0000-00000000000ADDR}
---
resource: persistentvolumes
metadata: {name: pvc-00000000-0000-0000-0000-00000000000ADDR, annotations: {pv.kubernetes.io/provisioned-by: a}}
spec: {nodeAffinity: NODE, claimRef: {name: data, resourceVersion: "8REV"}}
`
	made := func(node, zone, address, version, fixed string) State {
		return New(read(t, strings.NewReplacer("NODE", node, "ZONE", zone, "ADDR", address, "REV", version, "FIXED", fixed).Replace(text)))
	}
	a, b := made("n1", "a", "1", "10", "n1"), made("n2", "b", "2", "20", "n1")
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-a +b):\n%s", diff)
	}
	if got, want := slices.Sorted(maps.Keys(a)), []string{"persistentvolumeclaims default/data", "persistentvolumes pvc-default-data", "pods default/fixed", "pods default/home"}; !slices.Equal(got, want) {
		t.Errorf("the objects are %q, want %q", got, want)
	}
	if got, want := a["persistentvolumeclaims default/data"]["spec"], map[string]any{"volumeName": "pvc-default-data"}; !cmp.Equal(got, any(want)) {
		t.Errorf("the claim has %v, want %v", got, want)
	}
	want := []Difference{{Object: "pods default/fixed", Path: "/spec/nodeName"}}
	if diff := cmp.Diff(want, Differences(a, made("n1", "a", "1", "10", "n2"), nil)); diff != "" {
		t.Errorf("another Node is wanted (-want +got):\n%s", diff)
	}
}

// Controllers make names with random ends themselves, and such names of names.
func TestRandomNamesOfControllersAreNoDifference(t *testing.T) {
	const text = `
resource: sets.example.com
metadata: {name: workers-SET, namespace: default, uid: UID1, ownerReferences: [{kind: Deployment, name: workers, uid: u}]}
---
resource: machines.example.com
metadata: {name: workers-SET-ONE, namespace: default, uid: UID2, ownerReferences: [{kind: Set, name: workers-SET, uid: UID1}]}
spec: {zone: a, set: workers-SET}
---
resource: machines.example.com
metadata: {name: workers-SET-TWO, namespace: default, uid: UID3, ownerReferences: [{kind: Set, name: workers-SET, uid: UID1}]}
spec: {zone: b, set: workers-SET}
---
resource: pods
metadata: {name: workers-SET-ONE-TWO, generateName: workers-SET-ONE-, namespace: default, ownerReferences: [{kind: Machine, name: workers-SET-ONE, uid: UID2}]}
---
resource: secrets
metadata: {name: workers-fghjk, namespace: default}
---
resource: configmaps
metadata: {name: workers-redis, namespace: default, ownerReferences: [{kind: Deployment, name: workers, uid: u}]}
---
resource: services
metadata: {name: workers-https, namespace: default, ownerReferences: [{kind: Deployment, name: workers, uid: u}]}
---
resource: endpointgroups.example.com
metadata: {name: workers-https-SET, namespace: default, ownerReferences: [{kind: Deployment, name: workers, uid: u}]}
`
	a := New(read(t, strings.NewReplacer("UID1", "aaa-1", "UID2", "aaa-2", "UID3", "aaa-3", "SET", "x7k2p", "ONE", "bbbbb", "TWO", "zzzzz").Replace(text)))
	b := New(read(t, strings.NewReplacer("UID1", "bbb-1", "UID2", "bbb-2", "UID3", "bbb-3", "SET", "q4z8w", "ONE", "zzzzz", "TWO", "bbbbb").Replace(text)))
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-a +b):\n%s", diff)
	}
	want := []string{"configmaps default/workers-redis", "endpointgroups.example.com default/workers-https-*1", "machines.example.com default/workers-*1", "machines.example.com default/workers-*2",
		"pods default/workers-*1", "secrets default/workers-fghjk", "services default/workers-https", "sets.example.com default/workers-*1"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(a))); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	more := New(append(read(t, strings.NewReplacer("UID1", "ccc-1", "UID2", "ccc-2", "UID3", "ccc-3", "SET", "q4z8w", "ONE", "zzzzz", "TWO", "bbbbb").Replace(text)),
		read(t, "resource: machines.example.com\nmetadata: {name: workers-q4z8w-ccccc, namespace: default, ownerReferences: [{kind: Set}]}\nspec: {zone: c}\n")...))
	if got := Differences(a, more, nil); len(got) != 1 || got[0].String() != "machines.example.com default/workers-*3 exists" {
		t.Errorf("a third machine: %v", got)
	}
}

// Equal objects that were made at different times keep the order of their owners, which have the same names.
func TestEqualObjectsHaveTheOrderOfTheirOwners(t *testing.T) {
	const text = `
resource: machines.example.com
metadata: {name: web-ONE, namespace: default, ownerReferences: [{kind: Set, name: web}]}
status: {since: "2000-01-0DAY1T00:00:00Z"}
---
resource: machines.example.com
metadata: {name: web-TWO, namespace: default, ownerReferences: [{kind: Set, name: web}]}
status: {since: "2000-01-0DAY2T00:00:00Z"}
---
resource: disks.example.com
metadata: {name: web-ONE, namespace: default, ownerReferences: [{kind: Machine, name: web-ONE}]}
---
resource: disks.example.com
metadata: {name: web-TWO, namespace: default, ownerReferences: [{kind: Machine, name: web-TWO}]}
`
	a := New(read(t, strings.NewReplacer("ONE", "bbbbb", "TWO", "zzzzz", "DAY1", "1", "DAY2", "2").Replace(text)))
	for _, times := range [][]string{{"DAY1", "1", "DAY2", "2"}, {"DAY1", "2", "DAY2", "1"}} {
		b := New(read(t, strings.NewReplacer(append(times, "ONE", "ddddd", "TWO", "ccccc")...).Replace(text)))
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%v (-a +b):\n%s", times, diff)
		}
	}
}

// Pods with the same history differ in addresses, ids of containers, and the name of the volume with their token. Their order does
// not depend on these.
func TestPodsDifferInWhatTheyAre(t *testing.T) {
	const text = `
resource: pods
metadata: {name: web-NAME1, generateName: web-, namespace: default, uid: UID1}
spec:
  containers: [{name: web, image: a, volumeMounts: [{name: kube-api-access-TOKEN1}]}]
  volumes: [{name: kube-api-access-TOKEN1}, {name: kube-api-access-of-mine}]
status: {podIP: 10.0.0.ADDR1, podIPs: [{ip: 10.0.0.ADDR1}], containerStatuses: [{containerID: "containerd://ADDR1", ready: true}]}
---
resource: pods
metadata: {name: web-NAME2, generateName: web-, namespace: default, uid: UID2}
spec:
  containers: [{name: web, image: b, volumeMounts: [{name: kube-api-access-TOKEN2}]}]
  volumes: [{name: kube-api-access-TOKEN2}]
status: {podIP: 10.0.0.ADDR2, podIPs: [{ip: 10.0.0.ADDR2}], containerStatuses: [{containerID: "containerd://ADDR2", lastState: {terminated: {containerID: "containerd://1"}}}]}
`
	a := New(read(t, strings.NewReplacer("NAME1", "x7k2p", "NAME2", "b8d4h", "UID", "a", "TOKEN1", "aaaaa", "TOKEN2", "bbbbb", "ADDR1", "4", "ADDR2", "5").Replace(text)))
	b := New(read(t, strings.NewReplacer("NAME1", "c5f6g", "NAME2", "q4z8w", "UID", "b", "TOKEN1", "z2z2z", "TOKEN2", "c3c3c", "ADDR1", "9", "ADDR2", "8").Replace(text)))
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-a +b):\n%s", diff)
	}
	want := map[string]any{
		"metadata": map[string]any{"name": "web-*1", "namespace": "default"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "a", "volumeMounts": []any{map[string]any{"name": "kube-api-access-*"}}}},
			"volumes": []any{map[string]any{"name": "kube-api-access-*"}, map[string]any{"name": "kube-api-access-of-mine"}}},
		"status": map[string]any{"containerStatuses": []any{map[string]any{"ready": true}}},
	}
	if diff := cmp.Diff(want, a["pods default/web-*1"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := b["pods default/web-*2"]["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"]; got != "b" {
		t.Errorf("the second Pod has the image %v", got)
	}
}

// normalNumbers turns whole float64 numbers into int64: YAML has only one sort of numbers.
func normalNumbers(s State) State {
	var normal func(any) any
	normal = func(v any) any {
		switch v := v.(type) {
		case float64:
			return int64(v)
		case map[string]any:
			for key := range v {
				v[key] = normal(v[key])
			}
		case []any:
			for i := range v {
				v[i] = normal(v[i])
			}
		}
		return v
	}
	for _, o := range s {
		normal(o)
	}
	return s
}

// A Deployment and a StatefulSet that were changed are as those that were created so: revisions, hashes and old ReplicaSets are no difference.
func TestRevisionsOfControllersAreNoDifference(t *testing.T) {
	const text = `
resource: deployments.apps
metadata: {name: web, namespace: default, annotations: {deployment.kubernetes.io/revision: "REVISION", note: kept}}
spec: {replicas: 1}
---
resource: replicasets.apps
metadata: {name: web-HASH, namespace: default, labels: {pod-template-hash: HASH}, ownerReferences: [{kind: Deployment, name: web, uid: u1, controller: true}]}
spec: {replicas: 1, selector: {matchLabels: {pod-template-hash: HASH}}}
---
resource: pods
metadata: {name: web-HASH-END, generateName: web-HASH-, namespace: default, labels: {pod-template-hash: HASH}, ownerReferences: [{kind: ReplicaSet, name: web-HASH, uid: u2, controller: true}]}
---
resource: statefulsets.apps
metadata: {name: db, namespace: default}
status: {currentRevision: db-HASH, updateRevision: db-HASH, replicas: 1}
---
resource: pods
metadata: {name: db-0, generateName: db-, namespace: default, labels: {controller-revision-hash: db-HASH}, ownerReferences: [{kind: StatefulSet, name: db, uid: u3, controller: true}]}
---
resource: nodes
metadata: {name: n1, labels: {zone: a}}
status: {images: [{names: [IMAGE]}], volumesInUse: [IMAGE], phase: Running}
---
resource: configmaps
metadata: {name: note, namespace: default, ownerReferences: [{kind: Pod, name: web-HASH-END, uid: u4}]}
data: {first: db-0}
`
	fill := func(revision, hash, end string) string {
		return strings.NewReplacer("REVISION", revision, "HASH", hash, "END", end, "IMAGE", "image-"+revision).Replace(text)
	}
	old := `---
resource: replicasets.apps
metadata: {name: web-7c5ddbdf54, namespace: default, labels: {pod-template-hash: 7c5ddbdf54}, ownerReferences: [{kind: Deployment, name: web, uid: u1, controller: true}]}
spec: {replicas: 0}
`
	created, changed := New(read(t, fill("1", "6b578b6c7c", "x7k2p"))), New(read(t, fill("2", "5d79878787", "q4z8w")+old))
	if diff := cmp.Diff(created, changed); diff != "" {
		t.Errorf("(-created +changed):\n%s", diff)
	}
	metadata := func(name string, labels map[string]any, owner map[string]any, kind string) map[string]any {
		owner["kind"], owner["controller"] = kind, true
		return map[string]any{"metadata": map[string]any{"name": name, "namespace": "default", "labels": labels, "ownerReferences": []any{owner}}}
	}
	want := State{
		"deployments.apps default/web": {"metadata": map[string]any{"name": "web", "namespace": "default", "annotations": map[string]any{"note": "kept"}},
			"spec": map[string]any{"replicas": int64(1)}},
		"pods default/web-*1":          metadata("web-*1", map[string]any{"pod-template-hash": "<hash>"}, map[string]any{"name": "web-<hash>"}, "ReplicaSet"),
		"statefulsets.apps default/db": {"metadata": map[string]any{"name": "db", "namespace": "default"}, "status": map[string]any{"replicas": int64(1)}},
		"pods default/db-0":            metadata("db-0", map[string]any{"controller-revision-hash": "<hash>"}, map[string]any{"name": "db"}, "StatefulSet"),
		"nodes n1":                     {"metadata": map[string]any{"name": "n1", "labels": map[string]any{"zone": "a"}}, "status": map[string]any{"phase": "Running"}},
		"configmaps default/note": {"metadata": map[string]any{"name": "note", "namespace": "default",
			"ownerReferences": []any{map[string]any{"kind": "Pod", "name": "web-*1"}}}, "data": map[string]any{"first": "db-0"}},
	}
	if diff := cmp.Diff(want, normalNumbers(created)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// An update that has not ended is one.
	halfway := New(read(t, strings.Replace(fill("1", "6b578b6c7c", "x7k2p"), "updateRevision: db-6b578b6c7c", "updateRevision: db-5d79878787", 1)))
	differences := Differences(created, halfway, nil)
	if len(differences) != 1 || differences[0].String() != "statefulsets.apps default/db: /status/currentRevision" {
		t.Errorf("halfway: %v", differences)
	}
}

// What an operator writes of its own under such names is compared.
func TestRevisionsOfOperatorsAreDifferences(t *testing.T) {
	const text = `
resource: clonesets.example.com
metadata: {name: a, namespace: default, annotations: {deployment.kubernetes.io/x: VALUE}}
status: {updateRevision: VALUE, currentRevision: VALUE}
---
resource: configmaps
metadata: {name: a, namespace: default, labels: {pod-template-hash: VALUE}}
data: {replicas: VALUE}
`
	stateOf := func(value string) State { return New(read(t, strings.ReplaceAll(text, "VALUE", value))) }
	var got []string
	for _, d := range Differences(stateOf("v1"), stateOf("v2"), nil) {
		got = append(got, d.String())
	}
	want := []string{
		"clonesets.example.com default/a: /metadata/annotations/deployment.kubernetes.io/x", "clonesets.example.com default/a: /status/currentRevision",
		"clonesets.example.com default/a: /status/updateRevision", "configmaps default/a: /data/replicas", "configmaps default/a: /metadata/labels/pod-template-hash",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDifferences(t *testing.T) {
	want := New(read(t, `
resource: deployments.apps
metadata: {name: a, namespace: default, labels: {x: "1"}}
spec: {replicas: 2, containers: [{name: a, image: one}], gone: true}
---
resource: configmaps
metadata: {name: lost, namespace: default}
`))
	got := New(read(t, `
resource: deployments.apps
metadata: {name: a, namespace: default, labels: {x: "1"}, annotations: {}}
spec: {replicas: 3, containers: [{name: a, image: two}], new: {}, added: 1}
---
resource: configmaps
metadata: {name: left, namespace: default}
`))
	differences := Differences(want, got, nil)
	var texts []string
	for _, d := range differences {
		texts = append(texts, d.String())
	}
	expected := []string{
		"configmaps default/left exists",
		"configmaps default/lost is missing",
		"deployments.apps default/a: /spec/added",
		"deployments.apps default/a: /spec/containers/*/image",
		"deployments.apps default/a: /spec/gone",
		"deployments.apps default/a: /spec/replicas",
	}
	if diff := cmp.Diff(expected, texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	mask := Mask{}
	mask.Add(differences[:3])
	mask.Add([]Difference{{Object: "deployments.apps default/a", Path: "/spec/containers"}})
	if got := Differences(want, got, mask); len(got) != 2 || got[0].Path != "/spec/gone" || got[1].Path != "/spec/replicas" {
		t.Errorf("with a mask: %v", got)
	}
}

func TestADiffShowsLinesAndWhatTheyAreBelow(t *testing.T) {
	a := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"a": int64(1), "b": int64(2), "c": int64(3), "d": int64(4), "replicas": int64(2), "z": []any{"x"}}}
	b := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"a": int64(1), "b": int64(2), "c": int64(3), "d": int64(4), "replicas": int64(3), "z": []any{"x", "y"}}}
	want := `  spec:
  …
    b: 2
    c: 3
    d: 4
-   replicas: 2
+   replicas: 3
    z:
    - x
+   - "y"`
	if diff := cmp.Diff(want, Diff(a, b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Diff(a, a); got != "" {
		t.Errorf("equal objects: %s", got)
	}
	if got := Diff(nil, map[string]any{"kind": "Secret"}); got != "+ kind: Secret" {
		t.Errorf("a new object: %s", got)
	}
}

func TestChangedFields(t *testing.T) {
	got := Changed(map[string]any{"a": int64(1), "b": []any{map[string]any{"c/d": "x"}}, "gone": true, "kind": int64(1)},
		map[string]any{"a": int64(2), "b": []any{map[string]any{"c/d": "y"}, "more"}, "new": true, "kind": "text"})
	if diff := cmp.Diff([]Field{{"/a", int64(2)}, {"/b/0/c~1d", "y"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The server shortens the prefix of a generated name, so that the name has 63 characters.
func TestAPrefixIsAsLongAsInTheName(t *testing.T) {
	prefix := strings.Repeat("a", 57) + "-"
	o := Object{Resource: "configmaps", Unstructured: &unstructured.Unstructured{}}
	o.SetName(prefix + "bcdfg")
	for _, generate := range []string{prefix, prefix + "longer-"} {
		o.SetGenerateName(generate)
		if got := o.Prefix(); got != prefix {
			t.Errorf("the prefix of %s for %s is %q", o.GetName(), generate, got)
		}
	}
}
