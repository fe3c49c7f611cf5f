package fakecluster_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// versionVariable is the environment variable with the version of a process.
const versionVariable = "FAKECLUSTER_KUBERNETES_VERSION"

// TestClustersOfAnOlderVersion runs TestThisVersion in a process of each older version.
func TestClustersOfAnOlderVersion(t *testing.T) {
	for _, version := range []string{"1.34", "1.35", "1.36"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0], "-test.run=^TestThisVersion$", "-test.v")
			child.Env = append(os.Environ(), versionVariable+"="+version)
			if output, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
}

func TestThisVersion(t *testing.T) {
	// What is on and what is off in each version.
	versions := map[string]struct {
		minor  string
		made36 bool // what 1.36 turned on: version v1 of policies that mutate, impersonation by purpose, a health check
		made37 bool // what 1.37 turned on: a role of trust bundles, deletes that ignore errors in reading
	}{"": {"37", true, true}, "1.36": {"36", true, false}, "1.35": {"35", false, false}, "1.34": {"34", false, false}}
	want, known := versions[os.Getenv(versionVariable)]
	if !known {
		t.Skip("this process has a version that the test does not know")
	}
	c := fakecluster.Start(t, fakecluster.InProcess())
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	must(t, err)
	is, err := client.ServerVersion()
	must(t, err)
	equal(t, "the emulated version", is.EmulationMinor, want.minor)
	equal(t, "the version of the libraries", is.Minor, "37")
	_, err = client.AdmissionregistrationV1().MutatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{})
	equal(t, "policies are served", err == nil, want.made36)
	equal(t, "or not found", apierrors.IsNotFound(err), !want.made36)
	_, err = client.RbacV1().ClusterRoles().Get(t.Context(), "system:cluster-trust-bundle-discovery", metav1.GetOptions{})
	equal(t, "a role of a feature gate", err == nil, want.made37)
	const check = "/healthz/poststarthook/peer-endpoint-reconciler-controller"
	for _, path := range []string{"/flagz", "/statusz"} {
		err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "text/plain").Do(t.Context()).Error()
		equal(t, path, err == nil, want.made36)
	}
	equal(t, check, client.RESTClient().Get().AbsPath(check).Do(t.Context()).Error() == nil, want.made36)
	as := c.RESTConfig()
	as.Impersonate.UID = "1" // without a user
	_, err = kubernetes.NewForConfigOrDie(as).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	equal(t, "impersonation has the words of before 1.36", strings.Contains(err.Error(), "requested [{UID  1  authentication.k8s.io/v1  }] without impersonating a user"), !want.made36)
	ignore := true
	err = client.CoreV1().ConfigMaps("kube-system").Delete(t.Context(), "extension-apiserver-authentication",
		metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: &ignore})
	equal(t, "a delete takes the option and rejects it for a readable object", err != nil, want.made37)

	fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--emulated-version=1."+want.minor))
	other := "1.36"
	if want.minor == "36" {
		other = "1.35"
	}
	_, err = fakecluster.New(fakecluster.InProcess(), fakecluster.WithAPIServerFlags("--emulated-version="+other))
	equal(t, "another version", err.Error(), "WithAPIServerFlags: --emulated-version="+other+": this process behaves as Kubernetes 1."+want.minor+
		", and upstream's feature gates belong to the process: set FAKECLUSTER_KUBERNETES_VERSION="+other+" before it starts")
	t.Setenv(versionVariable, "1.31")
	_, err = fakecluster.New(fakecluster.InProcess())
	equal(t, "a version that comes too late", err.Error(), "starting the server: FAKECLUSTER_KUBERNETES_VERSION was set to \"1.31\" after the program had started: "+
		"set it in the environment of go test")
}
