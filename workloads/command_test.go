package workloads_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// testProgram is this test binary as the program of a container: TEST_PROGRAM says what it does. It returns its exit code.
func testProgram() int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	switch os.Getenv("TEST_PROGRAM") {
	case "report":
		data, err := os.ReadFile(strings.TrimPrefix(os.Args[2], "--config="))
		if err != nil {
			return fail(err)
		}
		fmt.Printf("%q %s %s\n", os.Args[1], data, os.Getenv("COLOR"))
		_, inCluster := os.LookupEnv("KUBERNETES_SERVICE_HOST")
		_, home := os.LookupEnv("GOCACHE")
		fmt.Println(inCluster, home)
		config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
		if err != nil {
			return fail(err)
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return fail(err)
		}
		review, err := client.AuthenticationV1().SelfSubjectReviews().Create(context.Background(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return fail(err)
		}
		fmt.Fprintln(os.Stderr, review.Status.UserInfo.Username)
		return 3
	case "serve":
		l, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
		if err != nil {
			return fail(err)
		}
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		go func() {
			_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello ", r.URL.Path) }))
		}()
		<-stop
		return 7
	case "message":
		if err := os.WriteFile(strings.TrimPrefix(os.Args[1], "--log="), []byte(strings.Repeat("x", 5000)+" last"), 0o644); err != nil {
			return fail(err)
		}
		if os.Args[2] == "false" {
			return 4
		}
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "ignore":
		signal.Ignore(syscall.SIGTERM)
		fallthrough
	case "wait":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	}
	return fail(fmt.Errorf("there is no program %s", os.Getenv("TEST_PROGRAM")))
}

// startProgram creates a Pod that a finalizer keeps after its end, so that its last status can be read.
func startProgram(t *testing.T, c *fakecluster.Cluster, spec corev1.PodSpec) *corev1.Pod {
	t.Helper()
	spec.RestartPolicy = corev1.RestartPolicyNever
	created, err := c.Clientset().CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "app", Labels: map[string]string{"app": "app"}, Finalizers: []string{"example.com/keep"}}, Spec: spec,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// exits waits until the container of a Pod has exited with a code.
func exits(t *testing.T, c *fakecluster.Cluster, pod *corev1.Pod, code int) {
	t.Helper()
	c.WaitFor(t, pod, fakecluster.CEL("has(object.status.containerStatuses[0].state.terminated)"))
	if got := pod.Status.ContainerStatuses[0].State.Terminated; int(got.ExitCode) != code {
		t.Errorf("the exit code is %d, want %d: %+v", got.ExitCode, code, got)
	}
}

// program returns the container of a program.
func program(name string, args ...string) corev1.Container {
	return corev1.Container{Name: "c", Image: "app", Args: args, Env: []corev1.EnvVar{{Name: "TEST_PROGRAM", Value: name}}}
}

// TestAProgramIsTheProcessOfAContainer: its arguments, environment, volumes, identity, log and exit code.
func TestAProgramIsTheProcessOfAContainer(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.WithObjects(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "config"}, Data: map[string]string{"key": "value"}}))
	workloads.Run(t, c, workloads.Nodes(1), workloads.Command("app", os.Args[0], "first"))
	container := program("report", "--config=/etc/config/key")
	container.Env = append(container.Env, corev1.EnvVar{Name: "COLOR", Value: "red"})
	container.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/config"}}
	pod := startProgram(t, c, corev1.PodSpec{
		Containers: []corev1.Container{container},
		Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}}},
	})
	exits(t, c, pod, 3)
	log, err := c.Clientset().CoreV1().Pods("default").GetLogs("app", &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const want = "\"first\" value red\nfalse false\nsystem:serviceaccount:default:default\n"
	if string(log) != want {
		t.Errorf("the log is %q, want %q", log, want)
	}
}

// TestAServiceLeadsToAProgram: a port that the container declares is that of the machine, for the readiness probe and for Services.
// SIGTERM reaches the program.
func TestAServiceLeadsToAProgram(t *testing.T) {
	port := fakecluster.Start(t, fakecluster.WithWebhookPaths("../fakecluster/testdata/webhook")).WebhookServer().Port // reserved while the test runs
	c := fakecluster.Start(t, fakecluster.WithObjects(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "app"}, Ports: []corev1.ServicePort{{Port: int32(port)}}},
	}))
	w := workloads.Run(t, c, workloads.Nodes(1), workloads.Command("app", os.Args[0]))
	container := program("serve", fmt.Sprint(port))
	container.Ports = []corev1.ContainerPort{{ContainerPort: int32(port), Name: "http"}}
	container.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("http")}}, PeriodSeconds: 1}
	pod := startProgram(t, c, corev1.PodSpec{Containers: []corev1.Container{container}})
	c.WaitFor(t, pod, fakecluster.HasCondition("Ready"))
	response, err := w.HTTPClient().Get(fmt.Sprintf("http://%s:%d/world", pod.Status.PodIP, port))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "hello /world" {
		t.Errorf("the answer is %q, %v", body, err)
	}
	_ = response.Body.Close()
	stop(t, c, nil)
	exits(t, c, pod, 7)
}

// stop deletes the Pod, with a grace period.
func stop(t *testing.T, c *fakecluster.Cluster, grace *int64) {
	t.Helper()
	if err := c.Clientset().CoreV1().Pods("default").Delete(t.Context(), "app", metav1.DeleteOptions{GracePeriodSeconds: grace}); err != nil {
		t.Fatal(err)
	}
}

// TestHowAProgramEndsWithItsPod: by SIGTERM, or after the grace period by SIGKILL. The test does not fail for that.
func TestHowAProgramEndsWithItsPod(t *testing.T) {
	for _, test := range []struct {
		program string
		code    int
	}{
		{"wait", 143},
		{"ignore", 137},
	} {
		t.Run(test.program, func(t *testing.T) {
			c := fakecluster.Start(t, fakecluster.InProcess())
			workloads.Run(t, c, workloads.Nodes(1), workloads.Command("app", os.Args[0]))
			pod := startProgram(t, c, corev1.PodSpec{Containers: []corev1.Container{program(test.program)}})
			c.WaitFor(t, pod, fakecluster.HasCondition("Ready"))
			logs, err := c.Clientset().CoreV1().Pods("default").GetLogs("app", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer logs.Close()
			if _, err := io.ReadFull(logs, make([]byte, len("ready\n"))); err != nil { // the signal does what it says now
				t.Fatal(err)
			}
			stop(t, c, new(int64(1)))
			exits(t, c, pod, test.code)
		})
	}
}

func TestWrongCommandsAreErrors(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, test := range []struct {
		name, path, want string
		run              func(*testing.T, func(*testing.T))
	}{
		{"no such program", none, "Image or Command: the program " + none + ": exec: \"" + none + "\": stat " + none + ": no such file or directory", func(t *testing.T, f func(*testing.T)) { f(t) }},
		{"not on the PATH", "no-such-program", `Image or Command: the program no-such-program: exec: "no-such-program": executable file not found in $PATH`, func(t *testing.T, f func(*testing.T)) { f(t) }},
		{"in a bubble", os.Args[0], "Image or Command: the program " + os.Args[0] + ": a program cannot run in a synctest bubble, because it has real time; use a function", synctest.Test},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, func(t *testing.T) {
				w, err := workloads.New(newCluster(t), workloads.Nodes(1), workloads.Command("app", test.path))
				if err == nil {
					t.Fatalf("there is no error; %v", w.Close())
				}
				if err.Error() != test.want {
					t.Errorf("the error is %q, want %q", err, test.want)
				}
			})
		})
	}
}

// TestAProgramLeavesATerminationMessage proves that an argument that is the terminationMessagePath is a file whose end becomes the message, also if
// the program is killed.
func TestAProgramLeavesATerminationMessage(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %t", killed), func(t *testing.T) {
			c := fakecluster.Start(t, fakecluster.InProcess())
			workloads.Run(t, c, workloads.Nodes(1), workloads.Command("app", os.Args[0]))
			container := program("message", "--log=/dev/termination-log", fmt.Sprint(killed))
			pod := startProgram(t, c, corev1.PodSpec{Containers: []corev1.Container{container}})
			code := 4
			if killed {
				c.WaitFor(t, pod, fakecluster.HasCondition("Ready"))
				logs, err := c.Clientset().CoreV1().Pods("default").GetLogs("app", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer logs.Close()
				if _, err := io.ReadFull(logs, make([]byte, len("ready\n"))); err != nil {
					t.Fatal(err)
				}
				stop(t, c, new(int64(1)))
				code = 137
			}
			exits(t, c, pod, code)
			if got, want := pod.Status.ContainerStatuses[0].State.Terminated.Message, strings.Repeat("x", 4091)+" last"; got != want {
				t.Errorf("the message has %d bytes and ends with %q", len(got), got[max(0, len(got)-10):])
			}
		})
	}
}
