package workloads_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

func TestWrongOptionsAreErrors(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	folder := t.TempDir()
	for name, content := range map[string]string{
		"unknown.yaml": "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofile: []\n",
		"wrong.yaml":   "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: -1\n",
		"other.yaml":   "apiVersion: v1\nkind: Pod\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		opts []workloads.Option
		want string // in the error
	}{
		{"an unknown controller", []workloads.Option{workloads.Controllers("deployment")},
			`Controllers: there is no controller "deployment"; there are certificatesigningrequest-approving-controller, `},
		{"an unknown controller that is taken away", []workloads.Option{workloads.Controllers("*", "-job")}, `there is no controller "-job"; there are`},
		{"a controller that the cluster has", []workloads.Option{workloads.Controllers("*", "-resourcequota-controller")},
			"Controllers: resourcequota-controller acts within the writes of the cluster, by the option WithControllers of fakecluster.Start; leave it out there"},
		{"an option that is given twice", []workloads.Option{workloads.Controllers(), workloads.Controllers()}, "Controllers is given twice; give it once"},
		{"no scheduler with a configuration", []workloads.Option{workloads.WithoutScheduler(), workloads.SchedulerConfig("x")}, "WithoutScheduler and SchedulerConfig exclude each other; leave one of them out"},
		{"a configuration that does not exist", []workloads.Option{workloads.SchedulerConfig(filepath.Join(folder, "none.yaml"))}, "SchedulerConfig: open "},
		{"an unknown field of the configuration", []workloads.Option{workloads.SchedulerConfig(filepath.Join(folder, "unknown.yaml"))}, `unknown.yaml: strict decoding error: unknown field "profile"`},
		{"a value of the configuration that is not valid", []workloads.Option{workloads.SchedulerConfig(filepath.Join(folder, "wrong.yaml"))}, "wrong.yaml: parallelism: Invalid value: -1"},
		{"another kind", []workloads.Option{workloads.SchedulerConfig(filepath.Join(folder, "other.yaml"))}, "other.yaml: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, err := workloads.New(c, test.opts...)
			if err == nil {
				t.Fatalf("there is none; %v", w.Close())
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("it is %q, and lacks %q", err, test.want)
			}
		})
	}
}

func TestAClusterLivesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		w, err := workloads.New(c)
		if err != nil {
			t.Fatal(err)
		}
		const want = "workloads run in the cluster already; close them first"
		if _, err := workloads.New(c); err == nil || err.Error() != want {
			t.Errorf("the error of a second New is %v, want %s", err, want)
		}
		for range 2 {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
		again, err := workloads.New(c)
		if err != nil {
			t.Fatalf("after Close: %v", err)
		}
		// The cluster ends what lives in it.
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		if _, err := workloads.New(c); err == nil || err.Error() != "the cluster is closed" {
			t.Errorf("the error for a closed cluster is %v", err)
		}
	})
}

func TestControllersAreSelected(t *testing.T) {
	for _, c := range []struct {
		name      string
		selection []string
		want      []string // programs that send requests
		not       []string
	}{
		{"all but one", []string{"*", "-deployment-controller"}, []string{"replicaset-controller"}, []string{"deployment-controller"}},
		{"one", []string{"deployment-controller"}, []string{"deployment-controller"}, []string{"replicaset-controller"}},
		{"none", nil, nil, []string{"deployment-controller", "replicaset-controller"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(w world) {
				w.create(workload("apps/v1", "Deployment", "web", "replicas: 1") + "---\n" + workload("apps/v1", "ReplicaSet", "other", "replicas: 1"))
				if !slices.Contains(c.selection, "*") && len(w.list("serviceaccounts")) > len(c.want) {
					w.Errorf("other controllers act: there are ServiceAccounts %v", w.list("serviceaccounts"))
				}
				for _, program := range append(c.want, c.not...) {
					if acts := w.requests(program, "create", "events") > 0; acts != slices.Contains(c.want, program) {
						w.Errorf("%s acts: %v", program, acts)
					}
				}
			}, workloads.Controllers(c.selection...))
		})
	}
}

// TestControllersOfUpstreamThatDoNotRun proves that each name of kube-controller-manager is that of a controller, or says why not.
func TestControllersOfUpstreamThatDoNotRun(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	_, err := workloads.New(c, workloads.Controllers("*", "-node-ipam-controller"))
	const want = "Controllers: node-ipam-controller does not run in a living cluster, because kubelets choose the addresses of their Pods here"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "cmd/kube-controller-manager/names/controller_names.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`= "(.*-controller)"`).FindAllStringSubmatch(string(source), -1)
	if len(names) < 40 {
		t.Fatalf("the source of upstream has %d names", len(names))
	}
	for _, name := range names {
		_, err = workloads.New(c, workloads.Controllers(name[1], "no-controller"))
		if !slices.Contains(workloads.ControllerNames(), name[1]) && (err == nil || !strings.Contains(err.Error(), name[1]+" does not run in a living cluster, because ")) {
			t.Errorf("the error for %s does not give a reason: %v", name[1], err)
		}
	}
}

// TestAForkLivesOnItsOwn proves that a fork has the state of its origin, and that what lives in one does not act in the other.
func TestAForkLivesOnItsOwn(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(workload("apps/v1", "Deployment", "web", "replicas: 2"))
		fork := w.cluster.Fork(w.T)
		f := world{w.T, workloads.Run(w.T, fork), fork, kubernetes.NewForConfigOrDie(fork.RESTConfig())}
		w.pass(2 * time.Second)
		if n := len(f.list("pods")); n != 2 {
			w.Errorf("the fork has %d Pods", n)
		}
		f.patch("deployments.apps", "web", `{"spec":{"replicas":5}}`)
		if a, b := len(w.list("pods")), len(f.list("pods")); a != 2 || b != 5 {
			w.Errorf("there are %d and %d Pods, want 2 and 5", a, b)
		}
	})
}

// TestAClusterAtRestSendsNothing proves that nothing happens in a virtual day in which nothing is to be done.
func TestAClusterAtRestSendsNothing(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(node("n1"))
		if _, err := w.client.CoreV1().Nodes().Patch(w.Context(), "n1", types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{}); err != nil {
			w.Fatal(err)
		}
		w.create(workload("apps/v1", "Deployment", "web", "replicas: 2\nprogressDeadlineSeconds: 30") + "---\n" + service)
		w.pass(time.Minute)
		before := len(w.cluster.Requests())
		w.pass(24 * time.Hour)
		for _, r := range w.cluster.Requests()[before:] {
			if !strings.Contains(r.UserAgent, "legacy-service-account-token-cleaner") { // looks once a day
				w.Errorf("at rest there is a request: %v", r)
			}
		}
	}, workloads.Controllers("*", "-node-lifecycle-controller")) // the Node has no kubelet
}

// TestOutsideOfBubbles proves that a cluster with sockets lives in real time.
func TestOutsideOfBubbles(t *testing.T) {
	t.Parallel()
	c := fakecluster.Start(t)
	workloads.Run(t, c)
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	w := world{T: t, cluster: c, client: client}
	pods, err := client.CoreV1().Pods("default").Watch(t.Context(), metav1.ListOptions{LabelSelector: labels.Set{"app": "web"}.String()})
	if err != nil {
		t.Fatal(err)
	}
	defer pods.Stop()
	w.post(workload("apps/v1", "ReplicaSet", "web", "replicas: 1"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-ctx.Done():
		t.Error("the Pod does not come")
	case <-pods.ResultChan():
	}
}
