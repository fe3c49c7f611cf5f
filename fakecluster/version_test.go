package fakecluster_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/release"
)

// versionVariable is the environment variable with the version of a process.
const versionVariable = "FAKECLUSTER_KUBERNETES_VERSION"

// TestClustersOfAnOlderVersion runs the tests of a version in a process of each older version.
func TestClustersOfAnOlderVersion(t *testing.T) {
	for _, version := range release.Names()[:len(release.Names())-1] {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0], "-test.run=InThisVersion$|^(TestThisVersion|TestLaterFields|TestLaterStatus)$", "-test.v")
			child.Env = append(os.Environ(), versionVariable+"="+version)
			if output, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
}

func TestThisVersion(t *testing.T) {
	version := utilversion.MustParse(cmp.Or(os.Getenv(versionVariable), release.Newest().String()))
	minor := fmt.Sprint(version.Minor())
	made36 := version.Minor() >= 36 // what 1.36 turned on: version v1 of policies that mutate, impersonation by purpose, a health check
	made37 := version.Minor() >= 37 // what 1.37 turned on: a role of trust bundles, deletes that ignore errors in reading
	c := fakecluster.Start(t, fakecluster.InProcess())
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	must(t, err)
	info, err := client.ServerVersion()
	must(t, err)
	equal(t, "the emulated version", info.EmulationMinor, minor)
	equal(t, "the version", info.Minor, minor)
	equal(t, "the release", strings.HasPrefix(info.GitVersion, "v1."+minor+"."), true)
	_, err = client.AdmissionregistrationV1().MutatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{})
	equal(t, "policies are served", err == nil, made36)
	equal(t, "or not found", apierrors.IsNotFound(err), !made36)
	_, err = client.RbacV1().ClusterRoles().Get(t.Context(), "system:cluster-trust-bundle-discovery", metav1.GetOptions{})
	equal(t, "a role of a feature gate", err == nil, made37)
	const check = "/healthz/poststarthook/peer-endpoint-reconciler-controller"
	for _, path := range []string{"/flagz", "/statusz"} {
		err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "text/plain").Do(t.Context()).Error()
		equal(t, path, err == nil, made36)
	}
	equal(t, check, client.RESTClient().Get().AbsPath(check).Do(t.Context()).Error() == nil, made36)
	as := c.RESTConfig()
	as.Impersonate.UID = "1" // without a user
	_, err = kubernetes.NewForConfigOrDie(as).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	equal(t, "impersonation has the words of before 1.36", strings.Contains(err.Error(), "requested [{UID  1  authentication.k8s.io/v1  }] without impersonating a user"), !made36)
	ignore := true
	err = client.CoreV1().ConfigMaps("kube-system").Delete(t.Context(), "extension-apiserver-authentication",
		metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: &ignore})
	equal(t, "a delete takes the option and rejects it for a readable object", err != nil, made37)

	fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--emulated-version=1."+minor))
	other := "1.36"
	if minor == "36" {
		other = "1.35"
	}
	_, err = fakecluster.New(fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--emulated-version="+other))
	equal(t, "another version", err.Error(), "WithAPIServerFlags: --emulated-version="+other+": this process behaves as Kubernetes 1."+minor+
		", and upstream's feature gates belong to the process: set FAKECLUSTER_EMULATED_VERSION="+other+" before it starts")
	_, err = fakecluster.New(fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--min-compatibility-version=1."+minor))
	equal(t, "objects for another version", err == nil, minor == info.MinCompatibilityMinor)
	if err != nil {
		equal(t, "the reason", err.Error(), "WithAPIServerFlags: --min-compatibility-version=1."+minor+": this process stores objects for Kubernetes 1."+info.MinCompatibilityMinor+
			", and upstream's feature gates belong to the process: set FAKECLUSTER_MIN_COMPATIBILITY_VERSION=1."+minor+" before it starts")
	}
	t.Setenv(versionVariable, "1.31")
	_, err = fakecluster.New(fakecluster.InProcess())
	equal(t, "a version that comes too late", err.Error(), "starting the server: FAKECLUSTER_KUBERNETES_VERSION was set to \"1.31\" after the program had started: "+
		"set it in the environment of go test")
}

// emulatedVariable is the environment variable with the version that the newest server emulates.
const emulatedVariable = "FAKECLUSTER_EMULATED_VERSION"

// TestClustersThatEmulate runs TestEmulating in a process that emulates an older version, and in one that cannot start.
func TestClustersThatEmulate(t *testing.T) {
	for also, run := range map[string]string{"": "InThisVersion$|^TestEmulating$", "1.36": "^TestEmulating$"} {
		child := exec.Command(os.Args[0], "-test.run="+run, "-test.v")
		child.Env = append(os.Environ(), emulatedVariable+"=1.35", versionVariable+"="+also)
		if output, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
	}
}

// An emulating server has the fields and the version number of the newest one.
func TestEmulating(t *testing.T) {
	if os.Getenv(emulatedVariable) == "" {
		t.Skip("this process does not emulate a version")
	}
	c, err := fakecluster.New(fakecluster.InProcess())
	if os.Getenv(versionVariable) != "" {
		equal(t, "both variables", err.Error(), "starting the server: FAKECLUSTER_KUBERNETES_VERSION and FAKECLUSTER_EMULATED_VERSION are both set: remove one of them")
		return
	}
	must(t, err)
	defer c.Close()
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	info, err := client.ServerVersion()
	must(t, err)
	equal(t, "the version", info.GitVersion+" emulates "+info.EmulationMinor, release.Libraries+" emulates 35")
	_, err = client.AdmissionregistrationV1().MutatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{})
	equal(t, "a version of 1.36 is not found", apierrors.IsNotFound(err), true)
	text, err := client.RESTClient().Get().AbsPath("/openapi/v3/api/v1").SetHeader("Accept", "application/json").Do(t.Context()).Raw()
	must(t, err)
	equal(t, "a field of 1.36", strings.Contains(string(text), `"schedulingGroup"`), true)
}

// gatesVariable is the environment variable with the feature gates of a process.
const gatesVariable = "FAKECLUSTER_FEATURE_GATES"

// TestClustersWithFeatureGates runs TestTheseFeatureGates in processes with other feature gates.
func TestClustersWithFeatureGates(t *testing.T) {
	for _, test := range []struct{ rule, version, gates string }{
		{"gates", "", "ContainerStopSignals=true,HPAScaleToZero=false"},
		{"gates of an older version", "1.36", "ContainerStopSignals=true"},
		{"an unknown gate", "", "Teleport=true"},
		{"a gate that the version does not have", "1.34", "VolumeBindMountOptions=true"},
		{"a gate that another one needs", "", "EmptyDirVolumeMode=true,PodLevelResources=false"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0], "-test.run=^TestTheseFeatureGates$", "-test.v")
			child.Env = append(os.Environ(), gatesVariable+"="+test.gates, versionVariable+"="+test.version)
			if output, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
}

func TestTheseFeatureGates(t *testing.T) {
	gates := os.Getenv(gatesVariable)
	c, err := fakecluster.New(fakecluster.InProcess())
	if want := map[string]string{
		"Teleport=true":                                   "unrecognized feature gate: Teleport",
		"VolumeBindMountOptions=true":                     "cannot set feature gate VolumeBindMountOptions to true, feature is PreAlpha at emulated version 1.34, min compatibility version 1.34",
		"EmptyDirVolumeMode=true,PodLevelResources=false": "PodLevelResourcesFixDefaulting is enabled, but depends on features that are disabled: [PodLevelResources]",
	}[gates]; want != "" {
		if start := "starting the server: " + gatesVariable + ": "; err == nil || !strings.HasPrefix(err.Error(), start) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s%s", err, start, want) // of several dependents, in any order
		}
		return
	}
	must(t, err)
	defer c.Close()
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	signal := corev1.SIGUSR1
	pod, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.PodSpec{
			OS:         &corev1.PodOS{Name: corev1.Linux},
			Containers: []corev1.Container{{Name: "web", Image: "web", Lifecycle: &corev1.Lifecycle{StopSignal: &signal}}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	kept := pod.Spec.Containers[0].Lifecycle != nil && pod.Spec.Containers[0].Lifecycle.StopSignal != nil
	equal(t, "the field of an alpha gate is kept", kept, strings.Contains(gates, "ContainerStopSignals=true"))
	none := int32(0)
	_, err = client.AutoscalingV2().HorizontalPodAutoscalers("default").Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, MinReplicas: &none, MaxReplicas: 1,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "queue"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: resource.NewQuantity(1, resource.DecimalSI)},
			}}},
		},
	}, metav1.CreateOptions{})
	equal(t, "a value that a gate of 1.37 allows is accepted", err == nil, gates == "")

	if gates != "" {
		fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--feature-gates="+gates))
	}
	_, err = fakecluster.New(fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--feature-gates=AllowDNSOnlyNodeCSR=true"))
	equal(t, "other gates", err.Error(), "WithAPIServerFlags: --feature-gates=AllowDNSOnlyNodeCSR=true: upstream's feature gates belong to the process: "+
		"set FAKECLUSTER_FEATURE_GATES=AllowDNSOnlyNodeCSR=true before it starts")
	t.Setenv(gatesVariable, "WatchList=true")
	_, err = fakecluster.New(fakecluster.InProcess())
	equal(t, "gates that come too late", err.Error(), "starting the server: FAKECLUSTER_FEATURE_GATES was set to \"WatchList=true\" after the program had started: "+
		"set it in the environment of go test")
}

// The status of a CSINode came with 1.37. It is a struct, which Go's JSON has even if it is empty: before 1.37 no object has it, and
// what a client reads can be written and applied.
func TestLaterStatus(t *testing.T) {
	version := os.Getenv(versionVariable)
	c := fakecluster.Start(t, fakecluster.InProcess())
	client := kubernetes.NewForConfigOrDie(c.RESTConfig()).StorageV1().RESTClient()
	const configuration = `{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"a"},"spec":{"drivers":[{"name":"d","nodeID":"n","topologyKeys":null}]}}`
	applied, err := client.Patch("application/apply-patch+yaml").Resource("csinodes").Name("a").Param("fieldManager", "m").Param("fieldValidation", "Strict").
		Body([]byte(configuration)).DoRaw(t.Context())
	must(t, err)
	has := func(text []byte) bool {
		t.Helper()
		var node map[string]any
		must(t, json.Unmarshal(text, &node))
		return node["status"] != nil
	}
	equal(t, "an applied object has a status", has(applied), version == "")
	updated, err := client.Put().Resource("csinodes").Name("a").Param("fieldValidation", "Strict").Body(applied).DoRaw(t.Context())
	must(t, err)
	equal(t, "an updated object has a status", has(updated), version == "")
	for _, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		patched, err := client.Patch(kind).Resource("csinodes").Name("a").Param("fieldValidation", "Strict").
			Body([]byte(`{"metadata":{"labels":{"by":"patch"}}}`)).DoRaw(t.Context())
		must(t, err)
		equal(t, "a patched object has a status", has(patched), version == "")
	}
	var node map[string]any
	must(t, json.Unmarshal(updated, &node))
	delete(node["metadata"].(map[string]any), "resourceVersion")
	node["status"] = map[string]any{}
	body, err := json.Marshal(node)
	must(t, err)
	answer, _ := client.Patch(types.MergePatchType).Resource("csinodes").Name("a").Param("fieldValidation", "Strict").Body(body).DoRaw(t.Context())
	must(t, json.Unmarshal(answer, &node))
	want := any(nil)
	if version != "" {
		want = "Invalid"
	}
	equal(t, "the reason of the error of a patch with a status", node["reason"], want)
}
