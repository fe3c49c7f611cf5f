package fakecluster_test

import (
	"os"
	"os/exec"
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
	// What is on and what is off in each version. Kubernetes 1.36 made version v1 of this kind.
	versions := map[string]struct {
		minor    string
		policies bool
		role     bool // system:cluster-trust-bundle-discovery
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
	equal(t, "policies are served", err == nil, want.policies)
	equal(t, "or not found", apierrors.IsNotFound(err), !want.policies)
	_, err = client.RbacV1().ClusterRoles().Get(t.Context(), "system:cluster-trust-bundle-discovery", metav1.GetOptions{})
	equal(t, "a role of a feature gate", err == nil, want.role)

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
